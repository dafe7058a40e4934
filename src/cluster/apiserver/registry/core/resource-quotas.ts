import type { V1ResourceQuota, V1ResourceQuotaSpec, V1ScopeSelector } from "@kubernetes/client-node";
import { nameOf } from "../../../../staging/apimachinery/api/objects.js";
import {
  isScopeValidForResource,
  isStandardQuotaResource,
  isStandardScope,
} from "../../../../staging/apimachinery/corev1/resource-names.js";
import type { FieldError } from "../../../../staging/apimachinery/errors.js";
import type { ResourceList } from "../../../../staging/apimachinery/quantity.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import { AGE_COLUMN, ageOf, column, NAME_COLUMN } from "../rest/cells.js";
import { type GoText, goValue, IMMUTABLE, invalidValue, required } from "../rest/field-errors.js";
import { row, statusOf } from "../rest/rows.js";
import { specAndStatus } from "../rest/stored.js";
import { validateQuotaAmount } from "./resource-list-validation.js";

type Quota = Wire<V1ResourceQuota>;
type Spec = Wire<V1ResourceQuotaSpec>;

/** A pod cannot have both scopes. */
const CONFLICTING = [
  ["BestEffort", "NotBestEffort"],
  ["Terminating", "NotTerminating"],
] as const;

function validateAmounts(list: ResourceList | undefined, field: string): FieldError[] {
  return Object.entries(list ?? {}).flatMap(([name, amount]) =>
    validateQuotaAmount(name, String(amount), `${field}[${name}]`),
  );
}

/** Mirrors ValidateResourceQuotaSpec in pkg/apis/core/validation/validation.go. */
function validateSpec(spec: Spec = {}): FieldError[] {
  return [
    ...validateAmounts(spec.hard, "spec.hard"),
    ...validateScopes(spec),
    ...validateScopeSelector(spec, "spec.scopeSelector.matchExpressions"),
  ];
}

/** Mirrors validateResourceQuotaScopes. */
function validateScopes(spec: Spec): FieldError[] {
  const scopes = spec.scopes ?? [];
  const shown = goScopes(scopes);
  const refuse = (why: string) => invalidValue("spec.scopes", shown, why);
  const errors = scopes.flatMap((scope) => [
    ...(isStandardScope(scope) ? [] : [refuse("unsupported scope")]),
    ...resourcesOutside(spec, scope).map(() => refuse("unsupported scope applied to resource")),
  ]);
  return [...errors, ...conflicts(scopes).map(() => refuse("conflicting scopes"))];
}

/** Mirrors validateScopedResourceSelectorRequirement. */
function validateScopeSelector(spec: Spec, field: string): FieldError[] {
  const { scopeSelector } = spec;
  if (!scopeSelector) return [];
  const requirements = scopeSelector.matchExpressions ?? [];
  const errors = requirements.flatMap((requirement) => {
    const { scopeName } = requirement;
    const unsupported = invalidValue(field, goSelector(scopeSelector), "unsupported scope applied to resource");
    return [
      ...(isStandardScope(scopeName) ? [] : [invalidValue(`${field}.scopeName`, scopeName, "unsupported scope")]),
      ...resourcesOutside(spec, scopeName).map(() => unsupported),
      ...validateOperator(requirement, field),
    ];
  });
  const pairs = conflicts(requirements.map(({ scopeName }) => scopeName));
  return [...errors, ...pairs.map(() => invalidValue(field, goScopes(spec.scopes ?? []), "conflicting scopes"))];
}

type Requirement = NonNullable<NonNullable<Wire<V1ScopeSelector>["matchExpressions"]>[number]>;

function validateOperator({ scopeName, operator, values }: Requirement, field: string): FieldError[] {
  const errors: FieldError[] = [];
  if (isStandardScope(scopeName) && scopeName !== "PriorityClass" && operator !== "Exists") {
    const why =
      "must be 'Exist' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";
    errors.push(invalidValue(`${field}.operator`, operator, why));
  }
  const count = values?.length ?? 0;
  if (operator === "In" || operator === "NotIn") {
    const why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
    if (count === 0) errors.push(required(`${field}.values`, why));
  } else if (operator === "Exists" || operator === "DoesNotExist") {
    const why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
    if (count > 0) errors.push(invalidValue(`${field}.values`, goStrings("string", values ?? []), why));
  } else errors.push(invalidValue(`${field}.operator`, operator ?? "", "not a valid selector operator"));
  return errors;
}

