import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { buildPodFullName } from "../../container/runtime.js";
import { LogError } from "../../kuberuntime/logs/options.js";
import { writeText } from "../answers.js";
import type { Call, HandlerDeps } from "../call.js";
import { containerSpecs } from "../kubelet-host.js";
import { decodeLogQuery } from "../log-query.js";
import { ServerObserver } from "../server-observer.js";

/**
 * Serves a container's log, once or while it grows. Reads the next piece after the client has taken the last one.
 *
 * Mirrors getContainerLogs in pkg/kubelet/server/server.go: an error after the response has begun is written at its
 * end.
 */
export async function serveContainerLogs({ host, trace }: HandlerDeps, call: Call): Promise<void> {
  const { response, signal, params } = call;
  const { namespace = "", pod: podName = "", container = "" } = params;
  const options = decodeLogQuery(call.query);
  if ("status" in options) return writeText(response, options.status, options.text);
  const pod = host.getPodByName(namespace, podName);
  if (pod === undefined) return writeText(response, 404, `pod ${JSON.stringify(podName)} does not exist`);
  if (!containerSpecs(pod).some(({ name }) => name === container)) {
    const text = `container ${JSON.stringify(container)} not found in pod ${JSON.stringify(podName)}`;
    return writeText(response, 404, text);
  }
  const podFullName = buildPodFullName({ podUid: pod.metadata.uid, name: podName, namespace });
  const observer = new ServerObserver(trace);
  let sent = 0;
  try {
    for await (const { bytes } of host.getKubeletContainerLogs(podFullName, container, options, signal)) {
      // As with Go's writer, the first write begins the response, even an empty one.
      if (!response.headersSent) begin(response);
      sent += bytes.length;
      if (bytes.length > 0 && !response.write(bytes)) await once(response, "drain", { signal });
      if (signal.aborted) return;
    }
    if (!response.headersSent) begin(response);
    response.end();
  } catch (error) {
    if (signal.aborted) return;
    if (!(error instanceof LogError)) throw error;
    if (response.headersSent) response.end(error.message);
    else writeText(response, 400, error.message);
    observer.noLog(container, `${namespace}/${podName}`, error.message);
  }
  observer.logSent(sent);
}

function begin(response: ServerResponse): void {
  response.writeHead(200, { "Transfer-Encoding": "chunked" });
  response.flushHeaders();
}
