import type { KubeObject } from "../../staging/apimachinery/api/meta.js";
import { type NodeObject, nodeCondition } from "../../staging/apimachinery/api/node.js";
import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import type { LocalClient } from "../../staging/client-go/dynamic/interface.js";
import type { Violation } from "./invariants.js";
import { isTerminal, type PodHistory, podKey } from "./pod-history.js";

interface Workload extends KubeObject {
  readonly spec: Readonly<Record<string, unknown>>;
  readonly status?: Readonly<Record<string, unknown>>;
}

/** For each kind of workload: how many of what are wanted, and which field of the status counts them. */
const WORKLOADS: Readonly<
  Record<string, (one: Workload, nodes: number) => readonly [wanted: number, counted: string]>
> = {
  "deployments.apps": ({ spec }) => [Number(spec["replicas"] ?? 1), "readyReplicas"],
  "statefulsets.apps": ({ spec }) => [Number(spec["replicas"] ?? 1), "readyReplicas"],
  "daemonsets.apps": (_, nodes) => [nodes, "numberReady"],
};

/** The parts of the cluster that the last look needs. */
export interface EndDeps {
  readonly client: LocalClient;
  readonly history: PodHistory;
}

/** What is not as it is once all faults are over and everything has ended: empty when it has. */
export async function endProblems({ client, history }: EndDeps): Promise<readonly Violation[]> {
  const nodes = await client.list<NodeObject>("nodes");
  const pods = await client.list<V1Pod>("pods");
  return [
    ...nodes.flatMap(nodeProblems),
    ...pods.flatMap(podProblems),
    ...(await Promise.all(Object.keys(WORKLOADS).map((kind) => workloadProblems(client, kind, nodes.length)))).flat(),
    ...(await jobProblems(client)),
    ...containerProblems(pods, history),
  ];
}

function nodeProblems(node: NodeObject): readonly Violation[] {
  const { name } = node.metadata;
  const status = nodeCondition(node, "Ready")?.status;
  const taints = (node.spec?.taints ?? []).map(({ key, effect }) => `${key}:${effect}`);
  const invariant = "nothing-waits-for-ever";
  return [
    ...(status === "True" ? [] : [{ invariant, what: `node ${name} has Ready=${status}` } as const]),
    ...(taints.length === 0 ? [] : [{ invariant, what: `node ${name} has ${taints.join(", ")}` } as const]),
  ];
}

function podProblems(pod: V1Pod): readonly Violation[] {
  const key = podKey(pod);
  if (pod.metadata.deletionTimestamp !== undefined) {
    return [{ invariant: "nothing-waits-for-ever", what: `pod ${key} is still Terminating` }];
  }
  const isReady = pod.status.conditions?.some(({ type, status }) => type === "Ready" && status === "True");
  if (isReady === true || isTerminal(pod)) return [];
  const reasons = (pod.status.containerStatuses ?? []).flatMap(({ state }) => state?.waiting?.reason ?? []);
  const why = [pod.status.phase, ...reasons].join(", ");
  return [{ invariant: "every-pod-ends", what: `pod ${key} is neither Ready nor over: ${why}` }];
}

async function workloadProblems(client: LocalClient, kind: string, nodes: number): Promise<readonly Violation[]> {
  const all = await client.list<Workload>(kind);
  return all.flatMap((one) => {
    const [wanted, counted] = WORKLOADS[kind]?.(one, nodes) ?? [0, ""];
    const has = Number(one.status?.[counted] ?? 0);
    const what = `${kind.replace("s.apps", "")} ${one.metadata.name} has ${counted} ${has}, not ${wanted}`;
    return has === wanted ? [] : [{ invariant: "every-pod-ends", what } as const];
  });
}

async function jobProblems(client: LocalClient): Promise<readonly Violation[]> {
  const jobs = await client.list<Workload>("jobs.batch");
  return jobs.flatMap(({ metadata: { name }, status }) => {
    const conditions = (status?.["conditions"] ?? []) as readonly { readonly type: string; readonly status: string }[];
    const isOver = conditions.some((one) => one.status === "True" && /^(Complete|Failed)$/.test(one.type));
    return isOver ? [] : [{ invariant: "every-pod-ends", what: `job ${name} is neither complete nor failed` } as const];
  });
}

/** Statuses and runtimes must agree. */
function containerProblems(pods: readonly V1Pod[], { running }: PodHistory): readonly Violation[] {
  const keys = new Set(pods.map(podKey));
  const ids = new Set(running.map(([, id]) => id));
  const left = running.flatMap(([key, , node]) =>
    keys.has(key.slice(0, key.lastIndexOf("/")))
      ? []
      : [{ invariant: "no-container-left", what: `container ${key} runs on ${node}, and its pod is gone` } as const],
  );
  const lost = pods.flatMap((pod) =>
    (pod.status.containerStatuses ?? []).flatMap(({ name, containerID = "", state }) =>
      state?.running === undefined || ids.has(containerID.replace(/^.*:\/\//, ""))
        ? []
        : [
            {
              invariant: "no-pod-lost",
              what: `container ${podKey(pod)}/${name} is running, says the status; it is not`,
            } as const,
          ],
    ),
  );
  return [...left, ...lost];
}
