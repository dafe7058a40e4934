import type { Pleg } from "../../testbed/pleg/pleg.js";
import type { LabRuntime } from "../../testbed/runtime/lab-runtime.js";
import type { LiveWindow } from "../../trace/ui/live-server.js";
import { plegRecords } from "../inspector/pleg-records.js";
import type { StatusTable } from "../inspector/status-table.js";
import type { LabKeys } from "./keys.js";
import { cacheText, healthText } from "./state.js";

/** What the live page of `kubelab pleg` shows. @param lab undefined for a real runtime, which is observed only */
export function plegWindow(pleg: Pleg, lab: LabRuntime | undefined, keys: LabKeys | undefined): LiveWindow {
  const tables = async () => {
    await keys?.look();
    const records = plegRecords(pleg.knownPods(), await lab?.targets());
    const note = [healthText(pleg), ...(lab?.faults() ?? [])].join("; ");
    return [{ ...records, note }, podCache(pleg), counts(pleg)];
  };
  const state = { tables, relist: () => pleg.generic.times };
  return keys === undefined ? state : { ...state, keys: () => keys.buttons, press: (key) => keys.press(key) };
}

function podCache(pleg: Pleg): StatusTable {
  const rows = pleg.knownPods().map(({ podUid, namespace, name }) => [`${namespace}/${name}`, cacheText(pleg, podUid)]);
  return { title: "Pod cache", columns: ["pod", "status"], rows: rows.sort(([a = ""], [b = ""]) => (a < b ? -1 : 1)) };
}

function counts({ summary }: Pleg): StatusTable {
  const { relists, failedRelists, inspections, events } = summary;
  const told = Object.entries(events).map(([type, count]) => [type, String(count)]);
  const rows = [
    ["relists", String(relists)],
    ["failed relists", String(failedRelists)],
    ["inspections", String(inspections)],
    ...told,
  ];
  return { title: "Counts", columns: ["what", "so far"], rows };
}
