import type { KnownPod } from "../../testbed/pleg/known-pods.js";
import type { LabTarget } from "../../testbed/runtime/lab-runtime.js";
import type { StatusTable } from "./status-table.js";

const ID_LENGTH = 10;

/**
 * The runtime's state next to PLEG's records. Pure.
 * @param targets undefined for an external runtime, whose own state is unknown
 */
export function plegRecords(known: readonly KnownPod[], targets: readonly LabTarget[] | undefined): StatusTable {
  const unseen = new Map(targets?.map((target) => [target.id, target]));
  const pods = known.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
  const rows = pods.flatMap(({ name, containers, sandboxes }) =>
    [...containers, ...sandboxes].map((one) => {
      const actual = unseen.get(one.containerId)?.state ?? "removed";
      unseen.delete(one.containerId);
      return rowOf(`${name} ${one.name ?? "sandbox"}`, one.containerId, targets && actual, one.state);
    }),
  );
  for (const { pod, name, id, state } of unseen.values())
    rows.push(rowOf(`${pod.replace(/^.*\//, "")} ${name}`, id, state, "not seen yet"));
  const actual = targets === undefined ? [] : ["runtime has"];
  return { title: "PLEG records", columns: ["container", ...actual, "PLEG knows"], rows };
}

function rowOf(name: string, id: string, actual: string | undefined, known: string): string[] {
  return [`${name} ${id.slice(0, ID_LENGTH)}`, ...(actual === undefined ? [] : [actual]), known];
}

function nameOf({ namespace, name }: KnownPod): string {
  return `${namespace}/${name}`;
}
