import fieldTexts from "../../../../fixtures/scheme/field-texts.json" with { type: "json" };
import { jsonFields, typeSchema } from "../../../staging/apimachinery/scheme/catalogue.js";
import type { Field, FieldType, ScalarType, TypeSchema } from "../../../staging/apimachinery/scheme/schema.js";
import { groupOfPackage, versionOfPackage } from "../../../staging/apimachinery/scheme/scheme.js";

export interface Gvk {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** A JSON document under construction. */
export type OpenApiSchema = Readonly<Record<string, unknown>>;

const META_V1 = "io.k8s.apimachinery.pkg.apis.meta.v1";

/** Types that JSON writes as a single value; upstream has a definition for each. */
const NAMED_SCALARS: Partial<Record<ScalarType, { readonly name: string; readonly schema: OpenApiSchema }>> = {
  time: {
    name: `${META_V1}.Time`,
    schema: { description: "A time: RFC 3339 in whole seconds.", type: "string", format: "date-time" },
  },
  microtime: {
    name: `${META_V1}.MicroTime`,
    schema: { description: "A time: RFC 3339 with six decimals.", type: "string", format: "date-time" },
  },
  quantity: quantityDefinition(),
  resourceQuantity: quantityDefinition(),
  intOrString: {
    name: "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
    schema: { description: "A number, or a text.", type: "string", format: "int-or-string" },
  },
  any: {
    name: "io.k8s.apimachinery.pkg.runtime.RawExtension",
    schema: { description: "Any JSON object.", type: "object" },
  },
};

function quantityDefinition() {
  return {
    name: "io.k8s.apimachinery.pkg.api.resource.Quantity",
    schema: { description: "A number with a unit: 100m, 2, 4Gi.", type: "string" },
  };
}

const FORMATS: Partial<Record<ScalarType, OpenApiSchema>> = {
  string: { type: "string" },
  boolean: { type: "boolean" },
  int32: { type: "integer", format: "int32" },
  int64: { type: "integer", format: "int64" },
  double: { type: "number", format: "double" },
  bytes: { type: "string", format: "byte" },
};

/** `io.k8s.api.core.v1.Pod` */
function definitionName({ package: packageName, goName }: TypeSchema): string {
  return `${packageName}.${goName}`;
}

export function reference(name: string): OpenApiSchema {
  return { $ref: `#/components/schemas/${name}` };
}

/** Collects the definitions of kinds and of all the types they refer to. */
export class Definitions {
  readonly #schemas = new Map<string, OpenApiSchema>();

  /** Sorted by name. */
  all(): Record<string, OpenApiSchema> {
    return Object.fromEntries([...this.#schemas].sort(([left], [right]) => (left < right ? -1 : 1)));
  }

  /** @param type name in the type tables @returns the definition's name */
  addType(type: string): string {
    const schema = typeSchema(type);
    const name = definitionName(schema);
    if (this.#schemas.has(name)) return name;
    this.#schemas.set(name, {}); // reserves the name, in case a type contains itself
    const fields = jsonFields(type);
    const description = typeDescription(schema);
    const required = fields.filter((field) => field.required).map((field) => field.name);
    this.#schemas.set(name, {
      ...(description === undefined ? {} : { description }),
      type: "object",
      ...(required.length === 0 ? {} : { required }),
      properties: Object.fromEntries(sortedByName(fields).map((field) => [field.name, this.#property(field)])),
      ...(schema.isKind ? { "x-kubernetes-group-version-kind": [gvkOf(schema)] } : {}),
    });
    return name;
  }

  /** `PodList` for `Pod`. */
  addList(type: string): string {
    const schema = typeSchema(type);
    const gvk = gvkOf(schema);
    return this.addListOf(this.addType(type), { ...gvk, listKind: `${gvk.kind}List` });
  }

  /** @param itemName the definition of the items */
  addListOf(itemName: string, { listKind, kind, ...groupVersion }: Gvk & { readonly listKind: string }): string {
    const name = `${itemName.slice(0, itemName.lastIndexOf("."))}.${listKind}`;
    this.#schemas.set(name, {
      description: `A list of ${kind} objects.`,
      type: "object",
      required: ["items"],
      properties: {
        apiVersion: { description: "The group and version.", type: "string" },
        items: { description: "The objects.", type: "array", items: { default: {}, allOf: [reference(itemName)] } },
        kind: { description: `${listKind}.`, type: "string" },
        metadata: {
          description: "The revision of the list.",
          default: {},
          allOf: [reference(this.addType("ListMeta"))],
        },
      },
      "x-kubernetes-group-version-kind": [{ ...groupVersion, kind: listKind }],
    });
    return name;
  }

  /**
   * The schema of a custom kind, with the fields that all kinds have.
   * Mirrors buildKubeNative in k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder/builder.go.
   */
  addCustom({ group, version, kind, custom }: Gvk & { readonly custom?: { readonly schema: object } }): string {
    const name = `${group.split(".").reverse().join(".")}.${version}.${kind}`;
    const schema = (custom?.schema ?? {}) as OpenApiSchema;
    this.#schemas.set(name, {
      ...this.#withMeta(schema, true),
      "x-kubernetes-group-version-kind": [{ group, kind, version }],
    });
    return name;
  }

