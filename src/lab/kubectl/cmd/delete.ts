import { type Info, visit } from "../builder.js";
import { integerOf, isOn, type KubectlLine, text } from "../flags.js";
import { lineError } from "../line-error.js";
import { nameOf } from "../resources.js";
import type { Session } from "../session.js";

const PROPAGATION: Readonly<Record<string, string>> = {
  background: "Background",
  foreground: "Foreground",
  orphan: "Orphan",
};
const FORCE_WARNING =
  "Warning: Immediate deletion does not wait for confirmation that the running resource has been terminated. The resource may continue to run on the cluster indefinitely.";

const LOOK_AGAIN_MS = 100;

/**
 * `kubectl delete`: waits until the objects are gone, unless `--wait=false`.
 * Mirrors staging/src/k8s.io/kubectl/pkg/cmd/delete/delete.go (DeleteResult).
 */
export async function remove(session: Session, line: KubectlLine): Promise<void> {
  const { client, signal } = session;
  const propagationPolicy = propagationOf(line);
  const isForced = isOn(line, "force");
  const grace = isOn(line, "now") ? "1" : (text(line, "grace-period") ?? (isForced ? "0" : undefined));
  // kubectl turns 0 without --force into 1: the API server would not wait for the kubelet.
  const gracePeriodSeconds =
    grace === undefined ? undefined : Math.max(integerOf(line, "grace-period", grace), isForced ? 0 : 1);
  if (isForced && gracePeriodSeconds === 0) session.warn(FORCE_WARNING);
  const query = { propagationPolicy, gracePeriodSeconds };
  const deleted: Info[] = [];
  const count = await visit(session, line, line.words, async (info) => {
    await client.expect({ method: "DELETE", path: info.path, query, signal });
    deleted.push(info);
    const { known, name } = info;
    session.print(`${nameOf(known, "").slice(0, -1)} "${name}" ${isForced ? "force " : ""}deleted\n`);
  });
  if (count === 0) session.print("No resources found\n");
  if (text(line, "wait") === "false") return;
  for (const info of deleted) await untilGone(session, info);
}

/** The propagation policy for owned objects. @throws LabError FAILED */
export function propagationOf(line: KubectlLine): string {
  const cascade = text(line, "cascade") ?? "background";
  const policy = PROPAGATION[cascade];
  if (policy !== undefined) return policy;
  throw lineError(line.verb, `invalid cascade value (${cascade}). Must be "background", "foreground", or "orphan"`);
}

/** A new object of the same name counts as gone. Mirrors k8s.io/kubectl/pkg/cmd/wait (IsDeleted). */
export async function untilGone(
  { client, clock, signal }: Session,
  { path, object }: Pick<Info, "path" | "object">,
): Promise<void> {
  const { uid } = object.metadata;
  for (;;) {
    const { status, body } = await client.request<Partial<Info["object"]>>({ method: "GET", path, signal });
    if (status === 404 || (status === 200 && body.metadata?.uid !== uid)) return;
    await clock.sleep(LOOK_AGAIN_MS, signal);
  }
}
