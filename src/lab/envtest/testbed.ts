import { toErrorMessage } from "../../cluster/runtime/host/messages.js";
import { Disposables } from "../../util/async/disposables.js";
import { SystemClock } from "../../util/clock.js";
import { endWithParent } from "../../util/os/watchdog.js";
import type { ClusterOptions, RuntimeOptions } from "./api.js";
import { HostedCluster } from "./hosted-cluster.js";
import type { Method, NodeRequest, ProgramMessage, TestbedMessage } from "./messages.js";
import { ProgramRuns } from "./program-handler.js";

/** The time limit for closing everything, in seconds. */
const PATIENCE_S = 5;

// The process of a cluster or a runtime that a program started, through a TestbedProcess. It ends with the program.
process.title = "kubelab-testbed";
const opened = new Disposables();
const runs = new ProgramRuns(send);
let cluster: HostedCluster | undefined;
let isEnding = false;

process.once("disconnect", end);
process.on("message", (message: ProgramMessage) => {
  if (message.type === "call") void answer(message.id, message.method, message.given);
  else if (message.type === "work") runs.take(message.run, message.event);
  else end();
});
void endWithParent(PATIENCE_S);

function end(): void {
  if (isEnding) return;
  isEnding = true;
  void opened.close().finally(() => process.exit());
  new SystemClock().timer(PATIENCE_S * 1_000, () => process.exit());
}

async function answer(id: number, method: Method, given: unknown): Promise<void> {
  try {
    send({ type: "answer", id, value: await call(method, given) });
  } catch (error) {
    send({ type: "failed", id, error: toErrorMessage(error) });
  }
}

async function call(method: Method, given: unknown): Promise<unknown> {
  switch (method) {
    case "startCluster":
      cluster = await HostedCluster.start(given as ClusterOptions, runs, opened);
      return cluster.started;
    case "startRuntime":
      return startRuntime(given as RuntimeOptions);
    case "claimNode":
      return cluster?.claim(given as string);
    case "startNode":
      return cluster?.startNode(given as NodeRequest);
    case "closeNode":
      return cluster?.closeNode(given as string);
    default:
      return cluster?.setSpeed(given as number);
  }
}

async function startRuntime({ endpoint: listen, speed, ...options }: RuntimeOptions): Promise<string> {
  const [{ hostRuntime }, { Trace }, { defined }] = await Promise.all([
    import("../../cluster/runtime/host/host.js"),
    import("../../trace/trace.js"),
    import("../../util/defined.js"),
  ]);
  const clock = new SystemClock(speed);
  const runtime = await hostRuntime({ clock, trace: new Trace(clock), ...defined({ listen, ...options }) });
  opened.defer(() => runtime.close());
  return runtime.endpoint;
}

/** A message that cannot be sent has no reader: the program has ended, and `disconnect` ends this process. */
function send(message: TestbedMessage): void {
  process.send?.(message, undefined, undefined, () => {});
}
