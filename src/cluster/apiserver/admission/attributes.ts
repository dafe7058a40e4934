import type { AdmissionSubject } from "../../../staging/server/admission/interfaces.js";

/** A POST of a pod, but not of one of its subresources. */
export function isNewPod(write: AdmissionSubject): boolean {
  return isPodWrite(write) && write.operation === "CREATE";
}

/** A write of a pod itself, which the plugins with defaults for pods handle. */
export function isPodWrite({ group, resource, subresource, operation }: AdmissionSubject): boolean {
  const isPod = group === "" && resource === "pods" && subresource === "";
  return isPod && (operation === "CREATE" || operation === "UPDATE");
}
