import { admissionForbidden } from "../../../../staging/server/admission/errors.js";
import type { AdmissionAttributes } from "../../../../staging/server/admission/interfaces.js";
import { type Evaluator, matchesQuota, type ResourceQuota } from "../../../../staging/server/quota/evaluator.js";
import {
  type Amounts,
  addAmounts,
  exceededIn,
  maskAmounts,
  negativeIn,
  removeZeros,
  subtractAmounts,
} from "../../../../staging/server/quota/resources.js";

/** What one write adds to the usage of a quota. */
export interface Charge {
  readonly quota: ResourceQuota;
  readonly requested: Amounts;
  /** the usage with it */
  readonly used: Amounts;
}

/**
 * Decides whether a write fits into all quotas of its namespace. Pure.
 *
 * Mirrors CheckRequest in k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go.
 * Differs: no resources are limited by default, which upstream's configuration can request.
 * @returns one charge for each quota whose usage changes
 * @throws StatusError 403
 */
export function checkRequest(
  quotas: readonly ResourceQuota[],
  attributes: AdmissionAttributes,
  evaluator: Evaluator,
): readonly Charge[] {
  const matching = matchingQuotas(quotas, attributes, evaluator);
  const delta = matching.length === 0 ? {} : deltaUsage(attributes, evaluator);
  if (Object.keys(delta).length === 0) return [];
  return matching.flatMap((quota) => {
    const { hard = {}, used = {} } = quota.status ?? {};
    const requested = maskAmounts(delta, Object.keys(hard));
    if (Object.keys(requested).length === 0) return [];
    const usage = addAmounts(used, requested);
    const exceeded = exceededIn(maskAmounts(usage, Object.keys(requested)), hard);
    if (exceeded.length === 0) return [{ quota, requested, used: usage }];
    const shown = (amounts: Amounts) => prettyPrint(maskAmounts(amounts, exceeded));
    const numbers = `requested: ${shown(requested)}, used: ${shown(used)}, limited: ${shown(hard)}`;
    throw admissionForbidden(attributes, `exceeded quota: ${nameOf(quota)}, ${numbers}`);
  });
}

/** The quotas that limit something that the object uses. @throws StatusError 403 when the object must specify more, or no usage is known yet */
function matchingQuotas(
  quotas: readonly ResourceQuota[],
  attributes: AdmissionAttributes,
  evaluator: Evaluator,
): readonly ResourceQuota[] {
  const { object } = attributes;
  if (object === undefined) return [];
  return quotas.filter((quota) => {
    if (!matchesQuota(evaluator, quota, object)) return false;
    const { hard = {}, used = {} } = quota.status ?? {};
    const limited = evaluator.matchingResources(Object.keys(hard));
    const missing = evaluator.missing(limited, object);
    if (missing !== undefined) throw admissionForbidden(attributes, `failed quota: ${nameOf(quota)}: ${missing}`);
    if (limited.every((name) => used[name] !== undefined)) return true;
    const why = `status unknown for quota: ${nameOf(quota)}, resources: ${[...limited].sort().join(",")}`;
    throw admissionForbidden(attributes, why);
  });
}

/** What the object uses; for an update, what it uses more than before. */
function deltaUsage(attributes: AdmissionAttributes, evaluator: Evaluator): Amounts {
  const { object, oldObject, operation } = attributes;
  if (object === undefined) return {};
  const usage = evaluator.usage(object);
  const negative = negativeIn(usage);
  if (negative.length > 0) {
    throw admissionForbidden(attributes, `quota usage is negative for resource(s): ${negative.sort().join(",")}`);
  }
  const isUpdate = operation === "UPDATE" && oldObject !== undefined;
  return removeZeros(isUpdate ? subtractAmounts(usage, evaluator.usage(oldObject)) : usage);
}

/** `cpu=1,pods=3` */
function prettyPrint(amounts: Amounts): string {
  return Object.keys(amounts)
    .sort()
    .map((name) => `${name}=${amounts[name]}`)
    .join(",");
}

function nameOf({ metadata }: ResourceQuota): string {
  return metadata.name ?? "";
}
