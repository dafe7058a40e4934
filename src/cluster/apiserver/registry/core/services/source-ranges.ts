import { isIP } from "node:net";
import type { Service } from "../../../../../staging/apimachinery/api/objects.js";
import type { FieldError } from "../../../../../staging/apimachinery/errors.js";
import { forbidden, goValue, invalidValue } from "../../rest/field-errors.js";

const ANNOTATION = "service.beta.kubernetes.io/load-balancer-source-ranges";

/**
 * The field has precedence over the annotation.
 * Mirrors the part of ValidateService in pkg/apis/core/validation/validation.go, and GetLoadBalancerSourceRanges in
 * pkg/api/service/util.go.
 */
export function validateSourceRanges({ metadata, spec = {} }: Service): FieldError[] {
  const list = spec.loadBalancerSourceRanges ?? [];
  const annotation = metadata.annotations?.[ANNOTATION];
  if (list.length === 0 && annotation === undefined) return [];
  const field = list.length > 0 ? "spec.LoadBalancerSourceRanges" : `metadata.annotations[${ANNOTATION}]`;
  const value = list.length > 0 ? `[${list.join(" ")}]` : (annotation ?? "");
  const ranges = list.length > 0 ? list : splitAnnotation(annotation ?? "");
  const errors: FieldError[] = [];
  if (spec.type !== "LoadBalancer") {
    errors.push(forbidden(field, "may only be used when `type` is 'LoadBalancer'"));
  }
  if (!ranges.every((range) => isCidr(range.trim()))) {
    const why = "must be a list of IP ranges. For example, 10.240.0.0/24,10.250.0.0/24 ";
    errors.push(invalidValue(field, goValue(JSON.stringify(value)), why));
  }
  return errors;
}

function splitAnnotation(annotation: string): string[] {
  return annotation.trim() === "" ? [] : annotation.split(",");
}

function isCidr(text: string): boolean {
  const [address = "", bits, ...rest] = text.split("/");
  const family = isIP(address);
  if (family === 0 || bits === undefined || rest.length > 0 || !/^\d{1,3}$/.test(bits)) return false;
  return Number(bits) <= (family === 4 ? 32 : 128);
}
