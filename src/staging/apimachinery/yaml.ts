/**
 * Parses YAML as sigs.k8s.io/yaml and go-yaml v2 do: YAML 1.1 scalars (`yes` is true, 0644 is octal), but times and 1:30
 * stay strings, and unknown tags are ignored. The time is linear in the text, and in the size of what aliases expand to.
 *
 * Callers load it only when they meet YAML: `await import(".../apimachinery/yaml.js")`.
 */
import { FAILSAFE_SCHEMA, type LoadOptions, loadAll, Type, YAMLException } from "js-yaml";
import { messageOf } from "../../util/errors.js";
import { MAX_DEPTH, MAX_VALUES, TOO_MANY_VALUES } from "./scheme/json-syntax.js";

/** Bounds the work of merge keys (`<<`), which copies maps. */
const MAX_MERGED_KEYS = 100_000;
/** A message quotes names and tags of the document up to this length. */
const MAX_REASON_LENGTH = 200;

/** A text that is not YAML, or a document that exceeds a limit. */
export class YamlError extends Error {
  override readonly name = "YamlError";
  /** @param line counted from 1; undefined if the document as a whole is refused */
  constructor(
    reason: string,
    readonly line?: number,
    /** the only fault is a key that appears twice in one map */
    readonly isDuplicateKey = false,
  ) {
    super(line === undefined ? reason : `line ${line}: ${reason}`);
  }
}

export interface YamlOptions {
  /** `last-wins` accepts keys that appear twice in one map; default: `refuse` */
  readonly duplicates?: "refuse" | "last-wins";
}

/** The first document of a text; undefined if there is none. @throws YamlError */
export function parseYaml(text: string, options: YamlOptions = {}): unknown {
  return parseYamlDocuments(text, options)[0];
}

/** @throws YamlError */
export function parseYamlDocuments(text: string, { duplicates }: YamlOptions = {}): readonly unknown[] {
  const documents = loadDocuments(text, duplicates === "last-wins");
  if (text.includes("*")) for (const document of documents) new Expansion().check(document);
  return documents;
}

/** A YAML document as JSON text. */
export interface JsonOfYaml {
  readonly json: string;
  /** the errors of strict decoding in addition to unknown fields */
  readonly strictErrors: readonly string[];
}

/**
 * Converts the first document of a text to JSON. A key that appears twice in one map is a strict error; the last one counts.
 * Mirrors YAMLToJSON and YAMLToJSONStrict in sigs.k8s.io/yaml.
 * @throws YamlError `error converting YAML to JSON: yaml: line 2: ...`
 */
export function yamlToJson(text: string): JsonOfYaml {
  const convert = (options: YamlOptions) => JSON.stringify(parseYaml(text, options) ?? null);
  const failed = (error: unknown) => new YamlError(`error converting YAML to JSON: yaml: ${messageOf(error)}`);
  try {
    return { json: convert({}), strictErrors: [] };
  } catch (error) {
    if (!(error instanceof YamlError && error.isDuplicateKey)) throw failed(error);
    try {
      const strictErrors = [`yaml: unmarshal errors:\n  ${error.message}`];
      return { json: convert({ duplicates: "last-wins" }), strictErrors };
    } catch (other) {
      throw failed(other);
    }
  }
}

