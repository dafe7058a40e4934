import table from "../../../../fixtures/kubelet-flags.json" with { type: "json" };
import { CONFIG_FIELDS } from "./fields.js";

/** The kubelet's flags without a counterpart, with what to use instead. */
export const ANSWERED_FLAGS: ReadonlyMap<string, string> = new Map(
  table.answers.flatMap(({ flags, answer }) => flags.map((flag): [string, string] => [flag, answer])),
);

/**
 * The flags of kubelet v1.25 that set a field of its configuration, with the path of the field.
 * The list is that of AddKubeletConfigFlags in cmd/kubelet/app/options/options.go.
 */
export const CONFIG_FLAGS: ReadonlyMap<string, string> = new Map([
  ...table.sameName.map((flag): [string, string] => [flag, fieldNamed(flag)]),
  ...Object.entries(table.otherNames),
]);

/** The field of the same name in any case: `kube-api-qps` is kubeAPIQPS. */
function fieldNamed(flag: string): string {
  const letters = flag.replaceAll("-", "");
  return CONFIG_FIELDS.find((field) => field.toLowerCase() === letters) ?? flag;
}
