import type { V1Namespace } from "@kubernetes/client-node";
import { isDns1123Label, isQualifiedName } from "../../../../staging/apimachinery/api/names.js";
import { nameOf } from "../../../../staging/apimachinery/api/objects.js";
import type { FieldError } from "../../../../staging/apimachinery/errors.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import { AGE_COLUMN, ageOf, column, NAME_COLUMN } from "../rest/cells.js";
import type { Strategy } from "../rest/definition.js";
import { invalidValue } from "../rest/field-errors.js";
import { row, statusOf } from "../rest/rows.js";

/** The namespace controller removes this finalizer when the namespace is empty. */
const NAMESPACE_FINALIZER = "kubernetes";
const NAME_LABEL = "kubernetes.io/metadata.name";

/** Mirrors SetDefaults_Namespace and namespaceStrategy.Canonicalize: every namespace gets a label with its name. */
function withNameLabel(namespace: Wire<V1Namespace>): Wire<V1Namespace> {
  const { name, labels } = namespace.metadata;
  if (name === undefined || labels?.[NAME_LABEL] === name) return namespace;
  return { ...namespace, metadata: { ...namespace.metadata, labels: { ...labels, [NAME_LABEL]: name } } };
}

function phaseOf(namespace: Wire<V1Namespace>): string {
  return namespace.status?.phase ?? "";
}

function finalizersOf(namespace: Wire<V1Namespace>): readonly string[] {
  return namespace.spec?.finalizers ?? [];
}

/** Mirrors pkg/registry/core/namespace/strategy.go (namespaceStrategy). */
const strategy: Strategy = {
  validateName: isDns1123Label,
  allowUnconditionalUpdate: true,
  prepareForCreate(namespace: Wire<V1Namespace>) {
    const finalizers = finalizersOf(namespace);
    return {
      ...withNameLabel(namespace),
      spec: {
        ...namespace.spec,
        finalizers: finalizers.includes(NAMESPACE_FINALIZER) ? finalizers : [...finalizers, NAMESPACE_FINALIZER],
      },
      status: { phase: "Active" },
    };
  },
  prepareForUpdate(namespace: Wire<V1Namespace>, old: Wire<V1Namespace>) {
    return {
      ...withNameLabel(namespace),
      spec: { ...namespace.spec, finalizers: finalizersOf(old) },
      status: old.status,
    };
  },
  prepareForDelete(namespace: Wire<V1Namespace>) {
    return { ...namespace, status: { ...namespace.status, phase: "Terminating" } };
  },
  hasOwnFinalizers: (namespace) => finalizersOf(namespace).length > 0,
};

/** Mirrors ValidateNamespaceStatusUpdate in pkg/apis/core/validation/validation.go. */
function validateStatusUpdate(namespace: Wire<V1Namespace>): FieldError[] {
  const phase = phaseOf(namespace);
  if (namespace.metadata.deletionTimestamp === undefined) {
    if (phase === "Active") return [];
    return [invalidValue("status.Phase", phase, "may only be 'Active' if `deletionTimestamp` is empty")];
  }
  if (phase === "Terminating") return [];
  return [invalidValue("status.Phase", phase, "may only be 'Terminating' if `deletionTimestamp` is not empty")];
}

/** Mirrors ValidateNamespaceFinalizeUpdate and validateFinalizerName. */
function validateFinalizeUpdate(namespace: Wire<V1Namespace>): FieldError[] {
  return finalizersOf(namespace).flatMap((name, index) => {
    const field = `spec.finalizers[${index}]`;
    const messages = isQualifiedName(name);
    if (messages.length > 0) return messages.map((message) => invalidValue(field, name, message));
    if (name.includes("/") || name === NAMESPACE_FINALIZER) return [];
    return [invalidValue(field, name, "name is neither a standard finalizer name nor is it fully qualified")];
  });
}

export const NAMESPACES = row("v1", "Namespace", "namespaces", strategy, {
  namespaced: false,
  shortNames: ["ns"],
  verbs: ["create", "delete", "get", "list", "patch", "update", "watch"],
  deleteReturnsObject: true,
  subresources: [
    {
      name: "finalize",
      verbs: ["update"],
      strategy: {
        prepareForUpdate: (namespace, old) => ({ ...namespace, status: old.status }),
        validateUpdate: validateFinalizeUpdate,
      },
    },
    statusOf({
      prepareForUpdate: (namespace, old) => ({ ...namespace, spec: old.spec }),
      validateUpdate: validateStatusUpdate,
    }),
  ],
  selectableFields: (namespace: Wire<V1Namespace>) => ({ "status.phase": phaseOf(namespace), name: nameOf(namespace) }),
  table: {
    columns: [NAME_COLUMN, column("Status", "The status of the namespace"), AGE_COLUMN],
    cells: (namespace: Wire<V1Namespace>, nowMs) => [nameOf(namespace), phaseOf(namespace), ageOf(namespace, nowMs)],
  },
});
