import { objectPath, PODS } from "../../client-go/rest/paths.js";
import { podFor } from "../attachable-pod.js";
import { isOn, type KubectlLine, text } from "../flags.js";
import type { Session } from "../session.js";

/**
 * `logs POD [-c CONTAINER] [--tail N] [--previous]`.
 * Mirrors staging/src/k8s.io/kubectl/pkg/cmd/logs/logs.go (RunLogs). Differs: it does not follow.
 */
export async function logs(session: Session, line: KubectlLine): Promise<void> {
  const query = {
    container: text(line, "container"),
    tailLines: text(line, "tail"),
    previous: isOn(line, "previous") ? true : undefined,
  };
  const path = objectPath({ ...PODS, namespace: session.namespace }, await podFor(session, line.words[0]), "log");
  session.print(String(await session.client.expect({ method: "GET", path, query, signal: session.signal })));
}
