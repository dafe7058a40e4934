import type { V1Pod } from "@kubernetes/client-node";
import type { Wire } from "../../staging/apimachinery/wire.js";
import { MessageError } from "../../util/i18n/message-error.js";
import type { Session } from "./session.js";

const ANNOTATION = "kubectl.kubernetes.io/default-container";

/**
 * The container of a line without `-c`: that of the annotation, else the first one. Reports the choice if the pod has several.
 * Mirrors staging/src/k8s.io/kubectl/pkg/cmd/util/podcmd/podcmd.go (FindOrDefaultContainerByName).
 * @param name the value of `-c`
 * @throws LabError FAILED if the pod has no such container
 */
export function containerOf({ warn }: Pick<Session, "warn">, pod: Wire<V1Pod>, name: string | undefined): string {
  const { containers = [], initContainers = [], ephemeralContainers = [] } = pod.spec ?? {};
  const all = [...containers, ...ephemeralContainers, ...initContainers].map((one) => one.name);
  if (name !== undefined) {
    if (all.includes(name)) return name;
    const text = `container ${name} is not valid for pod ${pod.metadata.name}`;
    throw new MessageError("FAILED", { verbatim: text }, ["itHas", { names: all.join(", ") }]);
  }
  const chosen = pod.metadata.annotations?.[ANNOTATION];
  if (chosen !== undefined) {
    if (all.includes(chosen)) return chosen;
    warn(`Default container name ${JSON.stringify(chosen)} not found in pod ${pod.metadata.name}`);
  }
  const [first = ""] = all;
  const shown = [
    ...containers.map((one) => one.name),
    ...ephemeralContainers.map((one) => `${one.name} (ephem)`),
    ...initContainers.map((one) => `${one.name} (init)`),
  ];
  if (shown.length > 1) warn(`Defaulted container ${JSON.stringify(first)} out of: ${shown.join(", ")}`);
  return first;
}
