import type { LeaseObject } from "../../staging/component-helpers/lease/controller.js";
import type { StatusTable } from "./status-table.js";

/** The leases of nodes, by name. Pure. */
export function leaseTable(leases: readonly LeaseObject[]): StatusTable {
  const rows = leases.map(({ metadata, spec: { holderIdentity = "", renewTime = "", leaseDurationSeconds = 0 } }) => {
    const { name = "" } = metadata;
    // The day is known.
    const at = renewTime.slice("2026-01-01T".length, "2026-01-01T00:00:00.000".length);
    return [holderIdentity === name ? name : `${name}, held by ${holderIdentity}`, at, `${leaseDurationSeconds} s`];
  });
  rows.sort(([a = ""], [b = ""]) => (a < b ? -1 : 1));
  return { title: "Leases", columns: ["node", "renewed", "valid for"], rows };
}
