import { QuantityError, storedQuantity } from "../quantity.js";
import { base64Error, canonicalBase64 } from "./base64.js";
import { jsonFields, typeSchema } from "./catalogue.js";
import { goQuote } from "./go-text.js";
import { canonicalTime, GoTimeError, RFC3339, RFC3339_MICRO } from "./go-time.js";
import type { Field, FieldType } from "./schema.js";

export interface Diagnosis {
  /** why the text cannot be decoded, in Go's words */
  readonly error: string | undefined;
  /** `unknown field "spec.x"`, `duplicate field "y"`, in the order of the text, a hundred at most */
  readonly strictErrors: readonly string[];
}

/**
 * Says what is wrong with a JSON text, as upstream's decoder does: with its paths and its order.
 *
 * Mirrors sigs.k8s.io/json (a fork of encoding/json/decode.go). Two kinds of errors, as there: a value of the wrong type is
 * remembered (the first one) and decoding goes on; an error of a type that decodes itself (times, quantities) ends it at once.
 * @param text valid JSON
 */
export function diagnose(type: string, text: string): Diagnosis {
  const walker = new Walker(text);
  try {
    walker.value({ type: "object", ref: type });
  } catch (error) {
    if (!(error instanceof Abort)) throw error;
    return { error: error.message, strictErrors: [] };
  }
  return { error: walker.savedError, strictErrors: walker.strictErrors };
}

/** Keys that stand twice in an object, in a text without a type (a patch): `duplicate field "spec.x"`. */
export function duplicateFields(text: string): readonly string[] {
  const walker = new Walker(text);
  walker.value(UNTYPED);
  return walker.strictErrors;
}

/** Any JSON: an object's values, and a list's elements, are any JSON again. */
const UNTYPED: FieldType & { values: FieldType } = { type: "map", values: { type: "string" } };
UNTYPED.values = UNTYPED;

const MAX_STRICT_ERRORS = 100;

class Abort extends Error {
  override readonly name = "Abort";
}

class Walker {
  savedError: string | undefined;
  readonly strictErrors: string[] = [];
  #at = 0;
  /** for `Go struct field Container.spec.containers.image`: the innermost struct, and the names on the way */
  #struct = "";
  #fields: readonly string[] = [];
  /** for `spec.containers[0].x` */
  #path = "";

  constructor(readonly text: string) {}

  value(type: FieldType): void {
    this.#skipSpace();
    if (isSelfDecoding(type)) this.#selfDecoding(type);
    else if (this.text[this.#at] === "{") this.#object(type);
    else if (this.text[this.#at] === "[") this.#array(type === UNTYPED ? { type: "array", items: UNTYPED } : type);
    else if (type === UNTYPED) this.#skipValue();
    else this.#literal(type);
  }

  #selfDecoding(type: FieldType): void {
    const raw = this.#skipValue();
    if (raw === "null") return;
    const problem = selfDecodingProblem(type, raw);
    if (problem === undefined) return;
    throw new Abort(typeof problem === "string" ? problem : this.#typeError(problem.value, problem.goType));
  }

  #literal(type: FieldType): void {
    const raw = this.#skipValue();
    if (raw === "null") return;
    if (raw.startsWith('"')) {
      if (type.type === "string") return;
      this.#string(type, String(JSON.parse(raw)));
    } else if (raw === "true" || raw === "false") {
      if (type.type !== "boolean") this.#save(this.#typeError("bool", goTypeName(type)));
    } else this.#number(type, raw);
  }

  #string(type: FieldType, content: string): void {
    if (type.type !== "bytes") this.#save(this.#typeError("string", goTypeName(type)));
    else if (canonicalBase64(content) === undefined) this.#save(base64Error(content));
  }

  #number(type: FieldType, raw: string): void {
    if (type.type === "double") return;
    if (type.type !== "int32" && type.type !== "int64") {
      this.#save(this.#typeError("number", goTypeName(type)));
      return;
    }
    const limit = type.type === "int32" ? 2n ** 31n : 2n ** 63n;
    const value = /^-?\d+$/.test(raw) ? BigInt(raw) : limit;
    if (value >= limit || value < -limit) this.#save(this.#typeError(`number ${raw}`, goTypeName(type)));
  }

  #array(type: FieldType): void {
    if (type.type !== "array") {
      this.#skipValue();
      this.#save(this.#typeError("array", goTypeName(type)));
      return;
    }
    const path = this.#path;
    this.#at++;
    for (let index = 0; !this.#takes("]"); index++) {
      this.#takes(",");
      this.#path = `${path}[${index}]`;
      this.value(type.items);
    }
    this.#path = path;
  }

