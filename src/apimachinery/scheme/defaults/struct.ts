/** A struct while it is being decoded: nobody else has it yet. */
export type MutableStruct = Record<string, unknown>;

/** Fills in what depends on more than one field; fixed values stand in the type tables. */
export type DefaultsFunction = (struct: MutableStruct) => void;

export function structOf(value: unknown): MutableStruct {
  return typeof value === "object" && value !== null ? (value as MutableStruct) : {};
}

export function structsOf(value: unknown): MutableStruct[] {
  return Array.isArray(value) ? (value as MutableStruct[]) : [];
}
