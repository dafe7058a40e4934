import type { V1Pod } from "../../../staging/apimachinery/api/pod.js";
import { portForwardPorts, remoteCommandOptions } from "../../../staging/streaming/stream-options.js";
import { isWebSocketRequest } from "../../../staging/streaming/websocket/subprotocols.js";
import { buildPodFullName } from "../../container/runtime.js";
import { writeJson, writeStreamError, writeText } from "../answers.js";
import type { Call, HandlerDeps } from "../call.js";
import { formOf } from "../form.js";
import type { ContainerHostRequest } from "../host.js";
import { proxyStream } from "../proxy-stream.js";
import { ServerObserver } from "../server-observer.js";
import { maskStreamUrl, resolveStreamUrl } from "../stream-url.js";

/** Mirrors getExec in pkg/kubelet/server/server.go. */
export async function serveExec(deps: HandlerDeps, call: Call): Promise<void> {
  const streams = remoteCommandOptions(await formOf(call));
  if ("problem" in streams) return writeText(call.response, 400, streams.problem);
  const container = findContainer(deps, call);
  if (container === undefined) return writeText(call.response, 404, "pod does not exist");
  const command = call.query.getAll("command");
  await serveStreams(deps, call, () => deps.host.getExec({ ...container, streams, command }, call.signal));
}

/** Mirrors getAttach. */
export async function serveAttach(deps: HandlerDeps, call: Call): Promise<void> {
  const streams = remoteCommandOptions(await formOf(call));
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
  const command = ((await formOf(call)).get("cmd") ?? "").split(" ");
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
  const { clock } = deps;
  const observer = new ServerObserver(deps.trace);
  let answered: string;
  try {
    answered = await getUrl();
  } catch (error) {
    if (call.signal.aborted) return;
    observer.streamRefused(call, (error as Error).message);
    return writeStreamError(call.response, error);
  }
  const resolved = resolveStreamUrl(answered);
  if ("problem" in resolved) {
    const message = `the runtime's streaming URL ${maskStreamUrl(answered)} cannot be used: ${resolved.problem}`;
    observer.streamRefused(call, message);
    return writeText(call.response, 500, message);
  }
  const { url } = resolved;
  observer.connects(answered, resolved);
  const onUpgrade = (protocol: string, subprotocol: string) => observer.upgraded(call, protocol, subprotocol);
  observer.streamsEnded(call, await proxyStream(call, url, onUpgrade, clock, call.signal));
}
