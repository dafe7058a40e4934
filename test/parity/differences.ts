/** Where the embedded control plane still answers otherwise than the recorded one, and why. Kept short. */
export interface KnownDifference {
  readonly topic: string;
  /** the item's name in the recording */
  readonly item: string;
  readonly reason: string;
  /** a race: in some runs it does not differ */
  readonly sometimes?: boolean;
  /** what it asks for is not served here, so its status may differ too; nothing else may */
  readonly notServed?: boolean;
}

const VERSION = "each server says which build it is: ours has no commit, no Go and no Go compiler";
const GROUPS =
  "groups that no chapter needs are not served (autoscaling, batch, networking, ...), nor csistoragecapacities v1beta1";
const JSON_ONLY = "a client that reads protobuf and JSON gets JSON, which it and the learner can read";
const COLUMNS = "the columns are described in our own words";
const FAIRNESS = "no priority and fairness, so no headers that name its objects; Node says Connection, Go does not";
const EARLIER_RUNS = "the recorded cluster still had the events of two runs before";
const GO_DIFF = "Go's own picture of two structs: ours leaves out what did not change in other places";

export const KNOWN_DIFFERENCES: readonly KnownDifference[] = [
  { topic: "discovery", item: "GET /version", reason: VERSION },
  { topic: "discovery", item: "GET /version/", reason: VERSION },
  { topic: "discovery", item: "/version, exact text of the body", reason: VERSION },
  { topic: "discovery", item: "GET /apis", reason: GROUPS },
  { topic: "discovery", item: "method: DELETE /apis", reason: GROUPS },
  { topic: "discovery", item: "group storage.k8s.io", reason: GROUPS },
  {
    topic: "discovery",
    item: "aggregated discovery is asked for, plain one comes (/apis)",
    reason: `${GROUPS}: a shorter answer`,
  },
  { topic: "discovery", item: "root: list of paths", reason: GROUPS },
  { topic: "discovery", item: "openapi v3 index", reason: `${GROUPS}; only resources have a document` },
  { topic: "discovery", item: "accept: protobuf or JSON, as client-go sends", reason: JSON_ONLY },
  { topic: "discovery", item: "header names of a plain answer, exactly as spelt", reason: FAIRNESS },
  { topic: "auth", item: "anonymous GET /version", reason: VERSION },
  { topic: "auth", item: "token before it expires", reason: VERSION },
  { topic: "auth", item: "bootstrap token: GET /version", reason: VERSION },
  { topic: "pods", item: "scheduling: event", reason: EARLIER_RUNS },
  { topic: "pods", item: "scheduling: all events now", reason: EARLIER_RUNS },
  { topic: "pods", item: "scheduling: the same events in events.k8s.io/v1", reason: EARLIER_RUNS },
  { topic: "pods", item: "update: container name may not", reason: GO_DIFF },
  { topic: "pods", item: "update: command may not", reason: GO_DIFF },
  { topic: "pods", item: "update: restartPolicy may not", reason: GO_DIFF },
  {
    topic: "pods",
    item: "kubelet subresource: log, node not reachable",
    reason: "logs of pods on a node are not passed on to kubelets yet",
    notServed: true,
  },
  { topic: "watch", item: "Accept: protobuf or JSON", reason: JSON_ONLY },
  {
    topic: "watch",
    item: "Table watch of pods (kubectl get pods -w): columnDefinitions only in the first event",
    reason: COLUMNS,
  },
  { topic: "watch", item: "Table watch with a field selector and no resourceVersion", reason: COLUMNS },
  {
    topic: "watch",
    item: "exact text of a stream with one event: key order, one line feed after each event",
    reason: FAIRNESS,
  },
  { topic: "node-lifecycle", item: "pods the scheduler would see: all pods of lc-a", reason: COLUMNS },
];
