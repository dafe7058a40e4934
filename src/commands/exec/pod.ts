import type { V1Container, V1Pod } from "../../apimachinery/api/pod.js";
import { isSuccess, refusal } from "../../client-go/rest/answers.js";
import { createClient } from "../../client-go/rest/create-client.js";
import { identityInWords } from "../../client-go/rest/identity.js";
import { objectPath, PODS } from "../../client-go/rest/paths.js";
import { LabError } from "../../util/errors.js";
import type { StreamClient } from "./connect.js";

const DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container";

export interface PodName {
  readonly namespace: string;
  readonly name: string;
}

/** `nettool`, `pod/nettool`, `pods/nettool`. @throws LabError USAGE */
export function parsePodName(text: string, namespace: string): PodName {
  const name = text.replace(/^(?:pods?|po)\//, "");
  if (!/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(name) || name.length > 253) {
    const hint = "Names are of lower-case letters, digits, '-' and '.'; only pods can be named: NAME or pod/NAME.";
    throw new LabError("USAGE", `${JSON.stringify(name)} is no name of a pod`, hint);
  }
  if (!/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(namespace) || namespace.length > 63) {
    const hint = "Its name is of up to 63 lower-case letters, digits and '-', for example kube-system.";
    throw new LabError("USAGE", `${JSON.stringify(namespace)} is no name of a namespace`, hint);
  }
  return { namespace, name };
}

/** `/api/v1/namespaces/default/pods/nettool/exec` */
export function podPath({ namespace, name }: PodName, subresource: string): string {
  return objectPath({ ...PODS, namespace }, name, subresource);
}

/**
 * Asks for the pod, as kubectl does before it asks for streams.
 * @param hint for a pod that is not there
 * @throws LabError REFUSED for one that is unknown, and as the API client
 */
export async function getPod(
  { config, clock, random, trace }: StreamClient,
  { namespace, name }: PodName,
  hint: string,
  signal: AbortSignal,
): Promise<V1Pod> {
  await using client = createClient(config, { clock, random, trace, actor: "user" });
  const path = objectPath({ ...PODS, namespace }, name);
  const response = await client.request<V1Pod>({ method: "GET", path, signal });
  if (isSuccess(response)) return response.body;
  const error = refusal(response, `GET ${path}`, identityInWords(config));
  if (response.status !== 404) throw error;
  throw new LabError(error.code, error.message, hint);
}

/**
 * Which container is meant.
 *
 * Mirrors k8s.io/kubectl/pkg/cmd/util/podcmd/podcmd.go (FindOrDefaultContainerByName). A name that the pod does not have is
 * the API server's to refuse.
 * @returns undefined: the API server finds it by itself, as there is only one
 */
export function chooseContainer(pod: V1Pod, wanted: string | undefined, trace: StreamClient["trace"]): string {
  if (wanted !== undefined) return wanted;
  const names = (pod.spec.containers ?? []).map(({ name }) => name);
  const annotated = pod.metadata.annotations?.[DEFAULT_CONTAINER];
  if (annotated !== undefined && names.includes(annotated)) return annotated;
  const [first = ""] = names;
  if (names.length > 1) {
    const text = `Defaulted container ${JSON.stringify(first)} out of: ${names.join(", ")}`;
    trace.emit({ kind: "note", text }, { actor: "user" });
  }
  return first;
}

/** Mirrors Run in k8s.io/kubectl/pkg/cmd/exec/exec.go and attach/attach.go. @throws LabError FAILED for a pod that has ended */
export function checkNotCompleted(pod: V1Pod, verb: "exec into" | "attach"): void {
  const { phase } = pod.status;
  if (phase !== "Succeeded" && phase !== "Failed") return;
  throw new LabError(
    "FAILED",
    `cannot ${verb} a container in a completed pod; current phase is ${phase}`,
    "Its containers have ended: `kubelab logs` shows what they said; run the pod again to look inside.",
  );
}

/** The ports that the containers declare: nothing keeps others from being listened at. */
export function containerPorts({ spec }: V1Pod): readonly { readonly name?: string; readonly containerPort: number }[] {
  return (spec.containers ?? []).flatMap((one) => (one["ports"] ?? []) as { name?: string; containerPort: number }[]);
}

/** The container's spec; undefined: the pod has none of this name. */
export function containerOf({ spec }: V1Pod, name: string): V1Container | undefined {
  return [...(spec.containers ?? []), ...(spec.initContainers ?? [])].find((one) => one.name === name);
}
