import type { TraceEvent } from "../events.js";
import { inThirdPerson } from "./own-words.js";

/** Kinds that are not their resource without the last letter. */
const KINDS: Readonly<Record<string, string>> = {
  certificatesigningrequests: "CSR",
  configmaps: "ConfigMap",
  deployments: "Deployment",
  endpointslices: "EndpointSlice",
  leases: "Lease",
  replicasets: "ReplicaSet",
  secrets: "Secret",
  serviceaccounts: "service account",
};
const VERBS: Readonly<Record<string, string>> = { POST: "create", PUT: "update", PATCH: "change", DELETE: "delete" };
/** What a container or a sandbox did, by the state that it has now. */
const LIVES: readonly (readonly [RegExp, (name: string) => string])[] = [
  [/^sandbox ready/, (pod) => `has a sandbox for pod ${pod}`],
  [/^sandbox not ready/, (pod) => `has stopped the sandbox of pod ${pod}`],
  [/^sandbox (?:gone|removed)/, (pod) => `has removed the sandbox of pod ${pod}`],
  [/^container running/, (name) => `runs container ${name}`],
  [/^container gone/, (name) => `has removed container ${name}`],
];
const HEARD = { ADDED: "added", MODIFIED: "changed", DELETED: "deleted" } as const;
const SEEN: Readonly<Record<string, string>> = {
  ContainerStarted: "has started",
  ContainerDied: "has ended",
  ContainerRemoved: "is gone",
};

/**
 * What a fact is as an event, as one sentence without its subject: `asks the API server to create pod web`.
 * @param effect what a request or a call changed, which has the name of a new object
 * @returns undefined for a fact whose own words say it
 */
export function sentenceOf(event: TraceEvent, effect?: TraceEvent): string | undefined {
  switch (event.kind) {
    case "request":
      return requestSentence(event, effect?.kind === "state" ? effect.subject : undefined);
    case "rpc":
      return callSentence(event, effect?.kind === "state" ? effect.subject : undefined);
    case "watch": {
      const object = `${kindOf(event.resource)} ${nameOf(event.object)}`;
      const ends = effect?.kind === "decision" && effect.what.startsWith("DELETE from ");
      return ends ? `hears that ${object} is to end` : `hears that ${object} was ${HEARD[event.type]}`;
    }
    case "step":
      return stepSentence(event.title);
    case "state":
      return stateSentence(event);
    case "decision":
      return decisionSentence(event);
    case "event":
      return `warns: ${event.object} ${event.reason}: ${event.message}`;
    case "note":
      return event.actor === "controller" ? `waits: ${event.text}` : undefined;
    case "error":
      return `reports: ${event.message}`;
    default:
      return undefined;
  }
}

const PATH =
  /^\/(?:api\/[^/]+|apis\/[^/]+\/[^/]+)\/(?:namespaces\/[^/]+\/)?(?<resource>[^/?]+)(?:\/(?<name>[^/?]+))?(?:\/(?<sub>[^?]+))?/;

function requestSentence(event: TraceEvent & { kind: "request" }, subject: string | undefined): string | undefined {
  const { resource, name: inPath, sub } = PATH.exec(event.path)?.groups ?? {};
  if (resource === undefined) return undefined;
  const name = decodeURIComponent(inPath ?? nameOf(subject?.split(" ")[1] ?? nameIn(event.requestBody)));
  const did = requestWords(event, resource, name, sub ?? "");
  const { status, failure } = event;
  if (status === undefined) return `${did}; there is no answer (${failure ?? "it is still running"})`;
  return status >= 400 ? `${did}; the answer is ${status}` : did;
}

function requestWords(
  { method, requestBody }: TraceEvent & { kind: "request" },
  resource: string,
  name: string,
  sub: string,
): string {
  const kind = kindOf(resource);
  const object = [kind, name].join(" ").trim();
  if (sub === "binding") return `asks the API server to bind pod ${name}`;
  if (sub === "status" && kind === "CSR") return `hands in the certificate of CSR ${name}`;
  if (sub === "status") {
    const { phase } = (requestBody as { status?: { phase?: string } } | undefined)?.status ?? {};
    return phase === undefined ? `reports the status of ${object}` : `reports that ${object} is ${phase}`;
  }
  if (sub === "token") return `asks the API server for a token of service account ${name}`;
  if (sub === "approval") return `asks the API server to approve CSR ${name}`;
  if (sub === "eviction") return `asks the API server to evict pod ${name}`;
  if (sub === "log") return `asks the API server for the log of pod ${name}`;
  if (sub === "exec") return `asks the API server to run a command in pod ${name}`;
  if (sub === "attach") return `asks the API server for the streams of pod ${name}`;
  if (sub === "portforward") return `asks the API server for a connection to pod ${name}`;
  if (resource.endsWith("accessreviews")) return "asks the API server whether a request is allowed";
  if (method === "GET") return name === "" ? `lists ${resource}` : `reads ${object}`;
  if (kind === "Lease" && method === "PUT") return `renews Lease ${name}`;
  return `asks the API server to ${VERBS[method] ?? method} ${object}`;
}

function nameIn(body: unknown): string {
  const { name } = (body as { metadata?: { name?: unknown } } | undefined)?.metadata ?? {};
  return typeof name === "string" ? name : "";
}

function callSentence({ method, pod, code }: TraceEvent & { kind: "rpc" }, subject = ""): string {
  const did = callWords(method, nameOf(pod ?? subject), subject);
  return code === undefined || code === "OK" ? did : `${did}; the answer is ${code}`;
}

