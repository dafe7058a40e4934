import { type GoTable, type GoType, goFields, goTypeName } from "./go-type.js";
import { type GoQuantity, goQuantity } from "./quantity.js";

type Fields = Readonly<Record<string, unknown>>;

/** A value that Go could hold and this program cannot print as Go does. */
class Unprintable extends Error {
  override readonly name = "Unprintable";
}

/**
 * Prints a struct as Go would hold it: every field in the order of its declaration, with its type, also where nothing was
 * said. What JSON says of fields that the release does not have is left out, as Go's decoder leaves it out.
 *
 * Mirrors github.com/davecgh/go-spew/spew/format.go, %#v with SortKeys, SpewKeys and DisableMethods: what DeepHashObject
 * in pkg/util/hash/hash.go hashes. Pure.
 *
 * @param kubeVersion `1.25`: whose fields
 * @returns undefined when it holds what the table does not describe: a struct without fields, a time, a number out of range
 */
export function dumpStruct(table: GoTable, struct: string, value: unknown, kubeVersion: string): string | undefined {
  try {
    return new Printer(table, kubeVersion).print(
      { kind: "pointer", of: { kind: "struct", name: struct } },
      value,
      true,
    );
  } catch (error) {
    if (error instanceof Unprintable) return undefined;
    throw error;
  }
}

class Printer {
  constructor(
    readonly table: GoTable,
    readonly kubeVersion: string,
  ) {}

  /** @param isTyped false for what is in a list, in a map or behind a pointer: its type has been said */
  print(type: GoType, value: unknown, isTyped: boolean): string {
    return (isTyped ? `(${goTypeName(type)})` : "") + this.#value(type, value ?? undefined);
  }

  #value(type: GoType, value: unknown): string {
    switch (type.kind) {
      case "pointer":
        return value === undefined ? "<nil>" : this.print(type.of, value, false);
      case "slice":
        return value === undefined ? "<nil>" : `[${this.#items(type.of, value)}]`;
      case "map":
        return value === undefined ? "<nil>" : goMap(value, (text) => stringOf(text ?? ""));
      case "ResourceList":
        // Defaulting rounds every amount of a list, and no other: SetDefaults_ResourceList.
        return value === undefined ? "<nil>" : goMap(value, (amount) => this.#quantity(goQuantity(amount, "milli")));
      case "Quantity":
        return this.#quantity(goQuantity(value));
      case "struct":
        return this.#struct(type.name, value ?? {});
      default:
        return scalar(type, value);
    }
  }

  #items(of: GoType, value: unknown): string {
    if (!Array.isArray(value)) throw new Unprintable("list");
    return value.map((item) => this.print(of, item, false)).join(" ");
  }

  #struct(name: string, value: unknown): string {
    const fields = goFields(this.table, name, this.kubeVersion);
    if (fields === undefined) throw new Unprintable(name);
    const given = fieldsOf(value);
    const printed = fields.map(({ name, type, json }) => {
      return `${name}:${this.print(type, json === undefined ? given : given[json], true)}`;
    });
    return `{${printed.join(" ")}}`;
  }

  #quantity(quantity: GoQuantity | undefined): string {
    if (quantity === undefined) throw new Unprintable("Quantity");
    const { value, scale, dec, text, format } = quantity;
    const big =
      dec === undefined ? "<nil>" : `{unscaled:(big.Int)${bigInt(dec.unscaled)} scale:(inf.Scale)${dec.scale}}`;
    return (
      `{i:(resource.int64Amount){value:(int64)${value} scale:(resource.Scale)${scale}} ` +
      `d:(resource.infDecAmount){Dec:(*inf.Dec)${big}} s:(string)${text} Format:(resource.Format)${format}}`
    );
  }
}

function scalar(type: GoType, value: unknown): string {
  switch (type.kind) {
    case "string":
      return stringOf(value ?? "");
    case "bool":
      if (value !== undefined && typeof value !== "boolean") throw new Unprintable("bool");
      return String(value ?? false);
    case "IntOrString": {
      const [number, text] = typeof value === "string" ? [0, value] : [value, ""];
      return `{Type:(intstr.Type)${typeof value === "string" ? 1 : 0} IntVal:(int32)${intOf(number)} StrVal:(string)${text}}`;
    }
    case "Time":
      // A time that is given becomes one of the machine's time zone, with all that the machine knows of the zone.
      if (value !== undefined) throw new Unprintable("Time");
      return "{Time:(time.Time){wall:(uint64)0 ext:(int64)0 loc:(*time.Location)<nil>}}";
    default:
      return intOf(value);
  }
}

/** By keys, in the order of their bytes. */
function goMap(value: unknown, print: (item: unknown) => string): string {
  const entries = Object.entries(fieldsOf(value)).sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return `map[${entries.map(([key, item]) => `${key}:${print(item)}`).join(" ")}]`;
}

/** As Go has it in memory: words of 64 bits, the lowest first; none for zero. */
function bigInt(value: bigint): string {
  const words: bigint[] = [];
  for (let rest = value < 0n ? -value : value; rest > 0n; rest >>= 64n) words.push(rest & 0xffff_ffff_ffff_ffffn);
  return `{neg:(bool)${value < 0n} abs:(big.nat)${value === 0n ? "<nil>" : `[${words.join(" ")}]`}}`;
}

function intOf(value: unknown): string {
  if (value !== undefined && !Number.isSafeInteger(value)) throw new Unprintable("int");
  return String(value ?? 0);
}

function stringOf(value: unknown): string {
  if (typeof value !== "string") throw new Unprintable("string");
  return value;
}

function fieldsOf(value: unknown): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Unprintable("object");
  return value as Fields;
}
