import type { V1LimitRangeItem, V1PersistentVolumeClaim, V1Pod } from "@kubernetes/client-node";
import { type ContainerResources, resourcesOf } from "../../../../staging/apimachinery/corev1/container-resources.js";
import { addTo, resourceFrom } from "../../../../staging/apimachinery/corev1/pod-requests.js";
import {
  canonicalQuantity,
  compareQuantities,
  isZeroQuantity,
  milliValue,
  type ResourceList,
} from "../../../../staging/apimachinery/quantity.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import { type Amounts, maxOf } from "../../../../staging/server/quota/resources.js";

type Item = Wire<V1LimitRangeItem>;

/** What a limit range says about one resource: the kind of object it limits, the resource, and the amount. */
interface Constraint {
  readonly type: string;
  readonly name: string;
  readonly enforced: string;
}

type Check = (constraint: Constraint, resources: ContainerResources) => string | undefined;

/** Mirrors PodValidateLimitFunc in plugin/pkg/admission/limitranger/admission.go. */
export function podProblems(item: Item, { spec }: Wire<V1Pod>): string[] {
  const containers = (spec?.containers ?? []).map(resourcesOf);
  const initContainers = (spec?.initContainers ?? []).map(resourcesOf);
  if (item.type === "Container") return [...containers, ...initContainers].flatMap((one) => problems(item, one));
  if (item.type !== "Pod") return [];
  const inAll = (list: "requests" | "limits") => {
    const sum = sumOfShared(containers.map((one) => one[list]));
    return initContainers.reduce((most, one) => maxOf(most, one[list] as Amounts), sum);
  };
  return problems(item, { requests: inAll("requests"), limits: inAll("limits") });
}

function problems(item: Item, resources: ContainerResources): string[] {
  return [
    ...checkAll(item.type, item.min, checkMin, resources),
    ...checkAll(item.type, item.max, checkMax, resources),
    ...checkAll(item.type, item.maxLimitRequestRatio, checkRatio, resources),
  ];
}

/** Mirrors PersistentVolumeClaimValidateLimitFunc: a claim's limits do not count. */
export function claimProblems(item: Item, { spec }: Wire<V1PersistentVolumeClaim>): string[] {
  if (item.type !== "PersistentVolumeClaim") return [];
  const resources = { requests: spec?.resources?.requests ?? {}, limits: {} };
  return [
    ...checkAll(item.type, item.min, checkMin, resources),
    ...checkAll(item.type, item.max, checkMaxRequest, resources),
  ];
}

function checkAll(
  type: string,
  list: Readonly<Record<string, string>> | undefined,
  check: Check,
  resources: ContainerResources,
): string[] {
  return Object.keys(list ?? {})
    .sort()
    .flatMap((name) => check({ type, name, enforced: `${list?.[name]}` }, resources) ?? []);
}

/** Mirrors minConstraint. */
const checkMin: Check = ({ type, name, enforced }, { requests, limits }) => {
  const rule = `minimum ${name} usage per ${type} is ${enforced}`;
  const [request, limit] = [requests[name], limits[name]];
  if (request === undefined) return `${rule}.  No request is specified`;
  if (compareQuantities(request, enforced) < 0) return `${rule}, but request is ${request}`;
  if (limit !== undefined && compareQuantities(limit, enforced) < 0) return `${rule}, but limit is ${limit}`;
  return undefined;
};

/** Mirrors maxConstraint. */
const checkMax: Check = ({ type, name, enforced }, { requests, limits }) => {
  const rule = `maximum ${name} usage per ${type} is ${enforced}`;
  const [request, limit] = [requests[name], limits[name]];
  if (limit === undefined) return `${rule}.  No limit is specified`;
  if (compareQuantities(limit, enforced) > 0) return `${rule}, but limit is ${limit}`;
  if (request !== undefined && compareQuantities(request, enforced) > 0) return `${rule}, but request is ${request}`;
  return undefined;
};

/** Mirrors maxRequestConstraint. */
const checkMaxRequest: Check = ({ type, name, enforced }, { requests }) => {
  const rule = `maximum ${name} usage per ${type} is ${enforced}`;
  const request = requests[name];
  if (request === undefined) return `${rule}.  No request is specified`;
  return compareQuantities(request, enforced) > 0 ? `${rule}, but request is ${request}` : undefined;
};

/** Mirrors limitRequestRatioConstraint. */
const checkRatio: Check = ({ type, name, enforced }, { requests, limits }) => {
  const rule = `${name} max limit to request ratio per ${type} is ${enforced}`;
  const [request, limit] = [requests[name], limits[name]];
  if (isZeroQuantity(request)) return `${rule}, but no request is specified or request is 0`;
  if (isZeroQuantity(limit)) return `${rule}, but no limit is specified or limit is 0`;
  const ratio = milliValue(limit) / milliValue(request);
  return ratio * 1000 > milliValue(enforced) ? `${rule}, but provided ratio is ${ratio.toFixed(6)}` : undefined;
};

/** The sums of the resources that all containers list, in decimal units. Mirrors sum. */
function sumOfShared(lists: readonly ResourceList[]): Record<string, string> {
  const sum = new Map<string, number>();
  for (const list of lists) addTo(sum, resourceFrom(list));
  const shared = [...sum].filter(([name]) => lists.every((list) => list[name] !== undefined));
  return Object.fromEntries(
    shared.map(([name, amount]) => [name, canonicalQuantity(name === "cpu" ? `${amount}m` : amount) ?? "0"]),
  );
}
