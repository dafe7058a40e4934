/**
 * A control plane in a separate process, for tests that measure its memory or could crash it. `SpawnedServer` starts
 * it; it uses the IPC channel and ends after a request to close.
 */
import { startControlPlane } from "../../src/cluster/control-plane/start.js";
import { Trace } from "../../src/trace/trace.js";
import { SystemClock } from "../../src/util/clock.js";
import { SystemRandom } from "../../src/util/random.js";
import type { ServerMessage, ServerOptions, Usage } from "./spawned-server.js";

const options = JSON.parse(process.argv[2] ?? "{}") as ServerOptions;
const unhandled: string[] = [];
process.on("unhandledRejection", (reason) =>
  unhandled.push(reason instanceof Error ? String(reason.stack) : String(reason)),
);
process.on("warning", ({ name, stack }) => name === "MaxListenersExceededWarning" && unhandled.push(String(stack)));
process.on("uncaughtException", (error) => unhandled.push(String(error.stack)));

const clock = new SystemClock(options.speed ?? 1);
const trace = new Trace(clock);
const bugs: string[] = [];
trace.addSink({ level: 0, write: (event) => void (event.kind === "error" && bugs.push(event.message)) });
const controlPlane = await startControlPlane({
  clock,
  random: new SystemRandom(),
  trace,
  kubeVersion: options.kubeVersion ?? "1.25",
  withoutControllers: options.withControllers === true ? [] : ["*"],
});

function send(message: ServerMessage): void {
  process.send?.(message);
}

async function usage(): Promise<Usage> {
  // Several rounds: finalizers of one collection free objects for the next.
  for (let i = 0; i < 4; i++) {
    await new Promise((resolve) => setImmediate(resolve));
    globalThis.gc?.();
  }
  const { rss, heapUsed, external } = process.memoryUsage();
  const resources: Record<string, number> = {};
  for (const name of process.getActiveResourcesInfo()) resources[name] = (resources[name] ?? 0) + 1;
  return { rssBytes: rss, usedBytes: heapUsed + external, resources, unhandled, bugs };
}

process.on("message", (message) => {
  if (message === "usage") void usage().then((value) => send({ type: "usage", usage: value }));
  if (message === "close") void controlPlane.close().then(() => process.disconnect());
});
const { server, caPem = "", clientCertificatePem = "", clientKeyPem = "" } = controlPlane.admin;
send({ type: "ready", access: { url: server, ca: caPem, cert: clientCertificatePem, key: clientKeyPem } });
