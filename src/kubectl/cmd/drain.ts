import type { V1Node } from "@kubernetes/client-node";
import type { Wire } from "../../apimachinery/wire.js";
import { visit } from "../builder.js";
import type { KubectlLine } from "../flags.js";
import { nameOf } from "../resources.js";
import type { Session } from "../session.js";

/**
 * `cordon`, `uncordon`.
 * Mirrors staging/src/k8s.io/kubectl/pkg/cmd/drain/drain.go (RunCordonOrUncordon).
 */
export async function cordon(session: Session, line: KubectlLine): Promise<void> {
  const isOn = line.verb === "cordon";
  const { client, signal } = session;
  await visit(session, line, ["node", ...line.words], async ({ known, name, path, object }) => {
    const isAlready = ((object as Wire<V1Node>).spec?.unschedulable === true) === isOn;
    const body = { spec: { unschedulable: isOn ? true : null } };
    const contentType = "application/strategic-merge-patch+json";
    if (!isAlready) await client.expect({ method: "PATCH", path, body, contentType, signal });
    session.print(`${nameOf(known, name)} ${isAlready ? "already " : ""}${line.verb}ed\n`);
  });
}
