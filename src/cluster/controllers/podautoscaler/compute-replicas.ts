import type { V2MetricIdentifier, V2MetricSpec, V2MetricTarget, V2MetricValueStatus } from "@kubernetes/client-node";
import { canonicalQuantity, milliValue } from "../../../staging/apimachinery/quantity.js";
import type { Wire } from "../../../staging/apimachinery/wire.js";
import { isSet } from "../../../util/records.js";
import { labelSelectorText } from "../support/label-selector-text.js";
import { MetricsError, type ResourceQuery } from "./metrics/client.js";
import type { NewCondition } from "./normalize.js";
import type { ReplicaCalculator } from "./replica-calculator.js";
import type { Hpa, MetricStatus } from "./status.js";

type MetricSpec = Wire<V2MetricSpec>;
type MetricTarget = Wire<V2MetricTarget>;
type MetricIdentifier = Wire<V2MetricIdentifier>;

interface ComputeDeps {
  readonly calculator: ReplicaCalculator;
  /** records an event about the autoscaler */
  warn(reason: string, message: string): void;
}

/** How many pods the metrics ask for: the most of them. */
export type Computed =
  | {
      readonly outcome: "computed";
      readonly replicas: number;
      /** `cpu resource utilization (percentage of request)` */
      readonly metric: string;
      readonly statuses: readonly MetricStatus[];
      readonly why: string;
    }
  | { readonly outcome: "failed"; readonly condition: NewCondition; readonly message: string };

interface Proposal {
  readonly replicas: number;
  readonly metric: string;
  readonly status: MetricStatus;
  readonly why: string;
}

interface Counts {
  readonly currentReplicas: number;
  /** of the pods of the target: `app=web` */
  readonly selector: string;
}

/**
 * Each metric makes a proposal, and the highest one wins. With metrics that fail, nothing is scaled down.
 * Mirrors computeReplicasForMetrics in pkg/controller/podautoscaler/horizontal.go.
 */
export async function computeReplicasForMetrics(deps: ComputeDeps, hpa: Hpa, counts: Counts): Promise<Computed> {
  const metrics = hpa.spec?.metrics ?? [];
  const statuses: MetricStatus[] = [];
  const failures: { readonly condition: NewCondition; readonly message: string }[] = [];
  let best: Proposal | undefined;
  for (const metric of metrics) {
    const result = await computeReplicasForMetric(deps, hpa, metric, counts);
    statuses.push("status" in result ? result.status : { type: "" });
    if (!("status" in result)) failures.push(result);
    else if (best === undefined || best.replicas === 0 || result.replicas > best.replicas) best = result;
  }
  const [failure] = failures;
  if (failure !== undefined && (best === undefined || best.replicas < counts.currentReplicas)) {
    const message = `invalid metrics (${failures.length} invalid out of ${metrics.length}), first error is: ${failure.message}`;
    return { outcome: "failed", condition: failure.condition, message };
  }
  const { replicas, metric, why } = best ?? { replicas: 0, metric: "", why: "" };
  return { outcome: "computed", replicas, metric, statuses, why };
}

/** A source of metrics: how it is computed, and how its failure is worded. */
interface Source {
  /** of the condition and the event */
  readonly reason: string;
  /** before the error, where the errors of all metrics are counted */
  readonly prefix: string;
  compute(): Promise<Proposal>;
}

/** Mirrors computeReplicasForMetric and getUnableComputeReplicaCountCondition. */
async function computeReplicasForMetric(deps: ComputeDeps, hpa: Hpa, metric: MetricSpec, counts: Counts) {
  const { reason, prefix, compute } = sourceOf(deps, hpa, metric, counts);
  try {
    return await compute();
  } catch (error) {
    if (!(error instanceof MetricsError)) throw error;
    deps.warn(reason, error.message);
    const message = `the HPA was unable to compute the replica count: ${error.message}`;
    return {
      condition: { type: "ScalingActive", status: "False", reason, message },
      message: `${prefix}${error.message}`,
    };
  }
}

