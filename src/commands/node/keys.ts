import { getKubeletContainerLogs } from "../../kubelet/kuberuntime/logs/container-logs.js";
import { podText } from "../../kubelet/types/pod-update.js";
import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import type { KubeClient } from "../../staging/client-go/rest/client.js";
import { PodFixture } from "../../testbed/fixtures/pod-fixture.js";
import type { RunningNode } from "../../testbed/node/node.js";
import type { Trace } from "../../trace/trace.js";
import { LabError } from "../../util/errors.js";
import { type InspectorKey, InspectorKeys } from "../inspector/key-table.js";

export interface NodeKeyDeps {
  readonly node: RunningNode;
  readonly trace: Trace;
  /** the administrator's; undefined with --server */
  readonly admin: KubeClient | undefined;
  /** of the node */
  readonly folder: string;
  readonly time: readonly InspectorKey[];
}

/** What key e runs. */
const COMMAND = ["sh", "-c", "hostname; cat /etc/hosts"] as const;
const LOG_LINES = 5;
/** A selection of the metrics: what runs, and what the kubelet does for it. */
const METRICS =
  /^kubelet_(running_|pleg_relist_duration_seconds_count|pod_worker_duration_seconds_count|runtime_operations_total)/;

/** The keys of `kubelab node`: they do to a node what kubectl, curl and a power switch would. */
export async function nodeKeys({ node, trace, admin, folder, time }: NodeKeyDeps): Promise<InspectorKeys> {
  const { nodeName, runtime } = node;
  const parts = node.kubelet.kubelet;
  const fixture = admin && (await PodFixture.open({ admin, nodeName }, folder, folder));
  let isSilent = false;
  const show = (title: string, column: string, lines: readonly string[]) =>
    trace.emit({ kind: "table", title, columns: [column], rows: lines.map((line) => [line]) }, { actor: "user" });
  const key = (letter: string, short: string, label: string, run: InspectorKey["run"]) => ({
    key: letter,
    short,
    label,
    run,
  });
  const onContainer = (
    letter: string,
    short: string,
    label: string,
    run: (one: RunningContainer, signal: AbortSignal) => Promise<string | undefined>,
  ) => ({
    ...key(letter, short, label, async (signal) => run(newestRunning(node), signal)),
    isPossible: () => runningIn(node) !== undefined,
  });
  return new InspectorKeys(
    [
      key("p", "pod", "run a pod here, bound through the API", async (signal) => {
        if (fixture !== undefined) return fixture.createPod(signal, { image: "nginx:1.25", command: undefined });
        throw new LabError("USAGE", "a pod needs an administrator of the cluster", "Run the node without --server.");
      }),
      onContainer("k", "kill", "kill the newest container behind the kubelet's back", async ({ text, containerId }) => {
        if (runtime === undefined) throw new LabError("USAGE", "only an embedded runtime kills", "Leave out --cri.");
        await runtime.control.killContainer(containerId);
        return `${text} was killed (SIGKILL)`;
      }),
      onContainer("e", "exec", `run ${COMMAND[2]} in it (ExecSync)`, async ({ text, containerId }, signal) => {
        const result = await parts.cri.runtime.execSync(containerId, COMMAND, 0, signal);
        if (result.outcome !== "ok") throw new LabError("FAILED", `exec in ${text}: ${result.message}`, "Try again.");
        show(`${text}: ${COMMAND[2]}`, "output", linesOf([result.value.stdout, result.value.stderr]));
        return undefined;
      }),
      onContainer(
        "l",
        "logs",
        `show the last ${LOG_LINES} lines of its log file`,
        async ({ text, pod, container }, signal) => {
          const containerStatus = (id: string, inner: AbortSignal) =>
            parts.cri.runtime.containerStatus(id, false, inner);
          const deps = { clock: parts.ctx.clock, trace, containerStatus };
          const pieces: Uint8Array[] = [];
          const log = getKubeletContainerLogs(deps, pod, container, { tailLines: LOG_LINES }, signal);
          for await (const { bytes } of log) pieces.push(bytes);
          show(`the log of ${text}`, "line", linesOf(pieces));
          return undefined;
        },
      ),
      key("m", "metrics", "show some of the kubelet's metrics", async () => {
        const lines = (await parts.metrics.text()).split("\n");
        show(
          "Metrics (all of them: kubectl get --raw /api/v1/nodes/NODE/proxy/metrics):",
          "metric",
          lines.filter((line) => METRICS.test(line)),
        );
        return undefined;
      }),
      key("b", "heartbeats", "stop the heartbeats, as a hung node does; again: resume them", async () => {
        isSilent = !isSilent;
        parts.deps.agent.setSilent(isSilent);
        return isSilent
          ? `${nodeName} sends no heartbeats: its Lease expires, and the cluster declares it Unknown`
          : `${nodeName} sends heartbeats again`;
      }),
      ...time,
    ],
    trace,
  );
}

interface RunningContainer {
  readonly pod: V1Pod;
  readonly container: string;
  readonly containerId: string;
  /** `default/pod-1 app` */
  readonly text: string;
}

/** @throws LabError USAGE if no container runs */
function newestRunning(node: RunningNode): RunningContainer {
  const running = runningIn(node);
  if (running !== undefined) return running;
  throw new LabError("USAGE", "no container runs here", "Run a pod first: key p.");
}

/** The first running container of the newest pod that has one. */
function runningIn({ kubelet: { kubelet } }: RunningNode): RunningContainer | undefined {
  for (const pod of kubelet.podManager.getPods().toReversed()) {
    const status = kubelet.statusManager.getPodStatus(pod.metadata.uid) ?? pod.status;
    const one = status.containerStatuses?.find(({ state }) => state?.running !== undefined);
    if (one?.containerID === undefined) continue;
    const containerId = one.containerID.replace(/^.*:\/\//, "");
    return { pod: { ...pod, status }, container: one.name, containerId, text: `${podText(pod)} ${one.name}` };
  }
  return undefined;
}

function linesOf(pieces: readonly Uint8Array[]): readonly string[] {
  const text = Buffer.concat(pieces).toString().trimEnd();
  return text === "" ? ["(nothing)"] : text.split("\n");
}