  /** Embedded resources have these fields, too. */
  #withMeta(schema: OpenApiSchema, isResource: boolean): OpenApiSchema {
    const { properties, items, additionalProperties, ...rest } = schema;
    const child = (one: unknown) =>
      this.#withMeta(one as OpenApiSchema, (one as OpenApiSchema)["x-kubernetes-embedded-resource"] === true);
    const children = Object.entries((properties ?? {}) as OpenApiSchema).map(([key, one]) => [key, child(one)]);
    const own = Object.fromEntries(children) as Record<string, OpenApiSchema>;
    const meta = isResource ? this.#metaFields(own) : {};
    const all = { ...own, ...meta };
    return {
      ...rest,
      ...(Object.keys(all).length === 0 ? {} : { properties: all }),
      ...(items === undefined ? {} : { items: child(items) }),
      ...(typeof additionalProperties === "object" && additionalProperties !== null
        ? { additionalProperties: child(additionalProperties) }
        : additionalProperties === undefined
          ? {}
          : { additionalProperties }),
    };
  }

  #metaFields(own: Readonly<Record<string, OpenApiSchema>>): Record<string, OpenApiSchema> {
    return {
      apiVersion: {
        ...own["apiVersion"],
        description: FIELD_TEXTS["apiVersion"] ?? "The group and version.",
        type: "string",
      },
      kind: { ...own["kind"], description: FIELD_TEXTS["kind"] ?? "The name of the kind.", type: "string" },
      metadata: { description: "The metadata of the object.", allOf: [reference(this.addType("ObjectMeta"))] },
    };
  }

  #property(field: Field): OpenApiSchema {
    const { type, pointer, omitEmpty, mergeKey, retainKeys, replace } = field;
    const description = descriptionOf(field);
    const strategies = [
      ...(mergeKey === undefined ? [] : ["merge"]),
      ...(retainKeys ? ["retainKeys"] : []),
      ...(replace ? ["replace"] : []),
    ];
    return {
      ...(description === undefined ? {} : { description }),
      ...this.#schemaOf(type, !pointer || !omitEmpty),
      ...(strategies.length === 0 ? {} : { "x-kubernetes-patch-strategy": strategies.join(",") }),
      ...(mergeKey === undefined || mergeKey === "" ? {} : { "x-kubernetes-patch-merge-key": mergeKey }),
    };
  }

  #schemaOf(type: FieldType, hasDefault: boolean): OpenApiSchema {
    if (type.type === "array") return { type: "array", items: this.#schemaOf(type.items, true) };
    if (type.type === "map") return { type: "object", additionalProperties: this.#schemaOf(type.values, true) };
    if (type.type === "object") {
      return { ...(hasDefault ? { default: {} } : {}), allOf: [reference(this.addType(type.ref))] };
    }
    const named = NAMED_SCALARS[type.type];
    if (named === undefined) return FORMATS[type.type] ?? { type: "string" };
    this.#schemas.set(named.name, named.schema);
    // Fields next to a $ref are only allowed through allOf.
    return { allOf: [reference(named.name)] };
  }
}

/** kubectl explain shows the description of a field and then of its type, and shows equal ones only once. */
function descriptionOf(field: Field): string | undefined {
  const description = fieldDescription(field);
  const { type } = field;
  return type.type === "object" && description === typeDescription(typeSchema(type.ref)) ? undefined : description;
}

function sortedByName(fields: readonly Field[]): Field[] {
  return [...fields].sort((left, right) => (left.name < right.name ? -1 : 1));
}

function gvkOf({ goName, package: packageName }: TypeSchema): Gvk {
  return { group: groupOfPackage(packageName), kind: goName, version: versionOfPackage(packageName) };
}

const FIELD_TEXTS: Readonly<Record<string, string>> = fieldTexts;

/**
 * The description of a field: its own text in the table, or the common text for fields of this name, which usually mean
 * the same in all types. Only OpenAPI documents load the file of common texts.
 */
function fieldDescription({ name, description }: Field): string | undefined {
  return description ?? FIELD_TEXTS[name];
}

/** The description of a type: its text in the table, or one derived from its name (`DeploymentSpec`). */
function typeDescription({ goName, description, isKind }: TypeSchema): string | undefined {
  if (description !== undefined || isKind) return description ?? `A ${goName}.`;
  const part = PARTS.find(([ending]) => goName.endsWith(ending) && goName.length > ending.length);
  return part === undefined ? undefined : part[1](goName.slice(0, -part[0].length));
}

const PARTS: readonly (readonly [ending: string, text: (of: string) => string])[] = [
  ["Spec", (of) => `The desired state of the ${of}.`],
  ["Status", (of) => `The most recently observed state of the ${of}.`],
  ["Condition", (of) => `One aspect of the state of the ${of}, and when it last changed.`],
  ["PersistentVolumeSource", (of) => `The location of a persistent volume of ${of}.`],
  ["VolumeSource", (of) => `The location of a volume of ${of}.`],
];
