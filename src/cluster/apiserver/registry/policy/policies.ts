import type { V1PodDisruptionBudget, V1PriorityClass, V1RuntimeClass } from "@kubernetes/client-node";
import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import { isDns1123Label } from "../../../../staging/apimachinery/api/names.js";
import { nameOf } from "../../../../staging/apimachinery/api/objects.js";
import type { FieldError } from "../../../../staging/apimachinery/errors.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import { isSet } from "../../../../util/records.js";
import { factFor } from "../../../../util/release/facts.js";
import { AGE_COLUMN, ageOf, column, NAME_COLUMN } from "../rest/cells.js";
import type { Strategy } from "../rest/definition.js";
import { forbidden, invalidValue, notSupported, required } from "../rest/field-errors.js";
import { row, statusOf } from "../rest/rows.js";
import { specAndStatus } from "../rest/stored.js";

/** Kinds that limit other objects: budgets, priorities, runtimes. */

/** Mirrors ValidatePodDisruptionBudgetSpec in pkg/apis/policy/validation/validation.go. */
function validateBudget({ spec }: Wire<V1PodDisruptionBudget>): FieldError[] {
  const { minAvailable, maxUnavailable, unhealthyPodEvictionPolicy: policy } = spec ?? {};
  if (isSet(minAvailable) && isSet(maxUnavailable)) {
    return [invalidValue("spec", "core.PodDisruptionBudgetSpec", "minAvailable and maxUnavailable cannot be both set")];
  }
  const isKnown = !isSet(policy) || EVICTION_POLICIES.includes(policy);
  const unknown = isKnown ? [] : [notSupported("spec.unhealthyPodEvictionPolicy", policy, EVICTION_POLICIES)];
  const amounts = Object.entries({ minAvailable, maxUnavailable }).flatMap(([name, value]) => {
    const field = `spec.${name}`;
    if (typeof value === "number" && value < 0) {
      return [invalidValue(field, value, "must be greater than or equal to 0")];
    }
    if (typeof value !== "string" || /^\d{1,3}%$/.test(value)) return [];
    return [
      invalidValue(
        field,
        value,
        "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
      ),
    ];
  });
  return [...amounts, ...unknown];
}

/** Drops the policy that older releases do not know. Mirrors dropDisabledFields in pkg/registry/policy/poddisruptionbudget/strategy.go. */
function dropDisabledFields(budget: KubeObject, kubeVersion: string): KubeObject {
  const { spec } = budget as Wire<V1PodDisruptionBudget>;
  const isKnown = factFor("pdbUnhealthyPodEvictionPolicy", kubeVersion);
  if (isKnown || spec?.unhealthyPodEvictionPolicy === undefined) return budget;
  const { unhealthyPodEvictionPolicy: _unknown, ...known } = spec;
  return { ...budget, spec: known };
}

const EVICTION_POLICIES = ["AlwaysAllow", "IfHealthyBudget"];

const NO_DISRUPTIONS = { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 };

export const POD_DISRUPTION_BUDGETS = row(
  "policy/v1",
  "PodDisruptionBudget",
  "poddisruptionbudgets",
  specAndStatus({
    counted: true,
    freshStatus: () => NO_DISRUPTIONS,
    strategy: {
      allowUnconditionalUpdate: false,
      prepareForCreate: (budget, { kubeVersion }) => dropDisabledFields(budget, kubeVersion),
      prepareForUpdate: (budget, _old, { kubeVersion }) => dropDisabledFields(budget, kubeVersion),
      validate: validateBudget,
      validateUpdate: validateBudget,
    },
  }),
  {
    shortNames: ["pdb"],
    subresources: [statusOf()],
    table: {
      columns: [
        NAME_COLUMN,
        column("Min Available", "The number of pods that must stay available."),
        column("Max Unavailable", "The number of pods that can be unavailable."),
        column("Allowed Disruptions", "The number of pods that can be evicted now.", { type: "integer" }),
        AGE_COLUMN,
      ],
      cells(budget: Wire<V1PodDisruptionBudget>, nowMs) {
        const { minAvailable, maxUnavailable } = budget.spec ?? {};
        const shown = (value: unknown): string => (isSet(value) ? String(value) : "N/A");
        const allowed = budget.status?.disruptionsAllowed ?? 0;
        return [nameOf(budget), shown(minAvailable), shown(maxUnavailable), allowed, ageOf(budget, nowMs)];
      },
    },
  },
);

