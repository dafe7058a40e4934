import { isRecord } from "../../../../util/records.js";
import type { Self } from "../../process/process.js";
import type { Flags } from "./flags.js";
import { serveTls } from "./serve-tls.js";
import { bodyOf, type Endpoint } from "./web.js";

const DELAY_MS = 5_000;

interface AdmissionRequest {
  readonly uid?: string;
  readonly name?: string;
  readonly operation?: string;
  readonly object?: ReviewedObject | null;
  readonly oldObject?: ReviewedObject | null;
}

interface ReviewedObject {
  readonly metadata?: { readonly name?: string; readonly labels?: Readonly<Record<string, string>> };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: { readonly containers?: readonly Named[]; readonly initContainers?: readonly Named[] };
  readonly stdin?: boolean;
  readonly container?: string;
}

type Named = { readonly name?: string };

/** The verdict of a webhook: allowed, with a JSON patch, or denied with a message or a reason. */
export interface Verdict {
  readonly allowed: boolean;
  readonly patch?: readonly unknown[];
  readonly status?: {
    readonly message?: string;
    readonly reason?: string;
    readonly status?: string;
    readonly code?: number;
  };
}

const ALLOWED: Verdict = { allowed: true };
const MARK = "webhook-e2e-test";
const DISALLOW = "webhook-disallow";

/** Judges a request. undefined: it is never answered. */
type Judge = (request: AdmissionRequest, sidecarImage: string) => Verdict | undefined;

/** The paths that `agnhost webhook` serves, of which the API server chooses one in its configuration. */
const JUDGES: Readonly<Record<string, Judge>> = {
  "/always-allow-delay-5s": () => ({ allowed: true, status: { message: "this webhook allows all requests" } }),
  "/always-deny": () => denied("this webhook denies all requests"),
  "/add-label": addLabel,
  "/pods": admitPods,
  "/pods/attach": denyAttachment,
  "/mutating-pods": ({ object }) =>
    object?.metadata?.name !== "webhook-to-be-mutated" || has(object.spec?.initContainers, INIT_CONTAINER.name)
      ? ALLOWED
      : patched("add", "/spec/initContainers", [INIT_CONTAINER]),
  "/mutating-pods-sidecar": addSidecar,
  "/configmaps": (request) => admitData(request, "the configmap contains unwanted key and value", "configmap"),
  "/mutating-configmaps": mutateData,
  "/custom-resource": (request) => admitData(request, "the custom resource contains unwanted data", "custom resource"),
  "/mutating-custom-resource": mutateData,
  "/crd": ({ object }) => (isMarked(object, DISALLOW) ? denied("the crd contains unwanted label") : ALLOWED),
};

const INIT_CONTAINER = { image: "webhook-added-image", name: "webhook-added-init-container", resources: {} };
const SIDECAR = "webhook-added-sidecar";

/**
 * `agnhost webhook`: a server for MutatingAdmissionWebhook and ValidatingAdmissionWebhook over HTTPS.
 *
 * Mirrors test/images/agnhost/webhook. Differs: it does not check which resource a request is about.
 */
export async function webhook(self: Self, flags: Flags): Promise<number> {
  const { clock } = self.machine;
  const endpoint: Endpoint = async ({ request, path, answer }) => {
    if (path === "/readyz") return answer(200, "ok");
    if (!Object.hasOwn(JUDGES, path)) return answer(404, "404 page not found\n");
    if (request.headers["content-type"] !== "application/json") return answer(200, "");
    const review = parse(Buffer.from(await bodyOf(request), "latin1").toString());
    if (review === undefined) return answer(400, "Request could not be decoded\n");
    if (path === "/always-allow-delay-5s") await clock.sleep(DELAY_MS, self.signal);
    const response = answerTo(path, review, flags.text("sidecar-image"));
    if (response !== undefined) answer(200, JSON.stringify(response), { "content-type": "application/json" });
  };
  return serveTls(self, flags, endpoint);
}

interface Review {
  readonly apiVersion: string;
  readonly kind: string;
  readonly request: AdmissionRequest;
}