/** The API server checks that the field of the type is set. */
function sourceOf(deps: ComputeDeps, hpa: Hpa, metric: MetricSpec, counts: Counts): Source {
  const { namespace = "" } = hpa.metadata;
  const { resource, containerResource, pods, object, external } = metric;
  if (metric.type === "Resource" && isSet(resource)) {
    const { name, target } = resource;
    return {
      reason: "FailedGetResourceMetric",
      prefix: `failed to get ${name} resource metric value: `,
      async compute() {
        const query = { resource: name, namespace, selector: counts.selector };
        const { current, ...proposal } = await computeForResource(deps, counts, target, query);
        return { ...proposal, status: { type: metric.type, resource: { name, current } } };
      },
    };
  }
  if (metric.type === "ContainerResource" && isSet(containerResource)) {
    const { name, container, target } = containerResource;
    return {
      reason: "FailedGetContainerResourceMetric",
      prefix: `failed to get ${container} container metric value: `,
      async compute() {
        const query = { resource: name, namespace, selector: counts.selector, container };
        const { current, ...proposal } = await computeForResource(deps, counts, target, query);
        return { ...proposal, status: { type: metric.type, containerResource: { name, container, current } } };
      },
    };
  }
  if (metric.type === "Pods" && isSet(pods)) {
    const why = `unable to get metric ${pods.metric.name}: ${NO_CUSTOM_METRICS}`;
    return failing("FailedGetPodsMetric", "failed to get pods metric value: ", why);
  }
  if (metric.type === "Object" && isSet(object)) {
    const { kind, name } = object.describedObject;
    const where = `${kind} ${namespace}/${name}`;
    const why = `unable to get metric ${object.metric.name}: ${where}/${NO_CUSTOM_METRICS}`;
    return failing("FailedGetObjectMetric", "failed to get object metric value: ", why);
  }
  if (metric.type === "External" && isSet(external)) {
    const { name } = external.metric;
    const how = isSet(external.target.averageValue) ? `${name} external metric` : `external metric ${name}`;
    const prefix = `failed to get ${how}: `;
    return failing("FailedGetExternalMetric", prefix, noExternalMetric(namespace, external.metric));
  }
  const why = `unknown metric source type ${JSON.stringify(metric.type)}`;
  return failing("InvalidMetricSourceType", "", why);
}

/** The API server has no aggregation layer, so that no adapter can serve these APIs. */
const NO_CUSTOM_METRICS =
  "unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered";

function noExternalMetric(namespace: string, { name, selector }: MetricIdentifier): string {
  const why = `the server could not find the requested resource (get ${name}.external.metrics.k8s.io)`;
  const what = `${namespace}/${name}/${labelSelectorText(selector)}`;
  return `unable to get external metric ${what}: unable to fetch metrics from external metrics API: ${why}`;
}

function failing(reason: string, prefix: string, why: string): Source {
  return { reason, prefix, compute: () => Promise.reject(new MetricsError(why)) };
}

/** Mirrors computeStatusForResourceMetricGeneric. */
async function computeForResource(
  { calculator }: ComputeDeps,
  { currentReplicas }: Counts,
  { averageValue, averageUtilization }: MetricTarget,
  query: ResourceQuery,
) {
  const { resource, container } = query;
  const of = container === undefined ? "" : "container ";
  const proposal = await orUnable(resource, () =>
    isSet(averageValue)
      ? calculator.getRawResourceReplicas(currentReplicas, milliValue(averageValue), query)
      : calculator.getResourceReplicas(currentReplicas, averageUtilization ?? 0, query),
  );
  const { replicas, usage, why } = proposal;
  const metric = isSet(averageValue)
    ? `${resource} resource`
    : `${resource} ${of}resource utilization (percentage of request)`;
  const current: Wire<V2MetricValueStatus> = {
    ...(usage.utilization === undefined ? {} : { averageUtilization: usage.utilization }),
    averageValue: canonicalQuantity(`${usage.average}m`) ?? "0",
  };
  return { replicas, metric, why: `${resource}: ${why}`, current };
}

async function orUnable<T>(resource: string, compute: () => Promise<T>): Promise<T> {
  try {
    return await compute();
  } catch (error) {
    if (!(error instanceof MetricsError)) throw error;
    throw new MetricsError(`failed to get ${resource} utilization: ${error.message}`);
  }
}
