/** Where the embedded control plane still differs from the recorded one, and why. Kept short. */
export interface KnownDifference {
  /** `*`: all topics */
  readonly topic: string;
  /** the item's name in the recording; `*`: all items */
  readonly item: string;
  readonly reason: string;
  /** the places that can differ; absent: any */
  readonly where?: RegExp;
  /** a race: it does not differ in every run */
  readonly sometimes?: boolean;
  /** the requested resource is not served here, so its status can differ too; nothing else can */
  readonly notServed?: boolean;
}

type Why = Pick<KnownDifference, "reason" | "where">;

const GROUPS: Why = {
  reason:
    "groups that no chapter needs are not served (apiregistration, admissionregistration, ...), nor old betas of others",
  where: /^\/response\/(body\/(groups|versions|paths)\b|headers\/transfer-encoding$)/,
};
const JSON_ONLY: Why = {
  reason: "a client that reads protobuf and JSON gets JSON, which it and the learner can read",
  where: /^\/response\/headers\/content-type$/,
};
const FAIRNESS: Why = {
  reason: "no priority and fairness, so no headers that name its objects; Node sends Connection, Go does not",
  where: /^\/header(Name)?s\b/,
};
const ONE_MORE: Why = {
  reason: "the recorded cluster had one more pod",
  where: /\/remainingItemCount$/,
};
const MORE_EVENTS: Why = {
  reason: "the recorded cluster still had the events of an hour",
  where: /\/(remainingItemCount|items|rows)\b/,
};
const GO_DIFF: Why = {
  reason: "Go's diff of two structs: ours omits what did not change",
  where: /\/(message|transfer-encoding)$/,
};

const RUNTIME_WORDS: Why = {
  reason: "the compared kubelet has no runtime, so the message is not a runtime's",
  where: /^\/frames\/\d+\/(length|rest)$/,
};

const HEALTH: Why = {
  reason:
    "only checks that can fail: the embedded storage has the place of etcd, and there are no log check and no post-start hooks",
  where: /^\/response\//,
};

export const KNOWN_DIFFERENCES: readonly KnownDifference[] = [
  { topic: "discovery", item: "GET /healthz?verbose", ...HEALTH },
  { topic: "discovery", item: "GET /livez?verbose", ...HEALTH },
  { topic: "discovery", item: "GET /readyz?verbose", ...HEALTH },
  { topic: "discovery", item: "GET /readyz/etcd", ...HEALTH, notServed: true },
  { topic: "discovery", item: "GET /readyz?verbose&exclude=etcd", ...HEALTH },
  { topic: "discovery", item: "GET /apis", ...GROUPS },
  { topic: "discovery", item: "method: DELETE /apis", ...GROUPS },
  { topic: "discovery", item: "group storage.k8s.io", ...GROUPS },
  { topic: "discovery", item: "root: list of paths", ...GROUPS },
  { topic: "discovery", item: "openapi v3 index", ...GROUPS },
  { topic: "discovery", item: "accept: protobuf or JSON, as client-go sends", ...JSON_ONLY },
  { topic: "discovery", item: "header names of a plain answer, exactly as spelt", ...FAIRNESS },
  { topic: "pods", item: "scheduling: event", ...MORE_EVENTS },
  { topic: "pods", item: "scheduling: all events now", ...MORE_EVENTS },
  { topic: "pods", item: "scheduling: the same events in events.k8s.io/v1", ...MORE_EVENTS },
  { topic: "pods", item: "update: container name may not", ...GO_DIFF },
  { topic: "pods", item: "update: command may not", ...GO_DIFF },
  { topic: "pods", item: "update: restartPolicy may not", ...GO_DIFF },
  { topic: "watch", item: "Accept: protobuf or JSON", ...JSON_ONLY },
  {
    topic: "watch",
    item: "exact text of a stream with one event: key order, one line feed after each event",
    ...FAIRNESS,
  },
  { topic: "tables", item: "limit: continue and remainingItemCount are in the Table's metadata", ...ONE_MORE },
  { topic: "tables", item: "pods of all namespaces: same columns, kubectl adds NAMESPACE itself", ...ONE_MORE },
  { topic: "tables", item: "events", ...MORE_EVENTS },
  { topic: "tables", item: "events of events.k8s.io/v1", ...MORE_EVENTS },
  {
    topic: "tables",
    item: "serviceaccounts",
    reason: "controllers act under their own names here, not as service accounts",
  },
  {
    topic: "tables",
    item: "componentstatuses",
    reason:
      "the recorded health checks used a wrong port; here the controllers run in the same process, and the embedded storage has the place of etcd-0",
  },
  { topic: "tables", item: "csinodes", reason: "a real kubelet had left its own object", where: /\/rows$/ },
  {
    topic: "tables",
    item: "list as PartialObjectMetadataList",
    reason: "a real node joined the cluster while this was recorded",
  },
  { topic: "websocket", item: "exec, no such command", ...RUNTIME_WORDS },
  { topic: "websocket", item: "port-forward, two ports: channels 0,1 and 2,3", ...RUNTIME_WORDS },
  {
    topic: "websocket",
    item: "exec, anonymous",
    reason: "Node does not continue with HTTP on a connection that asked for an upgrade",
    where: /^\/response\/connection$/,
  },
  {
    topic: "websocket",
    item: "watch over WebSocket with an Origin header",
    reason: "the recorded object has managedFields",
    where: /^\/frames\/0\/length$/,
  },
];