function parse(text: string): Review | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isReview = isRecord(value) && value["kind"] === "AdmissionReview" && isRecord(value["request"]);
    return isReview ? (value as unknown as Review) : undefined;
  } catch {
    return undefined;
  }
}

/** @returns the AdmissionReview in the version of the request; undefined if the request is never answered */
export function answerTo(path: string, { apiVersion, kind, request }: Review, sidecarImage = ""): unknown {
  const verdict = JUDGES[path]?.(request, sidecarImage);
  if (verdict === undefined) return undefined;
  const { allowed, patch, status } = verdict;
  const change =
    patch === undefined ? {} : { patch: Buffer.from(JSON.stringify(patch)).toString("base64"), patchType: "JSONPatch" };
  const result = status === undefined ? {} : { status: { metadata: {}, ...status } };
  return { kind, apiVersion, response: { uid: request.uid ?? "", allowed, ...result, ...change } };
}

function denied(message: string): Verdict {
  return { allowed: false, status: { message } };
}

function patched(op: "add" | "replace", path: string, value: unknown): Verdict {
  return { allowed: true, patch: [{ op, path, value }] };
}

function isMarked(object: ReviewedObject | null | undefined, value: string): boolean {
  return object?.metadata?.labels?.[MARK] === value;
}

function has(containers: readonly Named[] | undefined, wanted: string): boolean {
  return containers?.some(({ name }) => name === wanted) === true;
}

function addLabel({ object }: AdmissionRequest): Verdict {
  const labels = object?.metadata?.labels ?? {};
  if (Object.keys(labels).length === 0) return patched("add", "/metadata/labels", { "added-label": "yes" });
  if (labels["added-label"] === "yes") return ALLOWED;
  return patched(labels["added-label"] === undefined ? "add" : "replace", "/metadata/labels/added-label", "yes");
}

function admitPods({ object }: AdmissionRequest): Verdict | undefined {
  if (isMarked(object, "wait-forever")) return undefined;
  const unwanted = object?.spec?.containers?.filter(({ name }) => name?.includes(DISALLOW)) ?? [];
  const reasons = [
    ...(isMarked(object, DISALLOW) ? ["the pod contains unwanted label;"] : []),
    ...unwanted.map(() => "the pod contains unwanted container name;"),
  ];
  return reasons.length === 0 ? ALLOWED : denied(reasons.join(" "));
}

function denyAttachment({ name, object }: AdmissionRequest): Verdict {
  const isMeant = name === "to-be-attached-pod" && object?.stdin === true && object.container === "container1";
  return isMeant ? denied("attaching to pod 'to-be-attached-pod' is not allowed") : ALLOWED;
}

function addSidecar({ object }: AdmissionRequest, image: string): Verdict {
  if (image === "") {
    const message = "No image specified by the sidecar-image parameter";
    return { allowed: false, status: { status: "Failure", message, code: 500 } };
  }
  if (has(object?.spec?.containers, SIDECAR)) return ALLOWED;
  return patched("add", "/spec/containers/-", { image, name: SIDECAR, resources: {} });
}

function admitData({ operation, object, oldObject }: AdmissionRequest, reason: string, what: string): Verdict {
  const mark = (operation === "DELETE" ? oldObject : object)?.data?.[MARK];
  if (mark === DISALLOW && (operation === "CREATE" || operation === "UPDATE"))
    return { allowed: false, status: { reason } };
  if (mark !== "webhook-nondeletable" || operation !== "DELETE") return ALLOWED;
  const kept = `the ${what} cannot be deleted because it contains unwanted key and value`;
  return { allowed: false, status: { reason: kept } };
}

function mutateData({ object }: AdmissionRequest): Verdict {
  const { "mutation-start": start, "mutation-stage-1": first } = object?.data ?? {};
  if (first === "yes") return patched("add", "/data/mutation-stage-2", "yes");
  return start === "yes" ? patched("add", "/data/mutation-stage-1", "yes") : ALLOWED;
}
