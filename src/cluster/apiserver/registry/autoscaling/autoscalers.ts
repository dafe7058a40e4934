import type { V2HorizontalPodAutoscaler, V2MetricSpec, V2MetricStatus } from "@kubernetes/client-node";
import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import { nameOf } from "../../../../staging/apimachinery/api/objects.js";
import { hpaFromV1, hpaToV1 } from "../../../../staging/apimachinery/autoscalingv1/conversion.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import { isSet } from "../../../../util/records.js";
import { AGE_COLUMN, ageOf, column, NAME_COLUMN, UNKNOWN } from "../rest/cells.js";
import type { ResourceDefinition, Strategy, TableDefinition } from "../rest/definition.js";
import { row, statusOf } from "../rest/rows.js";
import { specAndStatus } from "../rest/stored.js";
import { validateHpa, validateHpaStatus } from "./validation.js";

type Hpa = Wire<V2HorizontalPodAutoscaler>;

/** The store passes objects of both versions. */
function asV2(object: KubeObject): Hpa {
  return (object.apiVersion === "autoscaling/v1" ? hpaFromV1(object) : object) as Hpa;
}

const MAX_METRICS_SHOWN = 2;

/** Mirrors formatHPAMetrics in pkg/printers/internalversion/printers.go. */
function metricsCell({ spec, status }: Hpa): string {
  const metrics = spec?.metrics ?? [];
  if (metrics.length === 0) return "<none>";
  const statuses = status?.currentMetrics ?? [];
  const list = metrics.map((metric, index) => metricText(metric, statuses[index]));
  const shown = list.slice(0, MAX_METRICS_SHOWN).join(", ");
  return list.length > MAX_METRICS_SHOWN ? `${shown} + ${list.length - MAX_METRICS_SHOWN} more...` : shown;
}

function metricText(metric: Wire<V2MetricSpec>, status: Wire<V2MetricStatus> | undefined): string {
  switch (metric.type) {
    case "External":
    case "Object": {
      const source = metric.type === "External" ? metric.external : metric.object;
      const current = (metric.type === "External" ? status?.external : status?.object)?.current;
      const { averageValue, value } = source?.target ?? {};
      if (isSet(averageValue)) return `${current?.averageValue ?? UNKNOWN}/${averageValue} (avg)`;
      return `${current?.value ?? UNKNOWN}/${value}`;
    }
    case "Pods":
      return `${status?.pods?.current.averageValue ?? UNKNOWN}/${metric.pods?.target.averageValue}`;
    case "Resource":
    case "ContainerResource": {
      const source = metric.type === "Resource" ? metric.resource : metric.containerResource;
      const current = (metric.type === "Resource" ? status?.resource : status?.containerResource)?.current;
      const { averageValue, averageUtilization: percent } = source?.target ?? {};
      if (isSet(averageValue)) return `${current?.averageValue ?? UNKNOWN}/${averageValue}`;
      const used = isSet(current?.averageUtilization) ? `${current.averageUtilization}%` : UNKNOWN;
      return `${used}/${isSet(percent) ? `${percent}%` : "<auto>"}`;
    }
    default:
      return "<unknown type>";
  }
}

/** Mirrors printHorizontalPodAutoscaler. */
const TABLE: TableDefinition = {
  columns: [
    NAME_COLUMN,
    column("Reference", "The workload whose number of pods changes."),
    column("Targets", "Current and wanted values of the metrics."),
    column("MinPods", "The smallest number of pods."),
    column("MaxPods", "The largest number of pods."),
    column("Replicas", "The number of pods that was last seen."),
    AGE_COLUMN,
  ],
  cells(object, nowMs) {
    const hpa = asV2(object);
    const { scaleTargetRef, minReplicas, maxReplicas = 0 } = hpa.spec ?? {};
    return [
      nameOf(hpa),
      `${scaleTargetRef?.kind ?? ""}/${scaleTargetRef?.name ?? ""}`,
      metricsCell(hpa),
      isSet(minReplicas) ? String(minReplicas) : "<unset>",
      maxReplicas,
      hpa.status?.currentReplicas ?? 0,
      ageOf(hpa, nowMs),
    ];
  },
};

const NO_STATUS = { desiredReplicas: 0, currentMetrics: null };

/** Mirrors autoscalerStrategy in pkg/registry/autoscaling/horizontalpodautoscaler/strategy.go. */
function strategy(freshStatus: object): Strategy {
  return specAndStatus({
    freshStatus: () => freshStatus,
    strategy: {
      validate: (object) => validateHpa(asV2(object)),
      validateUpdate: (object, old) => validateHpa(asV2(object), asV2(old)),
    },
  });
}

const STATUS = statusOf({
  prepareForUpdate: (object, old) => ({ ...object, spec: old.spec }),
  validateUpdate: (object) => validateHpaStatus(asV2(object)),
});

const RESOURCE = "horizontalpodautoscalers";
const SHARED = {
  shortNames: ["hpa"],
  categories: ["all"],
  storageVersion: "autoscaling/v2",
  subresources: [STATUS],
  table: TABLE,
};

export const AUTOSCALERS: readonly ResourceDefinition[] = [
  row("autoscaling/v2", "HorizontalPodAutoscaler", RESOURCE, strategy(NO_STATUS), {
    ...SHARED,
    schema: "v2.HorizontalPodAutoscaler",
  }),
  row("autoscaling/v1", "HorizontalPodAutoscaler", RESOURCE, strategy({ currentReplicas: 0, desiredReplicas: 0 }), {
    ...SHARED,
    storedAs: { resource: `${RESOURCE}.autoscaling`, toStored: hpaFromV1, fromStored: hpaToV1 },
  }),
];
