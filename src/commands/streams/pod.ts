import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import { isSuccess, refusal } from "../../staging/client-go/rest/answers.js";
import { createClient } from "../../staging/client-go/rest/create-client.js";
import { identityInWords } from "../../staging/client-go/rest/identity.js";
import { objectPath, PODS } from "../../staging/client-go/rest/paths.js";
import type { StreamClient } from "../../staging/client-go/transport/fallback.js";
import type { StepFact } from "../../trace/events.js";
import type { Trace } from "../../trace/trace.js";
import { LabError } from "../../util/errors.js";
import type { CliContext } from "../cli/context.js";

const DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container";

export interface PodName {
  readonly namespace: string;
  readonly name: string;
}

/** Parses `nettool`, `pod/nettool`, `pods/nettool`. @throws LabError USAGE */
export function parsePodName(text: string, namespace: string): PodName {
  const name = text.replace(/^(?:pods?|po)\//, "");
  if (!/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(name) || name.length > 253) {
    const hint =
      "A name has lower-case letters, digits, '-' and '.'; write NAME or pod/NAME, because only pods work here.";
    throw new LabError("USAGE", `${JSON.stringify(name)} is not a pod name`, hint);
  }
  if (!/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(namespace) || namespace.length > 63) {
    const hint = "A namespace has up to 63 lower-case letters, digits and '-', for example kube-system.";
    throw new LabError("USAGE", `${JSON.stringify(namespace)} is not a namespace name`, hint);
  }
  return { namespace, name };
}

/** `/api/v1/namespaces/default/pods/nettool/exec` */
export function podPath({ namespace, name }: PodName, subresource?: string): string {
  return objectPath({ ...PODS, namespace }, name, subresource);
}

/** A command's step in the trace. */
export type PodStep = Required<Pick<StepFact, "title" | "upstream">>;

/**
 * Runs `body` as a step of the trace, with the pod that it gets first, as kubectl does.
 * @throws LabError REFUSED if the pod is unknown; as the API client and `body`
 */
export function withPod<T>(
  context: CliContext,
  { client, unknownPodHint }: { readonly client: StreamClient; readonly unknownPodHint: string },
  name: PodName,
  { title, upstream }: PodStep,
  body: (pod: V1Pod) => Promise<T>,
): Promise<T> {
  const { config, clock, random, trace } = client;
  return trace.chapter("exec", () =>
    trace.step("user", title, { upstream }, async () => {
      await using kube = createClient(config, { clock, random, trace, actor: "user" });
      const path = podPath(name);
      const response = await kube.request<V1Pod>({ method: "GET", path, signal: context.signal });
      if (isSuccess(response)) return body(response.body);
      const error = refusal(response, `GET ${path}`, identityInWords(config));
      if (response.status !== 404) throw error;
      throw new LabError(error.code, error.message, unknownPodHint);
    }),
  );
}

/**
 * Chooses the container.
 *
 * Mirrors k8s.io/kubectl/pkg/cmd/util/podcmd/podcmd.go (FindOrDefaultContainerByName). Differs: leaves it to the API server to
 * refuse an unknown name.
 * @returns empty if the pod lists no container; the API server then chooses the only one
 */
export function chooseContainer(pod: V1Pod, wanted: string | undefined, trace: Trace): string {
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

/** Mirrors Run in k8s.io/kubectl/pkg/cmd/exec/exec.go and attach/attach.go. @throws LabError FAILED if the pod has ended */
export function checkNotCompleted(pod: V1Pod, subresource: "exec" | "attach"): void {
  const { phase } = pod.status;
  if (phase !== "Succeeded" && phase !== "Failed") return;
  throw new LabError(
    "FAILED",
    `cannot ${subresource === "exec" ? "exec into" : "attach"} a container in a completed pod; current phase is ${phase}`,
    "Its containers have ended: `kubelab logs` shows their output; run the pod again to look inside.",
  );
}
