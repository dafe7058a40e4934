import { newestPod } from "../../testbed/fixtures/pod-list.js";
import { LabError } from "../../util/errors.js";
import type { InspectorKey } from "./key-table.js";
import type { OpenInspector } from "./run.js";

const MISSING = {
  regular: ["there is no pod of the API to delete", "Create one first: key p."],
  mirror: ["there is no mirror pod", "Write a manifest first."],
} as const;

/** The keys that several inspectors share. */
export function podKeys({ parts, fixture }: OpenInspector) {
  const deleteNewest = async (kind: keyof typeof MISSING, signal: AbortSignal) => {
    const pod = newestPod(parts, kind);
    const [message, hint] = MISSING[kind];
    if (pod === undefined) throw new LabError("USAGE", message, hint);
    return fixture.deletePod(pod, signal);
  };
  const create: InspectorKey = {
    key: "p",
    short: "pod",
    label: "create a pod through the API",
    run: (signal) => fixture.createPod(signal),
  };
  const deleteMirror: InspectorKey = {
    key: "m",
    short: "mirror",
    label: "delete the newest mirror pod through the API",
    isPossible: () => newestPod(parts, "mirror") !== undefined,
    run: async (signal) => `mirror ${await deleteNewest("mirror", signal)}`,
  };
  return {
    create,
    deleteMirror,
    delete: (label: string): InspectorKey => ({
      key: "d",
      short: "delete",
      label,
      isPossible: () => newestPod(parts, "regular") !== undefined,
      run: (signal) => deleteNewest("regular", signal),
    }),
    table: (label: string, show: () => void): InspectorKey => ({
      key: "t",
      short: "table",
      label,
      run: async () => {
        show();
        return undefined;
      },
    }),
  };
}
