import type { V1HorizontalPodAutoscaler, V2HorizontalPodAutoscaler, V2MetricSpec } from "@kubernetes/client-node";
import { defined } from "../../../util/defined.js";
import { isRecord, isSet } from "../../../util/records.js";
import type { KubeObject } from "../api/meta.js";
import { defaultMetrics } from "../scheme/defaults/autoscaling.js";
import type { Wire } from "../wire.js";
import { metricFromV1, metricToV1 } from "./metrics.js";

/**
 * Objects are stored as autoscaling/v2. Version v1 knows a single metric, the use of CPU; the rest is in annotations.
 * Mirrors pkg/apis/autoscaling/v1/conversion.go.
 */

type HpaV1 = Wire<V1HorizontalPodAutoscaler>;
type HpaV2 = Wire<V2HorizontalPodAutoscaler>;
type Metric = Wire<V2MetricSpec>;

const PREFIX = "autoscaling.alpha.kubernetes.io/";
const METRICS = `${PREFIX}metrics`;
const STATUSES = `${PREFIX}current-metrics`;
const CONDITIONS = `${PREFIX}conditions`;
const BEHAVIOR = `${PREFIX}behavior`;

/** The use of CPU in percent, which is a field of its own in v1. */
function isCpuUtilization({ type, resource }: Metric): boolean {
  return type === "Resource" && resource?.name === "cpu" && isSet(resource.target?.averageUtilization);
}

/** A stored object as autoscaling/v1 shows it. */
export function hpaToV1(stored: KubeObject): HpaV1 {
  const { metadata, spec, status } = stored as HpaV2;
  const metrics = spec?.metrics ?? [];
  const others = metrics.filter((one) => !isCpuUtilization(one)).map(metricToV1);
  const statuses = status?.currentMetrics ?? [];
  const extra = {
    ...(others.length > 0 ? { [METRICS]: JSON.stringify(others) } : {}),
    ...(statuses.length > 0 ? { [STATUSES]: JSON.stringify(statuses.map(metricToV1)) } : {}),
    ...(spec?.behavior ? { [BEHAVIOR]: JSON.stringify(spec.behavior) } : {}),
    ...((status?.conditions ?? []).length > 0 ? { [CONDITIONS]: JSON.stringify(status?.conditions) } : {}),
  };
  const annotations = { ...withoutRoundTrip(metadata.annotations), ...extra };
  const cpu = statuses.find(({ type, resource }) => type === "Resource" && resource?.name === "cpu");
  const { scaleTargetRef, minReplicas, maxReplicas } = spec ?? {};
  const target = metrics.find(isCpuUtilization)?.resource?.target.averageUtilization;
  return {
    ...stored,
    apiVersion: "autoscaling/v1",
    metadata: { ...metadata, annotations: Object.keys(annotations).length > 0 ? annotations : undefined },
    spec: defined({ scaleTargetRef, minReplicas, maxReplicas, targetCPUUtilizationPercentage: target }),
    status: defined({
      observedGeneration: status?.observedGeneration,
      lastScaleTime: status?.lastScaleTime,
      currentReplicas: status?.currentReplicas ?? 0,
      desiredReplicas: status?.desiredReplicas ?? 0,
      currentCPUUtilizationPercentage: cpu?.resource?.current?.averageUtilization,
    }),
  } as unknown as HpaV1;
}

function withoutRoundTrip(annotations: Readonly<Record<string, string>> = {}): Record<string, string> {
  const all = [METRICS, STATUSES, CONDITIONS, BEHAVIOR];
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => !all.includes(key)));
}

/** An object of autoscaling/v1 as it is stored. */
export function hpaFromV1(shown: KubeObject): KubeObject {
  const { metadata, spec, status } = shown as HpaV1;
  const saved = (key: string) => parsed(metadata.annotations?.[key]);
  const { targetCPUUtilizationPercentage: cpu, ...rest } = spec ?? {};
  const { currentCPUUtilizationPercentage: usedCpu, ...statusRest } = status ?? {};
  const metrics = listOf(saved(METRICS)).map(metricFromV1);
  if (isSet(cpu)) {
    const target = { type: "Utilization", averageUtilization: cpu };
    metrics.push({ type: "Resource", resource: { name: "cpu", target } });
  }
  const behavior = saved(BEHAVIOR);
  const statuses = listOf(saved(STATUSES)).map(metricFromV1);
  if (statuses.length === 0 && isSet(usedCpu)) {
    statuses.push({ type: "Resource", resource: { name: "cpu", current: { averageUtilization: usedCpu } } });
  }
  const conditions = listOf(saved(CONDITIONS));
  const annotations = withoutRoundTrip(metadata.annotations);
  return {
    ...shown,
    apiVersion: "autoscaling/v2",
    metadata: { ...metadata, ...(metadata.annotations === undefined ? {} : { annotations }) },
    spec: {
      ...rest,
      metrics: metrics.length > 0 ? metrics : defaultMetrics(),
      ...(isRecord(behavior) && Object.keys(behavior).length > 0 ? { behavior } : {}),
    },
    status: {
      ...statusRest,
      currentMetrics: statuses.length > 0 ? statuses : null,
      ...(conditions.length > 0 ? { conditions } : {}),
    },
  } as KubeObject;
}

/** @returns undefined for a text that is not JSON: upstream ignores such annotations too */
function parsed(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // a client's annotation of the same name
  }
}

function listOf(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}
