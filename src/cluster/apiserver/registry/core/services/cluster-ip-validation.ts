import { isIPv6 } from "node:net";
import { isValidIp } from "../../../../../staging/apimachinery/api/names.js";
import type { Service } from "../../../../../staging/apimachinery/api/objects.js";
import type { FieldError } from "../../../../../staging/apimachinery/errors.js";
import { duplicate, invalidValue, notSupported, required } from "../../rest/field-errors.js";
import { CLUSTER_IP_NONE, goStrings, isHeadless } from "./service.js";

const IPS = "spec.clusterIPs";
const FAMILIES = ["IPv4", "IPv6"];
const FAMILY_POLICIES = ["PreferDualStack", "RequireDualStack", "SingleStack"];
const UNCHANGEABLE = "may not change once set";

/** Mirrors ValidateServiceClusterIPsRelatedFields in pkg/apis/core/validation/validation.go. */
export function validateClusterIps(service: Service): FieldError[] {
  const { spec = {} } = service;
  if (spec.type === "ExternalName") return [];
  const ips = spec.clusterIPs ?? [];
  const list = goStrings(spec.clusterIPs);
  const errors = [...validatePair(service), ...validateFamilies(service)];
  let hasInvalid = false;
  ips.forEach((ip, index) => {
    if (index === 0 && ip === CLUSTER_IP_NONE) {
      if (ips.length === 1) return;
      hasInvalid = true;
      errors.push(invalidValue(IPS, list, "'None' must be the first and only value"));
      return;
    }
    const problems = isValidIp(ip);
    if (problems.length > 0) hasInvalid = true;
    errors.push(...problems.map((one) => invalidValue(`${IPS}[${index}]`, ip, one)));
  });
  if (ips.length > 2) errors.push(invalidValue(IPS, list, "may only hold up to 2 values"));
  if (hasInvalid) return errors;
  if (ips.length > 1 && new Set(ips.map(isIPv6)).size < 2) {
    errors.push(invalidValue(IPS, list, "may specify no more than one IP for each IP family"));
  }
  return isHeadless(service) ? errors : [...errors, ...validateMatch(service)];
}

/** clusterIP is the first of clusterIPs. */
function validatePair({ spec = {} }: Service): FieldError[] {
  const ips = spec.clusterIPs ?? [];
  const list = goStrings(spec.clusterIPs);
  if ((spec.clusterIP ?? "") === "") {
    return ips.length === 0 ? [] : [invalidValue(IPS, list, "must be empty when `clusterIP` is not specified")];
  }
  if (ips.length === 0) return [required(IPS)];
  return ips[0] === spec.clusterIP ? [] : [invalidValue(IPS, list, "first value must match `clusterIP`")];
}

function validateFamilies({ spec = {} }: Service): FieldError[] {
  const errors: FieldError[] = [];
  const families = spec.ipFamilies ?? [];
  families.forEach((family, index) => {
    const field = `spec.ipFamilies[${index}]`;
    if (!FAMILIES.includes(family)) errors.push(notSupported(field, family, FAMILIES));
    if (families.indexOf(family) < index) errors.push(duplicate(field, family));
  });
  const policy = spec.ipFamilyPolicy ?? undefined;
  if (policy !== undefined && !FAMILY_POLICIES.includes(policy)) {
    errors.push(notSupported("spec.ipFamilyPolicy", policy, FAMILY_POLICIES));
  }
  return errors;
}

/** Each address is of the family that stands in its place. */
function validateMatch({ spec = {} }: Service): FieldError[] {
  const families = spec.ipFamilies ?? [];
  return (spec.clusterIPs ?? []).flatMap((ip, index) => {
    const family = families[index];
    const expected = `expected an ${family} value as indicated by \`ipFamilies[${index}]\``;
    const isWrong = (family === "IPv4" && isIPv6(ip)) || (family === "IPv6" && !isIPv6(ip));
    return isWrong ? [invalidValue(`${IPS}[${index}]`, ip, expected)] : [];
  });
}

/** Mirrors validateUpgradeDowngradeClusterIPs in pkg/apis/core/validation/validation.go. */
export function validateClusterIpsUpdate(service: Service, old: Service): FieldError[] {
  if (service.spec?.type === "ExternalName" || old.spec?.type === "ExternalName") return [];
  if (isHeadless(service) && isHeadless(old)) return [];
  const [ips, before] = [service.spec?.clusterIPs ?? [], old.spec?.clusterIPs ?? []];
  const list = goStrings(service.spec?.clusterIPs);
  const first = `${IPS}[0]`;
  if (before.length === ips.length) {
    return before.flatMap((ip, index) =>
      ip === ips[index] ? [] : [invalidValue(`${IPS}[${index}]`, list, UNCHANGEABLE)],
    );
  }
  const errors: FieldError[] = [];
  if (ips.length === 0) errors.push(invalidValue(first, list, "primary clusterIP can not be unset"));
  else if (before.length > 0 && ips[0] !== before[0]) errors.push(invalidValue(first, list, UNCHANGEABLE));
  if (before.length > ips.length && ips.length === 1 && service.spec?.ipFamilyPolicy !== "SingleStack") {
    const why = "must be set to 'SingleStack' when releasing the secondary clusterIP";
    errors.push(invalidValue("spec.ipFamilyPolicy", service.spec?.ipFamilyPolicy, why));
  }
  return errors;
}

/** Mirrors validateUpgradeDowngradeIPFamilies in pkg/apis/core/validation/validation.go. */
export function validateIpFamiliesUpdate(service: Service, old: Service): FieldError[] {
  if (service.spec?.type === "ExternalName" || old.spec?.type === "ExternalName") return [];
  // Headless services may change their families.
  if (isHeadless(service) || isHeadless(old)) return [];
  const [families, before] = [service.spec?.ipFamilies ?? [], old.spec?.ipFamilies ?? []];
  const list = goStrings(service.spec?.ipFamilies, "core.IPFamily");
  const first = "spec.ipFamilies[0]";
  if (families.length === 0 && before.length > 0) {
    return [invalidValue(first, list, "primary ipFamily can not be unset")];
  }
  if (before.length === 0 || families[0] === before[0]) return [];
  return [invalidValue(first, list, UNCHANGEABLE)];
}
