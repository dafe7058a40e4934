import { isIPv6 } from "node:net";
import type { Service } from "../../../../../staging/apimachinery/api/objects.js";
import type { FieldError } from "../../../../../staging/apimachinery/errors.js";
import { invalidValue } from "../../rest/field-errors.js";
import { validateClusterIps } from "./cluster-ip-validation.js";
import { CLUSTER_IP_NONE, goStrings, type ServiceDraft, sameList } from "./service.js";

/** The cluster's families. */
const FAMILY = "IPv4";
const OTHER_FAMILY = "IPv6";
const POLICY = "spec.ipFamilyPolicy";

/**
 * Sets ipFamilyPolicy and ipFamilies, and checks that the cluster can serve them.
 *
 * Mirrors initIPFamilyFields in pkg/registry/core/service/storage/alloc.go for a cluster with IPv4 only.
 * @returns errors; none: the fields of `draft` are complete
 */
export function initIpFamilies(draft: ServiceDraft, old: Service | undefined): FieldError[] {
  const { spec } = draft;
  if (spec.type === "ExternalName" || isMatchingPreferDualStack(draft, old)) return [];
  const isFree = spec.clusterIP === CLUSTER_IP_NONE && Object.keys(spec.selector ?? {}).length === 0;
  // A service without a controller for its endpoints may have endpoints of both families.
  spec.ipFamilyPolicy ??= old?.spec?.ipFamilyPolicy ?? (isFree ? "RequireDualStack" : "SingleStack");
  const problems = validateClusterIps(draft as Service);
  if (problems.length > 0) return problems;
  const errors = [...(old === undefined ? [] : downgrade(draft, old)), ...checkPolicy(draft), ...inferFamilies(draft)];
  if (errors.length > 0) return errors;
  const families = spec.ipFamilies ?? [];
  if (isFree) {
    if (families.length === 0) families.push(FAMILY);
    if (families.length < 2 && spec.ipFamilyPolicy !== "SingleStack") {
      families.push(families[0] === FAMILY ? OTHER_FAMILY : FAMILY);
    }
    spec.ipFamilies = families;
    return [];
  }
  if (spec.ipFamilyPolicy === "RequireDualStack") {
    const why = "this cluster is not configured for dual-stack services";
    errors.push(invalidValue(POLICY, spec.ipFamilyPolicy, why));
  }
  families.forEach((family, index) => {
    if (family !== FAMILY) {
      errors.push(invalidValue(`spec.ipFamilies[${index}]`, family, "not configured on this cluster"));
    }
  });
  if (errors.length === 0) spec.ipFamilies = families.length === 0 ? [FAMILY] : families;
  return errors;
}

/** An update that keeps a preference changes nothing. Mirrors isMatchingPreferDualStackClusterIPFields. */
function isMatchingPreferDualStack({ spec }: ServiceDraft, old: Service | undefined): boolean {
  if (old?.spec === undefined || old.spec.type !== spec.type) return false;
  if (
    spec.ipFamilyPolicy !== "PreferDualStack" ||
    (old.spec.ipFamilyPolicy ?? "PreferDualStack") !== "PreferDualStack"
  ) {
    return false;
  }
  return sameList(old.spec.clusterIPs, spec.clusterIPs) && sameList(old.spec.ipFamilies, spec.ipFamilies);
}

/** SingleStack gives up the second address and family; with another policy they cannot be left out. */
function downgrade({ spec }: ServiceDraft, old: Service): FieldError[] {
  const [ips, families] = [old.spec?.clusterIPs ?? [], old.spec?.ipFamilies ?? []];
  if (spec.ipFamilyPolicy === "SingleStack") {
    if (sameList(ips, spec.clusterIPs)) spec.clusterIPs = spec.clusterIPs?.slice(0, 1) ?? [];
    if (sameList(families, spec.ipFamilies)) spec.ipFamilies = spec.ipFamilies?.slice(0, 1) ?? [];
    return [];
  }
  const isReduced = (after: readonly string[] | undefined, before: readonly string[]) =>
    after !== undefined && after.length > 0 && after.length < before.length;
  const error = (what: string) =>
    invalidValue(POLICY, spec.ipFamilyPolicy, `must be 'SingleStack' to release the secondary ${what}`);
  return [
    ...(isReduced(spec.clusterIPs, ips) ? [error("cluster IP")] : []),
    ...(isReduced(spec.ipFamilies, families) ? [error("IP family")] : []),
  ];
}

function checkPolicy({ spec }: ServiceDraft): FieldError[] {
  if (spec.ipFamilyPolicy !== "SingleStack") return [];
  const error = (what: string) => {
    const why = `must be 'RequireDualStack' or 'PreferDualStack' when multiple ${what} are specified`;
    return invalidValue(POLICY, spec.ipFamilyPolicy, why);
  };
  return [
    ...(spec.clusterIPs?.length === 2 ? [error("cluster IPs")] : []),
    ...(spec.ipFamilies?.length === 2 ? [error("IP families")] : []),
  ];
}

/** The family of an address whose family is not given. */
function inferFamilies({ spec }: ServiceDraft): FieldError[] {
  const errors: FieldError[] = [];
  const families = spec.ipFamilies ?? [];
  for (const [index, ip] of (spec.clusterIPs ?? []).entries()) {
    if (ip === CLUSTER_IP_NONE) break;
    if (index < families.length) continue;
    const family = isIPv6(ip) ? OTHER_FAMILY : FAMILY;
    if (family === FAMILY) families.push(family);
    else {
      const why = `${family} is not configured on this cluster`;
      errors.push(invalidValue(`spec.clusterIPs[${index}]`, goStrings(spec.clusterIPs), why));
    }
  }
  if (families.length > 0) spec.ipFamilies = families;
  return errors;
}
