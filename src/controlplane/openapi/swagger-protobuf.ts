import { WireWriter } from "../../apimachinery/scheme/protobuf/wire-writer.js";
import type { OpenApiSchema } from "./schemas.js";
import type { Swagger } from "./swagger.js";

/**
 * Encodes an OpenAPI v2 document as the protobuf message that kubectl requests.
 *
 * Mirrors github.com/google/gnostic/openapiv2/OpenAPIv2.proto, with its field numbers. Differs: omits the type of objects
 * with properties and of empty objects, because the oldest clients would read it as a map.
 */
export function encodeSwagger({ swagger, info, paths, definitions }: Swagger): Buffer {
  return message((writer) => {
    writer.textField(1, swagger);
    writer.bytesField(
      2,
      message((one) => texts(one, [1, info.title], [2, info.version])),
    );
    writer.bytesField(8, named(2, paths, pathItem));
    writer.bytesField(9, named(1, definitions, schema));
  });
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

function pathItem(operations: Readonly<Record<string, OpenApiSchema>>): Buffer {
  return message((writer) => {
    for (const [method, number] of Object.entries(METHODS)) {
      const found = operations[method];
      if (found !== undefined) writer.bytesField(number, operation(found));
    }
  });
}

function operation(value: OpenApiSchema): Buffer {
  const { description, parameters } = value as { description: string; parameters: readonly { name: string }[] };
  return message((writer) => {
    writer.textField(3, description);
    for (const { name } of parameters) writer.bytesField(8, queryParameter(name));
    extensions(writer, 13, value);
  });
}

/** ParametersItem { Parameter { NonBodyParameter { QueryParameterSubSchema } } } */
function queryParameter(name: string): Buffer {
  const query = message((writer) => {
    texts(writer, [2, "query"], [4, name], [6, "string"]);
    writer.varintField(20, 1);
  });
  return [3, 2, 1].reduce((inner, number) => message((writer) => writer.bytesField(number, inner)), query);
}

function schema(value: Schema): Buffer {
  const { $ref, format, description, required = [], additionalProperties, type, items, properties } = value;
  const isPlainObject = type === "object" && additionalProperties === undefined;
  return message((writer) => {
    texts(writer, [1, $ref], [2, format], [4, description]);
    for (const name of required) writer.textField(19, name);
    if (additionalProperties !== undefined) writer.bytesField(21, wrapped(schema(additionalProperties)));
    if (type !== undefined && !isPlainObject) {
      writer.bytesField(
        22,
        message((one) => one.textField(1, type)),
      );
    }
    if (items !== undefined) writer.bytesField(23, wrapped(schema(items)));
    if (properties !== undefined) writer.bytesField(25, named(1, properties, schema));
    extensions(writer, 31, value as OpenApiSchema);
  });
}

/** Extensions are sent as YAML; JSON is valid YAML. */
function extensions(writer: WireWriter, number: number, value: OpenApiSchema): void {
  for (const [name, extension] of Object.entries(value)) {
    if (!name.startsWith("x-")) continue;
    const any = message((one) => one.textField(2, JSON.stringify(extension)));
    writer.bytesField(number, namedValue(name, any));
  }
}

/** Encodes a map as a list of names and values. */
function named<T>(number: number, values: Readonly<Record<string, T>>, encode: (value: T) => Buffer): Buffer {
  return message((writer) => {
    for (const [name, value] of Object.entries(values)) writer.bytesField(number, namedValue(name, encode(value)));
  });
}

function namedValue(name: string, value: Buffer): Buffer {
  return message((writer) => {
    writer.textField(1, name);
    writer.bytesField(2, value);
  });
}

function wrapped(bytes: Buffer): Buffer {
  return message((writer) => writer.bytesField(1, bytes));
}

function texts(writer: WireWriter, ...fields: readonly (readonly [number: number, text: string | undefined])[]): void {
  for (const [number, text] of fields) if (text !== undefined) writer.textField(number, text);
}

function message(fill: (writer: WireWriter) => void): Buffer {
  const writer = new WireWriter();
  fill(writer);
  return writer.finish();
}
