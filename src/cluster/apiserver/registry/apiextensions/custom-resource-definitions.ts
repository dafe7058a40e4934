import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import { sameJson } from "../../../../staging/apimachinery/same-json.js";
import type { Strategy } from "../rest/definition.js";
import { row, statusOf } from "../rest/rows.js";
import type { StoreHooks } from "../rest/store-hooks.js";
import { withCondition } from "./conditions.js";
import { hasRules } from "./schema/structural.js";
import { CLEANUP_FINALIZER, type Definition } from "./types.js";

type Validation = typeof import("./definition/validate.js");

/** The rules for definitions, loaded with the first one: most clusters have none. */
let validation: Validation | undefined;

type Language = typeof import("./cel/rules.js");

/** The language of rules, loaded with the first definition that has some. */
let language: Language | undefined;

async function loadValidation(definition: KubeObject): Promise<void> {
  validation ??= await import("./definition/validate.js");
  if (hasRules(definition as Definition)) language ??= await import("./cel/rules.js");
}

/** Adds the storage version to those in which objects were ever stored. */
function withStoredVersion(definition: Definition): Definition {
  const storedVersions = definition.status?.storedVersions ?? [];
  const storage = definition.spec.versions.find((version) => version.storage)?.name;
  if (storage === undefined || storedVersions.includes(storage)) return definition;
  return { ...definition, status: { ...definition.status, storedVersions: [...storedVersions, storage] } };
}

function withGeneration(definition: Definition, generation: number): KubeObject {
  return { ...definition, metadata: { ...definition.metadata, generation } };
}

/** Fields that each answer has. */
const NO_STATUS = { conditions: null, acceptedNames: { plural: "", kind: "" }, storedVersions: [] };

/** Mirrors k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition/strategy.go. */
const STRATEGY: Strategy = {
  prepareForCreate(object) {
    const created = { ...object, status: NO_STATUS } as unknown as Definition;
    return withGeneration(withStoredVersion(created), 1);
  },
  validate: (object) => validation?.validateDefinition(object as Definition, language?.validateRules) ?? [],
  prepareForUpdate(object, old) {
    const updated = withStoredVersion({ ...object, status: (old as Definition).status } as Definition);
    if (sameJson(updated.spec, (old as Definition).spec)) return updated;
    return withGeneration(updated, (old.metadata.generation ?? 0) + 1);
  },
  validateUpdate: (object, old) =>
    validation?.validateDefinitionUpdate(object as Definition, old as Definition, language?.validateRules) ?? [],
  // The first DELETE only marks a definition: its objects go first. Mirrors REST.Delete in etcd.go.
  hasOwnFinalizers: ({ metadata: { deletionTimestamp, finalizers = [] } }) =>
    deletionTimestamp === undefined || finalizers.includes(CLEANUP_FINALIZER),
  prepareForDelete(object, { nowMs }) {
    const { finalizers = [] } = object.metadata;
    const all = finalizers.includes(CLEANUP_FINALIZER) ? finalizers : [...finalizers, CLEANUP_FINALIZER];
    const marked = { ...object, metadata: { ...object.metadata, finalizers: all } } as Definition;
    return withCondition(marked, MARKED, nowMs);
  },
};

const MARKED = {
  type: "Terminating",
  status: "True",
  reason: "InstanceDeletionPending",
  message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
};

/** Before validation, because that is synchronous. */
const HOOKS: StoreHooks = {
  async beginCreate(object) {
    await loadValidation(object);
    return { object, finish: async () => {} };
  },
  async beginUpdate(object) {
    await loadValidation(object);
    return { object, finish: async () => {} };
  },
  afterDelete: async () => {},
};

/** The kinds that users add. `controller/` serves them. */
export const CUSTOM_RESOURCE_DEFINITIONS = row(
  "apiextensions.k8s.io/v1",
  "CustomResourceDefinition",
  "customresourcedefinitions",
  STRATEGY,
  {
    namespaced: false,
    shortNames: ["crd", "crds"],
    categories: ["api-extensions"],
    subresources: [statusOf()],
    createHooks: () => HOOKS,
  },
);
