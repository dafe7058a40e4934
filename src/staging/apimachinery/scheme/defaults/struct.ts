/** A struct during decoding, before it is shared. */
export type MutableStruct = Record<string, unknown>;

/** Sets defaults that depend on more than one field; the type tables contain constant defaults. */
export type DefaultsFunction = (struct: MutableStruct) => void;

export function structOf(value: unknown): MutableStruct {
  return typeof value === "object" && value !== null ? (value as MutableStruct) : {};
}

export function structsOf(value: unknown): MutableStruct[] {
  return Array.isArray(value) ? (value as MutableStruct[]) : [];
}