function callWords(method: string, pod: string, subject: string): string {
  if (method === "RunPodSandbox") return `asks the runtime to start a sandbox for pod ${pod}`;
  if (method === "StopPodSandbox") return `asks the runtime to stop the sandbox of pod ${pod}`;
  if (method === "RemovePodSandbox") return `asks the runtime to remove the sandbox of pod ${pod}`;
  if (method === "PullImage") return `asks the runtime to pull image ${subject}`.trim();
  if (method === "ExecSync") return "asks the runtime to run a command in the container";
  if (/^(?:Exec|Attach|PortForward)$/.test(method))
    return `asks the runtime for the address of the streams (${method})`;
  const verb = /^(Create|Start|Stop|Remove)Container$/.exec(method)?.[1]?.toLowerCase();
  if (verb === undefined) return `calls ${method} of the runtime`;
  const container = nameOf(subject);
  return `asks the runtime to ${verb} ${container === "" ? "the container" : `container ${container}`}`;
}

function stateSentence({
  actor,
  subject,
  what,
  from,
  to,
  version,
}: TraceEvent & { kind: "state" }): string | undefined {
  const [resource = "", object = ""] = subject.split(" ");
  const revision = /(\d+)$/.exec(to)?.[1];
  if (actor === "apiserver" && version !== undefined && revision !== undefined) {
    const name = `${kindOf(resource)} ${object}`;
    if (what === "deleted") return `removes ${name} from the storage, revision ${revision}`;
    return `stores ${name}, revision ${revision}`;
  }
  if (actor === "runtime") {
    const ended = /^exited \((.*)\)$/.exec(to)?.[1];
    if (ended !== undefined) return `sees that container ${nameOf(subject)} has ended (${ended})`;
    const [, words] = LIVES.find(([pattern]) => pattern.test(`${what} ${to}`)) ?? [];
    return words?.(what === "container" ? nameOf(subject) : subject);
  }
  if (what === "deletionTimestamp")
    return `marks pod ${object} for deletion; it stays Terminating until its node ends it`;
  if (actor === "kubelet" && resource === "pod") {
    if (what === "phase") return `counts pod ${object} as ${to}`;
    if (what === "worker") return `moves the worker of pod ${object} to ${to}`;
  }
  const volume = /^volume (\S+) of (\S+)$/.exec(subject);
  if (volume !== null && to === "mounted") return `has mounted volume ${volume[1]} of pod ${nameOf(volume[2] ?? "")}`;
  if (/^volumes of /.test(subject) && to === "removed")
    return `has removed the volumes of pod ${subject.split(" ")[2]}`;
  if (actor === "controller" && resource === "node" && what === "Ready") {
    return `counts node ${object} as ${to === "True" ? "Ready" : to === "Unknown" ? "Unknown" : "not Ready"}`;
  }
  if (actor === "kubelet" && resource === "Lease" && from === undefined) return `has renewed Lease ${object}`;
  return ["connection", "streams", "ended,"].includes(what) ? streamSentence(subject, to) : undefined;
}

/** How a stream begins and ends, at each of its hops. */
function streamSentence(subject: string, to: string): string {
  const stream = subject.startsWith("the ") ? subject : `the ${subject}`;
  const protocol = /^upgraded to (.*)$/.exec(to)?.[1];
  if (protocol !== undefined) return `upgrades ${stream} to ${protocol}`;
  if (to === "opened") return `opens ${stream}`;
  if (/^(?:failed|refused)/.test(to)) return `loses ${stream}: ${to}`;
  return `sees the end of ${stream}: ${to.replace(/^ended[:,] /, "")}`;
}

function decisionSentence({ actor, what, why, auditId, upstream }: TraceEvent & { kind: "decision" }): string {
  if (actor === "scheduler") {
    const node = /^\S+ goes to (\S+)$/.exec(what)?.[1];
    if (node !== undefined) return `chooses ${node}`;
  }
  if (actor === "apiserver") {
    const isClient = what.startsWith("is ") && (auditId !== undefined || upstream?.func === "WithAuthentication");
    if (isClient) return `identifies the client as ${what.slice(3)}`;
    if (upstream?.func === "WithRequestInfo") return `reads it as: ${what}`;
  }
  const merged = /^merge the update of (\S+) \(/.exec(what)?.[1];
  const waiting = /\d+/.exec(why)?.[0];
  if (merged !== undefined && waiting !== undefined) return `merges ${waiting} updates of pod ${merged} into one`;
  const needs = /^\S+\/\S+: ((?:create|start|kill|remove|stop) .*)$/.exec(what);
  if (actor === "kubelet" && needs !== null) return `decides: ${needs[1]}`;
  const [, type = "", pod, name] = /^(Container\w+) (\S+) (\S+)/.exec(what) ?? [];
  const seen = SEEN[type];
  if (actor !== "kubelet" || seen === undefined || name === undefined) return inThirdPerson(what);
  return name === "sandbox"
    ? `PLEG sees that the sandbox of pod ${pod} ${seen}`
    : `PLEG sees that container ${name} ${seen}`;
}

function stepSentence(title: string): string {
  const [, verb = "", pod] = /^(Sync|End|Clean up after) pod (.*)$/.exec(title) ?? [];
  if (pod === undefined) return inThirdPerson(title);
  return verb === "Sync" ? `syncs pod ${pod}` : verb === "End" ? `ends pod ${pod}` : `cleans up after pod ${pod}`;
}

/** `pod`, `CSR`: a resource in the singular */
function kindOf(resource: string): string {
  return KINDS[resource] ?? resource.replace(/s$/, "");
}

/** The last part of `default/web`. */
function nameOf(object: string): string {
  return object.split("/").at(-1) ?? object;
}
