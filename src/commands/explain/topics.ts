import type { Language } from "../../util/i18n/language.js";
import type { Topic } from "./topic.js";
import { API } from "./topics/api.js";
import { CLUSTER_WORDS } from "./topics/cluster-words.js";
import { CONTAINERS } from "./topics/containers.js";
import { KUBELET_EVENTS } from "./topics/kubelet.js";
import { MESSAGES } from "./topics/messages.js";
import { NODES } from "./topics/nodes.js";
import { NUMBERS } from "./topics/numbers.js";
import { PODS } from "./topics/pods.js";
import { SCHEDULING } from "./topics/scheduling.js";
import { NODE_WORDS } from "./topics/words.js";
import { WORKLOADS } from "./topics/workloads.js";

/** A heading of the list, and its topics. */
export interface TopicGroup {
  readonly title: Readonly<Record<Language, string>>;
  readonly topics: readonly Topic[];
}

/** All topics, in the order of the list. A new topic is a row of one of these tables. */
export const TOPIC_GROUPS: readonly TopicGroup[] = [
  { title: { en: "Containers: why one waits or has ended", zh: "容器：为什么等待或结束" }, topics: CONTAINERS },
  {
    title: { en: "Pods: phases, conditions, why one is refused or gone", zh: "Pod：phase、条件，为什么被拒绝或没有了" },
    topics: PODS,
  },
  { title: { en: "Nodes: conditions and events", zh: "节点：条件和事件" }, topics: NODES },
  { title: { en: "Events of the kubelet", zh: "kubelet 的事件" }, topics: KUBELET_EVENTS },
  { title: { en: "Scheduling", zh: "调度" }, topics: SCHEDULING },
  { title: { en: "Workloads: Deployments, Jobs and the like", zh: "工作负载：Deployment、Job 等" }, topics: WORKLOADS },
  {
    title: { en: "Answers of the API server, certificates, namespaces", zh: "API server 的应答、证书、命名空间" },
    topics: API,
  },
  { title: { en: "Sentences that operators search for", zh: "运维会搜索的句子" }, topics: MESSAGES },
  { title: { en: "Numbers: times, ports, exit codes", zh: "数字：时间、端口、退出码" }, topics: NUMBERS },
  { title: { en: "Words: the node", zh: "词：节点" }, topics: NODE_WORDS },
  { title: { en: "Words: the cluster", zh: "词：集群" }, topics: CLUSTER_WORDS },
];
