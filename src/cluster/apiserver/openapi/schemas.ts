import fieldTexts from "../../../../fixtures/scheme/field-texts.json" with { type: "json" };
import { jsonFields, typeSchema } from "../../../staging/apimachinery/scheme/catalogue.js";
import type { Field, FieldType, ScalarType, TypeSchema } from "../../../staging/apimachinery/scheme/schema.js";
import { groupOfPackage, versionOfPackage } from "../../../staging/apimachinery/scheme/scheme.js";

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
    const name = `${definitionName(schema)}List`;
    const itemName = this.addType(type);
    const { kind, ...groupVersion } = gvkOf(schema);
    this.#schemas.set(name, {
      description: `A list of ${kind} objects.`,
      type: "object",
      required: ["items"],
      properties: {
        apiVersion: { description: "The group and version.", type: "string" },
        items: { description: "The objects.", type: "array", items: { default: {}, allOf: [reference(itemName)] } },
        kind: { description: `${kind}List.`, type: "string" },
        metadata: {
          description: "The revision of the list.",
          default: {},
          allOf: [reference(this.addType("ListMeta"))],
        },
      },
      "x-kubernetes-group-version-kind": [{ ...groupVersion, kind: `${kind}List` }],
    });
    return name;
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

function gvkOf({ goName, package: packageName }: TypeSchema): { group: string; kind: string; version: string } {
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