  #object(type: FieldType): void {
    if (type.type !== "object" && type.type !== "map") {
      this.#skipValue();
      this.#save(this.#typeError("object", goTypeName(type)));
      return;
    }
    const outer = { struct: this.#struct, fields: this.#fields, path: this.#path };
    const known = type.type === "object" ? fieldsByName(type.ref) : undefined;
    const seen = new Set<string>();
    this.#at++;
    while (!this.#takes("}")) {
      this.#takes(",");
      this.#skipSpace();
      const key = String(JSON.parse(this.#skipValue()));
      this.#takes(":");
      const field = known?.get(key);
      if (known !== undefined && field === undefined) {
        this.#strict("unknown field", key);
        this.#skipSpace();
        this.#skipValue();
        continue;
      }
      if (seen.has(key)) this.#strict("duplicate field", key);
      seen.add(key);
      this.#path = outer.path === "" ? key : `${outer.path}.${key}`;
      if (type.type === "object") {
        this.#struct = typeSchema(type.ref).goName;
        this.#fields = [...outer.fields, key];
      }
      this.value(type.type === "map" ? type.values : (field?.type ?? { type: "any" }));
      this.#struct = outer.struct;
      this.#fields = outer.fields;
      this.#path = outer.path;
    }
  }

  #save(error: string): void {
    this.savedError ??= error;
  }

  #strict(what: string, key: string): void {
    const error = `${what} ${goQuote(this.#path === "" ? key : `${this.#path}.${key}`)}`;
    if (this.strictErrors.length < MAX_STRICT_ERRORS && !this.strictErrors.includes(error))
      this.strictErrors.push(error);
  }

  #typeError(value: string, goType: string): string {
    const into = this.#fields.length > 0 ? `Go struct field ${this.#struct}.${this.#fields.join(".")}` : "Go value";
    return `json: cannot unmarshal ${value} into ${into} of type ${goType}`;
  }

  #skipSpace(): void {
    for (;;) {
      const code = this.text.charCodeAt(this.#at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
      this.#at++;
    }
  }

  /** Steps over the punctuation mark if it comes next. */
  #takes(mark: string): boolean {
    this.#skipSpace();
    if (this.text[this.#at] !== mark) return false;
    this.#at++;
    return true;
  }

  /** Steps over the next value and returns its text. */
  #skipValue(): string {
    const start = this.#at;
    let depth = 0;
    do {
      const char = this.text[this.#at];
      if (char === '"') this.#skipString();
      else if (char === "{" || char === "[") {
        depth++;
        this.#at++;
      } else if (char === "}" || char === "]") {
        depth--;
        this.#at++;
      } else if (depth > 0 && !/[-+.\w]/.test(char ?? "x")) this.#at++;
      else this.#at += /^[-+.\w]*/.exec(this.text.slice(this.#at, this.#at + 400))?.[0].length || 1;
    } while (depth > 0);
    return this.text.slice(start, this.#at);
  }

  #skipString(): void {
    this.#at++;
    while (this.text[this.#at] !== '"') this.#at += this.text[this.#at] === "\\" ? 2 : 1;
    this.#at++;
  }
}

function fieldsByName(type: string): ReadonlyMap<string, Field> {
  return new Map(jsonFields(type).map((field) => [field.name, field]));
}

function isSelfDecoding({ type }: FieldType): boolean {
  return ["time", "microtime", "quantity", "resourceQuantity", "intOrString", "any"].includes(type);
}

/**
 * What a type that decodes itself says of a value.
 * @param raw JSON, not null
 * @returns undefined when all is well; a type error still lacks the place it happened at
 */
export function selfDecodingProblem(
  { type }: FieldType,
  raw: string,
): string | { readonly value: string; readonly goType: string } | undefined {
  const kind = { "{": "object", "[": "array", '"': "string", t: "bool", f: "bool" }[raw.charAt(0)] ?? "number";
  if (type === "time" || type === "microtime") {
    if (kind !== "string") return { value: kind, goType: "string" };
    return problemOf(() => canonicalTime(String(JSON.parse(raw)), type === "time" ? RFC3339 : RFC3339_MICRO));
  }
  if (type === "quantity" || type === "resourceQuantity") {
    return problemOf(() => storedQuantity(kind === "string" ? raw.slice(1, -1) : raw));
  }
  if (type !== "intOrString" || kind === "string") return undefined;
  if (kind !== "number") return { value: kind, goType: "int32" };
  const value = Number(raw);
  const isInt32 = /^-?\d+$/.test(raw) && value >= -(2 ** 31) && value < 2 ** 31;
  return isInt32 ? undefined : { value: `number ${raw}`, goType: "int32" };
}

function problemOf(decode: () => unknown): string | undefined {
  try {
    decode();
    return undefined;
  } catch (error) {
    if (error instanceof GoTimeError || error instanceof QuantityError) return error.message;
    throw error;
  }
}

/** reflect.Type.String() of a field. */
export function goTypeName(type: FieldType): string {
  switch (type.type) {
    case "object":
      return `v1.${typeSchema(type.ref).goName}`;
    case "array":
      return `[]${goTypeName(type.items)}`;
    case "map":
      return type.values.type === "resourceQuantity" ? "v1.ResourceList" : `map[string]${goTypeName(type.values)}`;
    case "boolean":
      return "bool";
    case "double":
      return "float64";
    case "bytes":
      return "[]uint8";
    case "time":
      return "v1.Time";
    case "microtime":
      return "v1.MicroTime";
    case "quantity":
    case "resourceQuantity":
      return "resource.Quantity";
    case "intOrString":
      return "intstr.IntOrString";
    case "any":
      return "runtime.RawExtension";
    case "string":
      return type.go ?? "string";
    default:
      return type.type;
  }
}
