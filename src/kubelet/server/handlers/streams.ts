import type { V1Pod } from "../../../staging/apimachinery/api/pod.js";
import { portForwardPorts, remoteCommandOptions } from "../../../staging/streaming/stream-options.js";
import { isWebSocketRequest } from "../../../staging/streaming/websocket/subprotocols.js";
import type { Trace } from "../../../trace/trace.js";
import { buildPodFullName } from "../../container/runtime.js";
import { writeJson, writeStreamError, writeText } from "../answers.js";
import type { Call, HandlerDeps } from "../call.js";
import type { ContainerHostRequest } from "../host.js";
import { proxyStream } from "../proxy-stream.js";
import { maskStreamUrl, resolveStreamUrl, type StreamUrl } from "../stream-url.js";

const FILE = "pkg/kubelet/server/server.go";

/** Mirrors getExec in pkg/kubelet/server/server.go. */
export async function serveExec(deps: HandlerDeps, call: Call): Promise<void> {
  const streams = remoteCommandOptions(call.query);
  if ("problem" in streams) return writeText(call.response, 400, streams.problem);
  const container = findContainer(deps, call);
  if (container === undefined) return writeText(call.response, 404, "pod does not exist");
  const command = call.query.getAll("command");
  await serveStreams(deps, call, () => deps.host.getExec({ ...container, streams, command }, call.signal));
}

/** Mirrors getAttach. */
export async function serveAttach(deps: HandlerDeps, call: Call): Promise<void> {
  const streams = remoteCommandOptions(call.query);
  if ("problem" in streams) return writeText(call.response, 400, streams.problem);
  const container = findContainer(deps, call);
  if (container === undefined) return writeText(call.response, 404, "pod does not exist");
  await serveStreams(deps, call, () => deps.host.getAttach({ ...container, streams }, call.signal));
}

/** Mirrors getPortForward. */
export async function servePortForward(deps: HandlerDeps, call: Call): Promise<void> {
  const { host } = deps;
  const { uid } = call.params;
  const ports = portForwardPorts(call.query, isWebSocketRequest(call.request));
  if ("problem" in ports) return writeText(call.response, 400, ports.problem);
  const pod = findPod(deps, call);
  if (pod === undefined) return writeText(call.response, 404, "pod does not exist");
  if (uid !== undefined && uid !== pod.metadata.uid) return writeText(call.response, 404, "pod not found");
  const { name: podName, namespace: podNamespace, uid: podUid } = pod.metadata;
  await serveStreams(deps, call, () => host.getPortForward({ podName, podNamespace, podUid, ports }, call.signal));
}

/** Mirrors getRun: runs a command to its end; spaces separate its words. */
export async function serveRun(deps: HandlerDeps, call: Call): Promise<void> {
  const container = findContainer(deps, call);
  if (container === undefined) return writeText(call.response, 404, "pod does not exist");
  const command = (call.query.get("cmd") ?? "").split(" ");
  let output: Uint8Array;
  try {
    output = await deps.host.runInContainer({ ...container, command }, call.signal);
  } catch (error) {
    return writeText(call.response, 500, (error as Error).message);
  }
  writeJson(call.response, output);
}

function findPod({ host }: HandlerDeps, { params }: Call): V1Pod | undefined {
  return host.getPodByName(params["namespace"] ?? "", params["pod"] ?? "");
}

function findContainer(deps: HandlerDeps, call: Call): ContainerHostRequest | undefined {
  const pod = findPod(deps, call);
  if (pod === undefined) return undefined;
  const { name, namespace, uid } = pod.metadata;
  const podFullName = buildPodFullName({ podUid: uid, name, namespace });
  return { podFullName, podUid: call.params["uid"], containerName: call.params["container"] ?? "" };
}

/** Gets the stream's URL from the runtime, and forwards the connection to it. Mirrors proxyStream. */
async function serveStreams(deps: HandlerDeps, call: Call, getUrl: () => Promise<string>): Promise<void> {
  const { clock, trace } = deps;
  let answered: string;
  try {
    answered = await getUrl();
  } catch (error) {
    if (call.signal.aborted) return;
    const message = `${call.path}: ${(error as Error).message}`;
    trace.emit({ kind: "error", message }, { actor: "kubelet", level: 1 });
    return writeStreamError(call.response, error);
  }
  const resolved = resolveStreamUrl(answered);
  if ("problem" in resolved) {
    const message = `the runtime's streaming URL ${maskStreamUrl(answered)} cannot be used: ${resolved.problem}`;
    trace.emit({ kind: "error", message: `${call.path}: ${message}` }, { actor: "kubelet", level: 1 });
    return writeText(call.response, 500, message);
  }
  const { url } = resolved;
  reportPlace(trace, answered, resolved);
  const subject = `streams of ${call.path}`;
  const report = (to: string) =>
    trace.emit({ kind: "state", subject, what: "connection", to }, { actor: "kubelet", level: 1 });
  const onUpgrade = (protocol: string, subprotocol: string) =>
    report(`upgraded to ${subprotocol === "" ? protocol : `${protocol}, ${subprotocol}`}`);
  const end = await proxyStream(call, url, onUpgrade, clock, call.signal);
  if (end.outcome === "ended") report(`ended: ${end.toRuntime} bytes to the runtime, ${end.fromRuntime} bytes from it`);
  else report(end.outcome === "failed" ? `failed: ${end.why}` : `refused by the runtime with ${end.status}`);
}

/** The runtime's stream URL, with a host that can be reached. */
function reportPlace(trace: Trace, answered: string, { url, replacedHost }: StreamUrl): void {
  if (!trace.wants(1)) return;
  const why =
    replacedHost === undefined
      ? "the runtime serves them there"
      : `the runtime answered ${maskStreamUrl(answered)}, and ${replacedHost} is where it listens, not where it is called`;
  const what = `connect the streams to ${maskStreamUrl(url)}`;
  trace.emit({ kind: "decision", what, why, upstream: { file: FILE, func: "proxyStream" } }, { actor: "kubelet" });
}
