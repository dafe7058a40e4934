import { forbidden, type StatusError } from "../../apimachinery/errors.js";
import type { AdmissionAttributes } from "./interfaces.js";

/** The 403 of an admission plugin. Mirrors k8s.io/apiserver/pkg/admission/errors.go (NewForbidden). */
export function admissionForbidden(attributes: AdmissionAttributes, why: string): StatusError {
  const { group, resource } = attributes;
  return forbidden({ group, resource }, admittedName(attributes), why);
}

/** The name of the admitted object. On creation only the object contains it, possibly just its generateName. */
export function admittedName({ name, object }: AdmissionAttributes): string {
  if (name !== "") return name;
  return object?.metadata.name || object?.metadata.generateName || "Unknown";
}
