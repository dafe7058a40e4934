import { isStatus, type ObjectMeta } from "../../../../apimachinery/api/meta.js";
import { milliValue } from "../../../../apimachinery/quantity.js";
import { parseGoDuration } from "../../../../apimachinery/time.js";
import { isSuccess } from "../../../../client-go/rest/answers.js";
import type { KubeClient, KubeResponse } from "../../../../client-go/rest/client.js";
import { collectionPath } from "../../../../client-go/rest/paths.js";
import { LabError } from "../../../../util/errors.js";
import { isRecord } from "../../../../util/records.js";

/** A metric cannot be read, or has no usable values. The autoscaler's conditions and events show the message. */
export class MetricsError extends Error {}

/** One pod's use of a resource. Mirrors PodMetric in pkg/controller/podautoscaler/metrics/interfaces.go. */
export interface PodMetric {
  /** Unix ms: the end of the window */
  readonly timestampMs: number;
  readonly windowMs: number;
  /** thousandths of the resource's unit: millicores, thousandths of a byte */
  readonly value: number;
}

/** Pod name -> metric. Mirrors PodMetricsInfo. */
export type PodMetricsInfo = ReadonlyMap<string, PodMetric>;

export interface ResourceQuery {
  /** `cpu`, `memory` */
  readonly resource: string;
  readonly namespace: string;
  /** `app=web` */
  readonly selector: string;
  /** only this container's use; absent: the sum of all containers */
  readonly container?: string;
}

/** An object of metrics.k8s.io/v1beta1. */
interface PodMetrics {
  readonly metadata: ObjectMeta;
  readonly timestamp?: string;
  /** a Go duration: `15s` */
  readonly window?: string;
  readonly containers?: readonly { readonly name: string; readonly usage?: Readonly<Record<string, string>> }[];
}

const RESOURCE_METRICS = { apiVersion: "metrics.k8s.io/v1beta1", resource: "pods" };

/**
 * Reads the resource metrics of pods from the API metrics.k8s.io.
 * Mirrors resourceMetricsClient in pkg/controller/podautoscaler/metrics/client.go.
 */
export class ResourceMetricsClient {
  /** @param open makes the client with the controller's identity: once, when the first metric is needed */
  constructor(readonly open: () => Promise<Pick<KubeClient, "request">>) {}

  /** Mirrors GetResourceMetric. @throws MetricsError */
  async getResourceMetric(query: ResourceQuery): Promise<PodMetricsInfo> {
    const items = await this.#list(query);
    if (items.length === 0) throw new MetricsError("no metrics returned from resource metrics API");
    const { resource, container } = query;
    if (container === undefined) return getPodMetrics(items, resource);
    return getContainerMetrics(items, resource, container);
  }

  async #list({ namespace, selector }: ResourceQuery): Promise<readonly PodMetrics[]> {
    const path = collectionPath({ ...RESOURCE_METRICS, namespace });
    const client = await this.open();
    try {
      const response = await client.request({ method: "GET", path, query: { labelSelector: selector } });
      if (!isSuccess(response)) throw new MetricsError(unableToFetch(serverError(response, "pods.metrics.k8s.io")));
      const { body } = response;
      return isRecord(body) && Array.isArray(body["items"]) ? (body["items"] as readonly PodMetrics[]) : [];
    } catch (error) {
      throw error instanceof LabError ? new MetricsError(unableToFetch(error.message)) : error;
    }
  }
}

function unableToFetch(why: string): string {
  return `unable to fetch metrics from resource metrics API: ${why}`;
}

/**
 * An error as client-go words it: answers that are no Status, of a server without the API, get a text of the client.
 * Mirrors NewGenericServerResponse in k8s.io/apimachinery/pkg/api/errors/errors.go.
 */
function serverError({ status, body }: KubeResponse, resource: string): string {
  if (isStatus(body) && body.message !== undefined) return body.message;
  if (status === 404) return `the server could not find the requested resource (get ${resource})`;
  if (status === 503) return `the server is currently unable to handle the request (get ${resource})`;
  return `the server responded with the status code ${status} but did not return more information (get ${resource})`;
}

/** A pod of which a container has no value is left out. Mirrors getPodMetrics. */
function getPodMetrics(items: readonly PodMetrics[], resource: string): PodMetricsInfo {
  const metrics = new Map<string, PodMetric>();
  for (const item of items) {
    const usages = (item.containers ?? []).map(({ usage }) => usage?.[resource]);
    if (usages.length === 0 || usages.includes(undefined)) continue;
    const value = usages.reduce((sum, usage) => sum + milliValue(usage), 0);
    metrics.set(item.metadata.name ?? "", { ...windowOf(item), value });
  }
  return metrics;
}

/** Mirrors getContainerMetrics. @throws MetricsError if a pod has no such container */
function getContainerMetrics(items: readonly PodMetrics[], resource: string, container: string): PodMetricsInfo {
  const metrics = new Map<string, PodMetric>();
  for (const item of items) {
    const { namespace, name = "" } = item.metadata;
    const found = item.containers?.find((one) => one.name === container);
    if (found === undefined) {
      const why = `container ${container} not present in metrics for pod ${namespace}/${name}`;
      throw new MetricsError(`failed to get container metrics: ${why}`);
    }
    const usage = found.usage?.[resource];
    if (usage !== undefined) metrics.set(name, { ...windowOf(item), value: milliValue(usage) });
  }
  return metrics;
}

function windowOf({ timestamp, window }: PodMetrics): Pick<PodMetric, "timestampMs" | "windowMs"> {
  return { timestampMs: Date.parse(timestamp ?? "") || 0, windowMs: windowMs(window) };
}

/** 0 for a window that is not a duration. */
function windowMs(window = ""): number {
  try {
    return parseGoDuration(window);
  } catch {
    return 0;
  }
}
