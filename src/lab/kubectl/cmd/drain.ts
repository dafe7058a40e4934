import type { V1Node } from "@kubernetes/client-node";
import type { Wire } from "../../../staging/apimachinery/wire.js";
import { visit } from "../builder.js";
import { type KubectlLine, text } from "../flags.js";
import { lineError } from "../line-error.js";
import { nameOf } from "../resources.js";
import type { Session } from "../session.js";
import { sendPatch } from "./patch.js";

/**
 * `cordon`, `uncordon`.
 * Mirrors staging/src/k8s.io/kubectl/pkg/cmd/drain/drain.go (RunCordonOrUncordon).
 */
export async function cordon(session: Session, line: KubectlLine): Promise<void> {
  const isOn = line.verb === "cordon";
  if (line.words.length === 0 && text(line, "selector") === undefined) {
    throw lineError(line.verb, `USAGE: ${line.verb} NODE [flags]`);
  }
  await visit(session, line, ["node", ...line.words], async (info) => {
    if (((info.object as Wire<V1Node>).spec?.unschedulable === true) === isOn) {
      return session.print(`${nameOf(info.known, info.name)} already ${line.verb}ed\n`);
    }
    const body = { spec: { unschedulable: isOn ? true : null } };
    return sendPatch(session, line, info, body, "application/strategic-merge-patch+json", () => `${line.verb}ed`);
  });
}
