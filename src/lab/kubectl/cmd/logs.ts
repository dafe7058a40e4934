import { objectPath, PODS, withQuery } from "../../../staging/client-go/rest/paths.js";
import { streamLog } from "../../../staging/client-go/transport/log-stream.js";
import { podFor } from "../attachable-pod.js";
import { containerOf } from "../default-container.js";
import { integerOf, isOn, type KubectlLine, text } from "../flags.js";
import { lineError } from "../line-error.js";
import type { Session } from "../session.js";

const NO_POD = `expected 'logs [-f] [-p] (POD | TYPE/NAME) [-c CONTAINER]'.
POD or TYPE/NAME is a required argument for the logs command`;

/**
 * `logs POD [-c CONTAINER] [--tail N] [--previous] [-f]`.
 * Mirrors staging/src/k8s.io/kubectl/pkg/cmd/logs/logs.go (RunLogs).
 */
export async function logs(session: Session, line: KubectlLine): Promise<void> {
  const [word] = line.words;
  if (word === undefined) throw lineError(line.verb, NO_POD);
  const lines = integerOf(line, "tail", text(line, "tail") ?? "-1");
  const pod = await podFor(session, word);
  const query = {
    container: containerOf(session, pod, text(line, "container")),
    // All lines by default, which is -1.
    tailLines: lines < 0 ? undefined : lines,
    previous: isOn(line, "previous") ? true : undefined,
  };
  const path = objectPath({ ...PODS, namespace: session.namespace }, pod.metadata.name ?? "", "log");
  if (isOn(line, "follow")) {
    const { client, clock, trace, userAgent, context } = session;
    const source = { config: client.config, random: context.random, clock, trace, userAgent };
    await streamLog(source, withQuery(path, { ...query, follow: true }), context.streams.stdout, session.signal);
    return;
  }
  session.print(String(await session.client.expect({ method: "GET", path, query, signal: session.signal })));
}
