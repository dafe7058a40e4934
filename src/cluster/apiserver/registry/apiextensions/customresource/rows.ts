import type { KubeObject } from "../../../../../staging/apimachinery/api/meta.js";
import { groupVersion } from "../../../../../staging/apimachinery/api/resource.js";
import { internalError, statusError } from "../../../../../staging/apimachinery/errors.js";
import { addToScheme } from "../../../../../staging/apimachinery/scheme/catalogue.js";
import { compileJsonPath } from "../../../../../staging/client-go/jsonpath/jsonpath.js";
import { defined } from "../../../../../util/defined.js";
import { isSet } from "../../../../../util/records.js";
import { isAtLeast } from "../../../../../util/release/facts.js";
import type { ResourceDefinition, SubresourceDefinition } from "../../rest/definition.js";
import { row, SCALE, statusOf } from "../../rest/rows.js";
import type { StoreHooks } from "../../rest/store-hooks.js";
import { conditionOf, isTrue } from "../conditions.js";
import { prune } from "../schema/prune.js";
import type { Definition, DefinitionSpec, DefinitionVersion, JsonSchema } from "../types.js";
import { CustomDecoder } from "./decoder.js";
import { customScale } from "./scale.js";
import { type CustomVersion, customStatusStrategy, customStrategy, type ValidateRules } from "./strategy.js";
import { customTable } from "./table.js";

/** What all custom kinds have in common: owners and finalizers are merged as those of other kinds. */
const COMMON = "PartialObjectMetadata";
addToScheme({
  package: "io.k8s.apimachinery.pkg.apis.meta.v1",
  types: { [COMMON]: { TypeMeta: "inline", metadata: "1 ObjectMeta" } },
});

/** In upstream's order. Mirrors customresource_discovery_controller.go. */
const VERBS = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];

/** Makes the check of a schema's rules; undefined if it has none. */
export type RulesOf = (schema: JsonSchema) => ValidateRules | undefined;

export interface RowsOptions {
  readonly rulesOf: RulesOf;
  /** `1.25` */
  readonly kubeVersion: string;
}

/**
 * The rows of a definition: the storage version, which has the objects, and a view of it for each other version.
 *
 * Mirrors getOrCreateServingInfoFor in k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go.
 */
export function customRows(definition: Definition, options: RowsOptions): readonly ResourceDefinition[] {
  const { spec } = definition;
  const conversion = new Conversion(spec);
  const served = spec.versions.filter((one) => one.served || one.storage);
  return served.map((version) => versionRow(definition, version, conversion, options));
}

function versionRow(
  definition: Definition,
  version: DefinitionVersion,
  conversion: Conversion,
  { rulesOf, kubeVersion }: RowsOptions,
): ResourceDefinition {
  const { spec, status } = definition;
  const { group } = spec;
  const { plural, singular, kind, listKind, shortNames, categories } = status?.acceptedNames ?? spec.names;
  const { status: statusPaths, scale } = version.subresources ?? {};
  const decoder = conversion.decoderOf(version.name);
  const { schema } = decoder;
  const hasStatus = statusPaths !== undefined;
  const custom: CustomVersion = {
    group,
    version: version.name,
    kind,
    schema,
    hasStatus,
    scale,
    rules: rulesOf(schema),
  };
  const subresources: SubresourceDefinition[] = [
    ...(hasStatus ? [statusOf(customStatusStrategy(custom))] : []),
    ...(scale === undefined ? [] : [SCALE]),
  ];
  const common = {
    singular: singular ?? "",
    namespaced: spec.scope === "Namespaced",
    verbs: VERBS,
    schema: COMMON,
    custom: decoder,
    subresources,
    table: customTable(version.additionalPrinterColumns),
    storageVersion: groupVersion({ group, version: conversion.storageVersion }),
    ...defined({
      shortNames,
      categories,
      listKind,
      scale: scale === undefined ? undefined : customScale(scale),
      deprecationWarning: warningOf(definition, version),
      isHidden: version.served ? undefined : true,
      createHooks: isTrue(definition, "Terminating") ? () => noCreation(group, plural) : undefined,
      selectableFields: isAtLeast(kubeVersion, "1.31") ? selectableFieldsOf(version) : undefined,
    }),
  };
  const here = groupVersion({ group, version: version.name });
  const form = version.storage
    ? { readStored: (stored: KubeObject) => conversion.read(stored, version.name) }
    : {
        storedAs: {
          resource: `${plural}.${group}`,
          fromStored: (stored: KubeObject) => conversion.read(stored, version.name),
          toStored: (object: KubeObject) => conversion.convert(object, conversion.storageVersion),
        },
      };
  return row(here, kind, plural, customStrategy(custom), { ...common, ...form });
}

