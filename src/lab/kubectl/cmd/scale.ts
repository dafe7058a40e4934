import { visit } from "../builder.js";
import { integerOf, type KubectlLine, text } from "../flags.js";
import { lineError } from "../line-error.js";
import type { Session } from "../session.js";
import { sendPatch } from "./patch.js";

/**
 * `kubectl scale deployment web --replicas=N`.
 * Mirrors staging/src/k8s.io/kubectl/pkg/cmd/scale/scale.go (RunScale).
 */
export async function scale(session: Session, line: KubectlLine): Promise<void> {
  const given = text(line, "replicas");
  if (given === undefined) throw lineError(line.verb, 'required flag(s) "replicas" not set');
  const replicas = integerOf(line, "replicas", given);
  if (replicas < 0) {
    throw lineError(line.verb, "The --replicas=COUNT flag is required, and COUNT must be greater than or equal to 0");
  }
  await visit(session, line, line.words, async (info) => {
    const subresource = { ...info, path: `${info.path}/scale` };
    await sendPatch(session, line, subresource, { spec: { replicas } }, "application/merge-patch+json", () => "scaled");
  });
}
