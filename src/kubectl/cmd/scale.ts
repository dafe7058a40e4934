import { visit } from "../builder.js";
import { type KubectlLine, text, unknown } from "../flags.js";
import { nameOf } from "../resources.js";
import type { Session } from "../session.js";

/**
 * `kubectl scale deployment web --replicas=N`.
 * Mirrors staging/src/k8s.io/kubectl/pkg/cmd/scale/scale.go (RunScale).
 */
export async function scale(session: Session, line: KubectlLine): Promise<void> {
  const replicas = Number(text(line, "replicas") ?? Number.NaN);
  if (!Number.isInteger(replicas) || replicas < 0) throw unknown("--replicas", "kubectlNeedsValue");
  const { client, signal } = session;
  await visit(session, line, line.words, async ({ known, name, path }) => {
    const contentType = "application/merge-patch+json";
    await client.expect({ method: "PATCH", path: `${path}/scale`, body: { spec: { replicas } }, contentType, signal });
    session.print(`${nameOf(known, name)} scaled\n`);
  });
}