const SYSTEM_PREFIX = "system-";
const HIGHEST_USER_PRIORITY = 1_000_000_000;
export const SYSTEM_PRIORITIES: Readonly<Record<string, number>> = {
  "system-cluster-critical": 2_000_000_000,
  "system-node-critical": 2_000_001_000,
};

/** Mirrors ValidatePriorityClass and ValidatePriorityClassUpdate in pkg/apis/scheduling/validation/validation.go. */
const priorityClassStrategy: Strategy = {
  allowUnconditionalUpdate: true,
  validate(priorityClass: Wire<V1PriorityClass>) {
    const name = nameOf(priorityClass);
    const { value = 0 } = priorityClass;
    if (name.startsWith(SYSTEM_PREFIX)) {
      if (SYSTEM_PRIORITIES[name] === value) return [];
      const why = "priority class names with 'system-' prefix are reserved for system use only";
      return [forbidden("metadata.name", why)];
    }
    if (value <= HIGHEST_USER_PRIORITY) return [];
    return [forbidden("value", `maximum allowed value of a user defined priority is ${HIGHEST_USER_PRIORITY}`)];
  },
  validateUpdate(priorityClass: Wire<V1PriorityClass>, old: Wire<V1PriorityClass>) {
    const errors: FieldError[] = [];
    if (priorityClass.value !== old.value) errors.push(forbidden("value", "may not be changed in an update."));
    const { preemptionPolicy = "" } = priorityClass;
    if (preemptionPolicy !== (old.preemptionPolicy ?? "")) {
      errors.push(invalidValue("preemptionPolicy", preemptionPolicy, "field is immutable"));
    }
    return errors;
  },
};

export const PRIORITY_CLASSES = row("scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", priorityClassStrategy, {
  namespaced: false,
  shortNames: ["pc"],
  table: {
    columns: [
      NAME_COLUMN,
      column("Value", "The priority that pods of this class get.", { type: "integer" }),
      column("Global-Default", "Whether this is the class of pods that name no class.", { type: "boolean" }),
      AGE_COLUMN,
    ],
    cells: (one: Wire<V1PriorityClass>, nowMs) => [
      nameOf(one),
      one.value ?? 0,
      one.globalDefault ?? false,
      ageOf(one, nowMs),
    ],
  },
});

/** Mirrors ValidateRuntimeClass and ValidateRuntimeClassUpdate in pkg/apis/node/validation/validation.go. */
const runtimeClassStrategy: Strategy = {
  allowUnconditionalUpdate: false,
  validate({ handler }: Wire<V1RuntimeClass>) {
    if (handler === "") return [required("handler")];
    return isDns1123Label(handler).map((one) => invalidValue("handler", handler, one));
  },
  validateUpdate({ handler }: Wire<V1RuntimeClass>, old: Wire<V1RuntimeClass>) {
    return handler === old.handler ? [] : [invalidValue("handler", handler, "field is immutable")];
  },
};

export const RUNTIME_CLASSES = row("node.k8s.io/v1", "RuntimeClass", "runtimeclasses", runtimeClassStrategy, {
  namespaced: false,
  table: {
    columns: [NAME_COLUMN, column("Handler", ""), AGE_COLUMN],
    cells: (runtimeClass: Wire<V1RuntimeClass>, nowMs) => [
      nameOf(runtimeClass),
      runtimeClass.handler,
      ageOf(runtimeClass, nowMs),
    ],
  },
});