/**
 * The conversion None: only the apiVersion changes, and what the other version does not know is dropped.
 * Differs: a conversion by webhook fails; objects in the version that is asked for need none.
 */
class Conversion {
  readonly storageVersion: string;
  readonly #decoders: ReadonlyMap<string, CustomDecoder>;

  constructor(readonly spec: DefinitionSpec) {
    this.storageVersion = spec.versions.find(({ storage }) => storage)?.name ?? "";
    const schemaOf = ({ schema }: DefinitionVersion) => schema?.openAPIV3Schema ?? KEEP_ALL;
    this.#decoders = new Map(spec.versions.map((one) => [one.name, new CustomDecoder(schemaOf(one))]));
  }

  decoderOf(version: string): CustomDecoder {
    return this.#decoders.get(version) ?? new CustomDecoder(KEEP_ALL);
  }

  /** A stored object, whichever version it was stored in, with the defaults of that version. */
  read(stored: KubeObject, version: string): KubeObject {
    const from = stored.apiVersion.slice(stored.apiVersion.indexOf("/") + 1);
    return this.convert(this.decoderOf(from).fromStored(stored), version);
  }

  convert(object: KubeObject, version: string): KubeObject {
    const { group, names, conversion } = this.spec;
    const apiVersion = groupVersion({ group, version });
    if (object.apiVersion === apiVersion) return object;
    if (conversion?.strategy === "Webhook") {
      const what = `conversion webhook for ${object.apiVersion}, Kind=${names.kind} failed`;
      throw internalError(`${what}: this embedded API server does not call conversion webhooks`);
    }
    return prune({ ...object, apiVersion }, this.decoderOf(version).schema, true) as KubeObject;
  }
}

/** For versions without a schema, which older servers stored. */
const KEEP_ALL: JsonSchema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

/** Mirrors serveResource: nothing is created while the objects are deleted. */
function noCreation(group: string, resource: string): StoreHooks {
  const refuse = () => {
    const message = "create not allowed while custom resource definition is terminating";
    return Promise.reject(statusError(405, "MethodNotAllowed", message, { group, kind: resource }));
  };
  return {
    beginCreate: refuse,
    beginUpdate: async (object) => ({ object, finish: async () => {} }),
    afterDelete: async () => {},
  };
}

/** Mirrors defaultDeprecationWarning. */
function warningOf({ spec }: Definition, version: DefinitionVersion): string | undefined {
  if (version.deprecated !== true) return undefined;
  if (version.deprecationWarning !== undefined) return version.deprecationWarning;
  const { group, names } = spec;
  const nameOf = (name: string) => `${group}/${name} ${names.kind}`;
  const current = spec.versions
    .filter(({ served, deprecated }) => served && deprecated !== true)
    .map(({ name }) => name)
    .filter((name) => isNewer(name, version.name));
  const best = current.reduce<string | undefined>((a, b) => (a === undefined || isNewer(b, a) ? b : a), undefined);
  const use = best === undefined ? "" : `; use ${nameOf(best)}`;
  return `${nameOf(version.name)} is deprecated${use}`;
}

/** Mirrors CompareKubeAwareVersionStrings in k8s.io/apimachinery/pkg/version. */
function isNewer(a: string, b: string): boolean {
  const partsOf = (name: string) => {
    const [, major = "0", stage, minor = "0"] = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(name) ?? [];
    return [stage === undefined ? 2 : stage === "beta" ? 1 : 0, Number(major), Number(minor)];
  };
  const [left, right] = [partsOf(a), partsOf(b)];
  const at = left.findIndex((value, i) => value !== right[i]);
  return at >= 0 && (left[at] ?? 0) > (right[at] ?? 0);
}

function selectableFieldsOf({ selectableFields = [] }: DefinitionVersion): ResourceDefinition["selectableFields"] {
  if (selectableFields.length === 0) return undefined;
  const fields = selectableFields.map(({ jsonPath }) => [jsonPath.slice(1), compileJsonPath(jsonPath)] as const);
  return (object) =>
    Object.fromEntries(
      fields.map(([name, find]) => {
        const value = find(object)[0];
        return [name, isSet(value) ? String(value) : ""];
      }),
    );
}

/** Whether the kind of a definition is served: its names are accepted, or were. */
export function isServed(definition: Definition): boolean {
  return isTrue(definition, "NamesAccepted") || conditionOf(definition, "Established")?.status === "True";
}