/** The limited resources that no pod of the scope uses. */
function resourcesOutside({ hard = {} }: Spec, scope: string): string[] {
  const isOutside = (name: string) => isStandardQuotaResource(name) && !isScopeValidForResource(scope, name);
  return Object.keys(hard).sort().filter(isOutside);
}

function conflicts(scopes: readonly string[]) {
  return CONFLICTING.filter((pair) => pair.every((scope) => scopes.includes(scope)));
}

function goStrings(type: string, list: readonly string[]): GoText {
  return goValue(`[]${type}{${list.map((one) => JSON.stringify(one)).join(", ")}}`);
}

function goScopes(scopes: readonly string[]): GoText {
  return scopes.length === 0 ? goValue("[]core.ResourceQuotaScope(nil)") : goStrings("core.ResourceQuotaScope", scopes);
}

function goSelector({ matchExpressions }: Wire<V1ScopeSelector>): GoText {
  const type = "core.ScopedResourceSelectorRequirement";
  const shown = (matchExpressions ?? []).map(({ scopeName, operator, values }) => {
    const list = values ? goStrings("string", values).text : "[]string(nil)";
    return `${type}{ScopeName:${JSON.stringify(scopeName)}, Operator:${JSON.stringify(operator)}, Values:${list}}`;
  });
  return goValue(`core.ScopeSelector{MatchExpressions:[]${type}{${shown.join(", ")}}}`);
}

/** Mirrors ValidateResourceQuotaUpdate. */
function validateUpdate(quota: Quota, old: Quota): FieldError[] {
  const errors = validateSpec(quota.spec);
  const before = new Set(old.spec?.scopes);
  const scopes = quota.spec?.scopes ?? [];
  const isSame = new Set(scopes).size === before.size && scopes.every((scope) => before.has(scope));
  return isSame ? errors : [...errors, invalidValue("spec.scopes", goScopes(scopes), IMMUTABLE)];
}

/** Mirrors ValidateResourceQuotaStatusUpdate. */
function validateStatus({ status }: Quota): FieldError[] {
  return [...validateAmounts(status?.hard, "status.hard"), ...validateAmounts(status?.used, "status.used")];
}

/** `pods: 1/10, secrets: 2/5`, in two cells: requests and limits. Mirrors printResourceQuota. */
function quotaCells({ status }: Quota): [string, string] {
  const { hard = {}, used = {} } = status ?? {};
  const requests: string[] = [];
  const limits: string[] = [];
  for (const name of Object.keys(hard).sort()) {
    const line = `${name}: ${used[name] ?? 0}/${hard[name]}`;
    (name.startsWith("limits.") ? limits : requests).push(line);
  }
  return [requests.join(", "), limits.join(", ")];
}

/** How much of each resource the objects of a namespace may use together. */
export const RESOURCE_QUOTAS = row(
  "v1",
  "ResourceQuota",
  "resourcequotas",
  specAndStatus({
    freshStatus: () => ({}),
    strategy: { validate: (quota: Quota) => validateSpec(quota.spec), validateUpdate },
  }),
  {
    shortNames: ["quota"],
    deleteReturnsObject: true,
    subresources: [
      statusOf({
        prepareForUpdate: (quota, old) => ({ ...quota, spec: old.spec }),
        validateUpdate: (quota) => validateStatus(quota),
      }),
    ],
    table: {
      columns: [
        NAME_COLUMN,
        AGE_COLUMN,
        column("Request", "Used and allowed amounts, except limits."),
        column("Limit", "Used and allowed amounts of limits."),
      ],
      cells: (quota: Quota, nowMs) => [nameOf(quota), ageOf(quota, nowMs), ...quotaCells(quota)],
    },
  },
);
