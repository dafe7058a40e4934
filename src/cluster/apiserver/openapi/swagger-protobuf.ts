import { Writer } from "../../../staging/apimachinery/protobuf/writer.js";
import type { OpenApiSchema } from "./schemas.js";
import type { Swagger } from "./swagger.js";

/**
 * Encodes an OpenAPI v2 document as the protobuf message that kubectl requests.
 *
 * Mirrors github.com/google/gnostic/openapiv2/OpenAPIv2.proto, with its field numbers. Differs: omits the type of objects
 * with properties and of empty objects, because the oldest clients would read it as a map.
 */
export function encodeSwagger({ swagger, info, paths, definitions }: Swagger): Buffer {
  const writer = new Writer();
  writer.field(9, () => named(writer, 1, definitions, schema));
  writer.field(8, () => named(writer, 2, paths, pathItem));
  writer.field(2, () => texts(writer, [1, info.title], [2, info.version]));
  writer.textField(1, swagger);
  return writer.finish();
}

interface Schema {
  readonly $ref?: string;
  readonly format?: string;
  readonly description?: string;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema;
  readonly type?: string;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
}

const METHODS: Readonly<Record<string, number>> = { get: 2, put: 3, post: 4, delete: 5, patch: 8 };

/** Writes the content of a message; like all writers here, the last field first. */
type Write<T> = (writer: Writer, value: T) => void;

function pathItem(writer: Writer, operations: Readonly<Record<string, OpenApiSchema>>): void {
  for (const [method, number] of Object.entries(METHODS).reverse()) {
    const found = operations[method];
    if (found !== undefined) writer.field(number, () => operation(writer, found));
  }
}

function operation(writer: Writer, value: OpenApiSchema): void {
  const { description, parameters } = value as { description: string; parameters: readonly { name: string }[] };
  extensions(writer, 13, value);
  for (const { name } of parameters.toReversed()) writer.field(8, () => queryParameter(writer, name));
  writer.textField(3, description);
}

/** ParametersItem { Parameter { NonBodyParameter { QueryParameterSubSchema } } } */
function queryParameter(writer: Writer, name: string): void {
  const query = () => {
    writer.varintField(20, 1);
    texts(writer, [2, "query"], [4, name], [6, "string"]);
  };
  writer.field(1, () => writer.field(2, () => writer.field(3, query)));
}

const schema: Write<Schema> = (writer, value) => {
  const { $ref, format, description, required = [], additionalProperties, type, items, properties } = value;
  const isPlainObject = type === "object" && additionalProperties === undefined;
  const nested = (number: number, of: Schema) => writer.field(number, () => writer.field(1, () => schema(writer, of)));
  extensions(writer, 31, value as OpenApiSchema);
  if (properties !== undefined) writer.field(25, () => named(writer, 1, properties, schema));
  if (items !== undefined) nested(23, items);
  if (type !== undefined && !isPlainObject) writer.field(22, () => writer.textField(1, type));
  if (additionalProperties !== undefined) nested(21, additionalProperties);
  for (const name of required.toReversed()) writer.textField(19, name);
  texts(writer, [1, $ref], [2, format], [4, description]);
};

/** Extensions are sent as YAML; JSON is valid YAML. */
function extensions(writer: Writer, number: number, value: OpenApiSchema): void {
  const found = Object.entries(value).filter(([name]) => name.startsWith("x-"));
  named(writer, number, Object.fromEntries(found), (_, extension) => writer.textField(2, JSON.stringify(extension)));
}

/** Writes a map as a list of names and values. */
function named<T>(writer: Writer, number: number, values: Readonly<Record<string, T>>, write: Write<T>): void {
  for (const [name, value] of Object.entries(values).reverse()) {
    writer.field(number, () => {
      writer.field(2, () => write(writer, value));
      writer.textField(1, name);
    });
  }
}

/** @param fields in the order of their numbers */
function texts(writer: Writer, ...fields: readonly (readonly [number: number, text: string | undefined])[]): void {
  for (const [number, text] of fields.toReversed()) if (text !== undefined) writer.textField(number, text);
}
