import type { NodeCondition, NodeObject } from "../../../../staging/apimachinery/api/node.js";

/** Mirrors ZoneState. */
export type ZoneState = "Initial" | "Normal" | "PartialDisruption" | "FullDisruption";

/** Mirrors GetZoneKey in k8s.io/component-helpers/node/topology; "" for a node without zone and region. */
export function zoneKey(node: NodeObject): string {
  const labels = node.metadata.labels ?? {};
  const zone = labels["topology.kubernetes.io/zone"] ?? labels["failure-domain.beta.kubernetes.io/zone"] ?? "";
  const region = labels["topology.kubernetes.io/region"] ?? labels["failure-domain.beta.kubernetes.io/region"] ?? "";
  return zone === "" && region === "" ? "" : `${region}:\x00:${zone}`;
}

/** A printable form: the separator of `zoneKey` is a control character. */
export function zoneText(key: string): string {
  return key === "" ? "the only zone" : `zone ${key.replace(":\x00:", "/")}`;
}

/**
 * The state of a zone, by the Ready conditions of its nodes. Pure. Mirrors ComputeZoneState.
 * @param unhealthyThreshold share of not-ready nodes (of more than two) that makes a partial disruption
 */
export function zoneState(
  readyConditions: readonly (NodeCondition | undefined)[],
  unhealthyThreshold: number,
): ZoneState {
  const readyCount = readyConditions.filter((condition) => condition?.status === "True").length;
  const notReadyCount = readyConditions.length - readyCount;
  if (readyCount === 0 && notReadyCount > 0) return "FullDisruption";
  if (notReadyCount > 2 && notReadyCount / readyConditions.length >= unhealthyThreshold) return "PartialDisruption";
  return "Normal";
}

export interface EvictionRates {
  /** nodes per second */
  readonly normal: number;
  readonly secondary: number;
  /** in a partial disruption, a zone with more nodes than this is evicted slowly; a smaller one not at all */
  readonly largeClusterThreshold: number;
}

/** Mirrors setLimiterInZone with ReducedQPSFunc and HealthyQPSFunc. @returns nodes per second */
export function evictionRate(state: ZoneState, nodeCount: number, rates: EvictionRates): number {
  if (state !== "PartialDisruption") return rates.normal;
  return nodeCount > rates.largeClusterThreshold ? rates.secondary : 0;
}
