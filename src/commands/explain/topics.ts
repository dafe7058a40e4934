import type { Topic } from "./topic.js";
import { API } from "./topics/api.js";
import { CLUSTER_WORDS } from "./topics/cluster-words.js";
import { CONTAINERS } from "./topics/containers.js";
import { KUBELET_EVENTS } from "./topics/kubelet.js";
import { MESSAGES } from "./topics/messages.js";
import { NODES } from "./topics/nodes.js";
import { PODS } from "./topics/pods.js";
import { SCHEDULING } from "./topics/scheduling.js";
import { NODE_WORDS } from "./topics/words.js";
import { WORKLOADS } from "./topics/workloads.js";

/** A heading of the list, and its topics. */
export interface TopicGroup {
  readonly title: string;
  readonly topics: readonly Topic[];
}

/** All topics, in the order of the list. A new topic is a row of one of these tables. */
export const TOPIC_GROUPS: readonly TopicGroup[] = [
  { title: "Containers: why one waits or has ended", topics: CONTAINERS },
  { title: "Pods: phases, conditions, why one is refused or gone", topics: PODS },
  { title: "Nodes: conditions and events", topics: NODES },
  { title: "Events of the kubelet", topics: KUBELET_EVENTS },
  { title: "Scheduling", topics: SCHEDULING },
  { title: "Workloads: Deployments, Jobs and the like", topics: WORKLOADS },
  { title: "Answers of the API server, certificates, namespaces", topics: API },
  { title: "Sentences that operators search for", topics: MESSAGES },
  { title: "Words: the node", topics: NODE_WORDS },
  { title: "Words: the cluster", topics: CLUSTER_WORDS },
];
