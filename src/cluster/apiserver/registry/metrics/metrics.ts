import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import { nameOf } from "../../../../staging/apimachinery/api/objects.js";
import { sumQuantities } from "../../../../staging/apimachinery/quantity.js";
import { column } from "../rest/cells.js";
import type { ResourceDefinition, TableDefinition } from "../rest/definition.js";
import { virtualRow } from "../rest/rows.js";

export const METRICS_GROUP = "metrics.k8s.io";

interface Usage {
  readonly cpu: string;
  readonly memory: string;
}

/** Mirrors pkg/api/table.go of metrics-server: the columns have the names of the resources. */
const TABLE: TableDefinition = {
  columns: [
    column("Name", "Name of the resource", { format: "name" }),
    column("cpu", "", { format: "quantity" }),
    column("memory", "", { format: "quantity" }),
    column("Window", "", { format: "duration" }),
  ],
  cells(metrics) {
    const usages = usagesOf(metrics);
    const sum = (pick: (usage: Usage) => string) => sumQuantities(usages.map(pick));
    return [nameOf(metrics), sum(({ cpu }) => cpu), sum(({ memory }) => memory), metrics["window"]];
  },
};

function usagesOf({ usage, containers }: KubeObject): readonly Usage[] {
  if (usage !== undefined) return [usage as Usage];
  return ((containers ?? []) as readonly { readonly usage: Usage }[]).map((one) => one.usage);
}

/** Usage is computed for each reader. Mirrors pkg/api/install.go of metrics-server. */
const COMPUTED = { singular: "", verbs: ["get", "list"], computed: true, table: TABLE } as const;

export const METRICS: readonly ResourceDefinition[] = [
  virtualRow(`${METRICS_GROUP}/v1beta1`, "NodeMetrics", "nodes", COMPUTED),
  virtualRow(`${METRICS_GROUP}/v1beta1`, "PodMetrics", "pods", { ...COMPUTED, namespaced: true }),
];
