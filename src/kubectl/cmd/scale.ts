import { visit } from "../builder.js";
import { type KubectlLine, text, unknown } from "../flags.js";
import type { Session } from "../session.js";
import { sendPatch } from "./patch.js";

/**
 * `kubectl scale deployment web --replicas=N`.
 * Mirrors staging/src/k8s.io/kubectl/pkg/cmd/scale/scale.go (RunScale).
 */
export async function scale(session: Session, line: KubectlLine): Promise<void> {
  const replicas = Number(text(line, "replicas") ?? Number.NaN);
  if (!Number.isInteger(replicas) || replicas < 0) throw unknown("--replicas", "kubectlNeedsValue");
  await visit(session, line, line.words, async (info) => {
    const subresource = { ...info, path: `${info.path}/scale` };
    await sendPatch(session, line, subresource, { spec: { replicas } }, "application/merge-patch+json", () => "scaled");
  });
}