function loadDocuments(text: string, json: boolean): readonly unknown[] {
  let values = 0;
  const listener: LoadOptions["listener"] = (event) => {
    // Keys are counted too.
    if (event === "open" && ++values > 2 * MAX_VALUES) throw new YamlError(TOO_MANY_VALUES);
  };
  const limits = { schema: SCHEMA, json, listener, maxDepth: MAX_DEPTH, maxTotalMergeKeys: MAX_MERGED_KEYS };
  try {
    return loadAll(text, null, limits satisfies LoadOptions);
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    const { reason, mark } = error;
    if (reason.startsWith("nesting exceeded")) throw new YamlError(`exceeded max depth of ${MAX_DEPTH}`, mark.line + 1);
    if (reason !== "duplicated mapping key") throw new YamlError(reason.slice(0, MAX_REASON_LENGTH), mark.line + 1);
    const key = /^[\s?'"]*([^:'"\n]*)/.exec(text.slice(mark.position, mark.position + MAX_REASON_LENGTH))?.[1] ?? "";
    throw new YamlError(`key ${JSON.stringify(key.trimEnd())} already set in map`, mark.line + 1, true);
  }
}

/** Mirrors resolveTable in go-yaml's resolve.go: no other first character begins a number, a boolean or null. */
const OTHER_THAN_STRING = /^[-+.0-9yYnNtTfFoO~]/;
const TRUE = /^(?:y|Y|yes|Yes|YES|true|True|TRUE|on|On|ON)$/;
const FALSE = /^(?:n|N|no|No|NO|false|False|FALSE|off|Off|OFF)$/;
const NULL = /^(?:~|null|Null|NULL)?$/;
const INTEGER = /^[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)$/;
const DECIMAL = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;
const INFINITE = /^[-+]?\.(?:inf|Inf|INF)$/;
const NOT_A_NUMBER = /^\.(?:nan|NaN|NAN)$/;

/** Undefined for a text that is not an integer, and for one of more than 64 bits. */
function integerOf(text: string): number | undefined {
  const plain = text.replaceAll("_", "");
  if (!INTEGER.test(plain)) return undefined;
  const isNegative = plain.startsWith("-");
  const digits = plain.replace(/^[-+]/, "").toLowerCase();
  const value = Number(/^0[0-7]/.test(digits) ? `0o${digits}` : digits);
  if (value >= (isNegative ? 2 ** 63 : 2 ** 64)) return undefined;
  return isNegative ? -value : value;
}

/** Undefined for a text that is not a float, and for a number too large for one, which go-yaml leaves a string. */
function floatOf(text: string): number | undefined {
  if (INFINITE.test(text)) return text.startsWith("-") ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  if (NOT_A_NUMBER.test(text)) return Number.NaN;
  const plain = text.startsWith(".") ? text : text.replaceAll("_", "");
  if (!DECIMAL.test(plain)) return undefined;
  const value = Number(plain);
  return Number.isFinite(value) ? value : undefined;
}

function isOther(text: unknown): text is string {
  return typeof text === "string" && OTHER_THAN_STRING.test(text);
}

const RESOLVED = [
  new Type("tag:yaml.org,2002:merge", { kind: "scalar", resolve: (text: unknown) => text === "<<" }),
  new Type("tag:yaml.org,2002:null", {
    kind: "scalar",
    resolve: (text: unknown) => text === null || (typeof text === "string" && NULL.test(text)),
    construct: () => null,
  }),
  new Type("tag:yaml.org,2002:bool", {
    kind: "scalar",
    resolve: (text: unknown) => isOther(text) && (TRUE.test(text) || FALSE.test(text)),
    construct: (text: string) => TRUE.test(text),
  }),
  new Type("tag:yaml.org,2002:int", {
    kind: "scalar",
    resolve: (text: unknown) => isOther(text) && integerOf(text) !== undefined,
    construct: integerOf,
  }),
  new Type("tag:yaml.org,2002:float", {
    kind: "scalar",
    resolve: (text: unknown) => isOther(text) && floatOf(text) !== undefined,
    construct: floatOf,
  }),
];

const BINARY = new Type("tag:yaml.org,2002:binary", {
  kind: "scalar",
  construct: (text: string | null) => Buffer.from(text ?? "", "base64").toString(),
});

/** Every tag without a type of its own: `!foo`, `!!timestamp`. */
const IGNORED = ["!", "tag:"].flatMap((prefix) => [
  new Type(prefix, { kind: "scalar", multi: true, construct: (text: string | null) => text ?? "" }),
  new Type(prefix, { kind: "sequence", multi: true }),
  new Type(prefix, { kind: "mapping", multi: true }),
]);

const SCHEMA = FAILSAFE_SCHEMA.extend({ implicit: RESOLVED, explicit: [BINARY, ...IGNORED] });

/** The limit of the characters that aliases expand to: far more than any object that an API server stores. */
const MAX_EXPANDED_LENGTH = 16 * 1024 * 1024;

/**
 * Walks a document as if each alias were a copy, and stops where go-yaml would.
 * Mirrors decoder.unmarshal and allowedAliasRatio in gopkg.in/yaml.v2/decode.go.
 * Differs: also bounds the characters of the copies; sees an alias of a scalar as a copy.
 */
class Expansion {
  readonly #seen = new Set<object>();
  readonly #open = new Set<object>();
  #decoded = 0;
  #aliased = 0;
  #length = 0;

  /** @throws YamlError */
  check(value: unknown, isAlias = false): void {
    this.#count(value, isAlias);
    if (typeof value !== "object" || value === null) return;
    if (this.#open.has(value)) throw new YamlError("anchor value contains itself");
    if (this.#open.size >= MAX_DEPTH) throw new YamlError(`exceeded max depth of ${MAX_DEPTH}`);
    const isCopy = isAlias || this.#seen.has(value);
    this.#seen.add(value);
    this.#open.add(value);
    if (Array.isArray(value)) for (const item of value) this.check(item, isCopy);
    else {
      for (const key of Object.keys(value)) {
        this.#count(key, isCopy);
        this.check((value as Record<string, unknown>)[key], isCopy);
      }
    }
    this.#open.delete(value);
  }

  #count(value: unknown, isAlias: boolean): void {
    this.#decoded++;
    if (isAlias) this.#aliased++;
    if (typeof value === "string") this.#length += value.length;
    const isRatioExceeded =
      this.#aliased > 100 && this.#decoded > 1000 && this.#aliased / this.#decoded > allowedAliasRatio(this.#decoded);
    if (isRatioExceeded || this.#length > MAX_EXPANDED_LENGTH) {
      throw new YamlError("document contains excessive aliasing");
    }
  }
}

/** Small documents can consist of aliases, large ones only to a tenth. */
function allowedAliasRatio(decoded: number): number {
  const [low, high] = [400_000, 4_000_000];
  if (decoded <= low) return 0.99;
  if (decoded >= high) return 0.1;
  return 0.99 - 0.89 * ((decoded - low) / (high - low));
}
