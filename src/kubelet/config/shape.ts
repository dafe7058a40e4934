import { nanoValue } from "../../apimachinery/quantity.js";

/** A field's type. `[shape]`: a list; `{ "*": shape }`: a map with any keys; else an object with these fields. */
export type Shape = Scalar | readonly [Shape] | { readonly [field: string]: Shape };

/** `number-or-text`: ports by number or name, and percentages; `quantity`: `1`, `"500m"`, `"1Gi"` */
type Scalar = "text" | "integer" | "boolean" | "number-or-text" | "quantity" | "any";

const WANTED: Readonly<Record<Exclude<Scalar, "any">, string>> = {
  text: "a string",
  integer: "a whole number",
  boolean: "true or false",
  "number-or-text": "a whole number or a string",
  quantity: "a quantity such as 500m or 1Gi",
};
/** How much of a wrong value a message quotes. */
const MAX_SHOWN_CHARS = 40;

/**
 * Checks the types of an object's fields. Pure. Skips fields that the shape does not name, and those that are null.
 *
 * Mirrors what Go's decoder refuses: `cannot unmarshal number into Go struct field EnvVar.value of type string`.
 * Differs: reports every problem, each with its whole path.
 *
 * @param path of the object itself; "" for the whole
 * @returns one line for each field
 */
export function shapeProblems(shape: Shape, value: unknown, path = ""): string[] {
  if (value === undefined || value === null || shape === "any") return [];
  if (typeof shape === "string") return isScalar(shape, value) ? [] : [wrong(path, WANTED[shape], value, shape)];
  if (isList(shape)) {
    if (!Array.isArray(value)) return [wrong(path, "a list", value)];
    return value.flatMap((one, i) => shapeProblems(shape[0], one, `${path}[${i}]`));
  }
  if (typeof value !== "object" || Array.isArray(value)) return [wrong(path, "an object", value)];
  return Object.entries(value).flatMap(([name, field]) => {
    const of = shape["*"] ?? (Object.hasOwn(shape, name) ? shape[name] : undefined);
    return of === undefined ? [] : shapeProblems(of, field, path === "" ? name : `${path}.${name}`);
  });
}

function isList(shape: Shape): shape is readonly [Shape] {
  return Array.isArray(shape);
}

function isScalar(shape: Exclude<Scalar, "any">, value: unknown): boolean {
  switch (shape) {
    case "text":
      return typeof value === "string";
    case "boolean":
      return typeof value === "boolean";
    case "integer":
      return Number.isInteger(value);
    case "number-or-text":
      return typeof value === "string" || Number.isInteger(value);
    case "quantity":
      return nanoValue(value) !== undefined;
  }
}

function wrong(path: string, wanted: string, value: unknown, shape?: Scalar): string {
  const isBareWord = shape === "text" && (typeof value === "number" || typeof value === "boolean");
  return `${path}: must be ${wanted}, not ${inWords(value)}${isBareWord ? " (put it in quotes)" : ""}`;
}

function inWords(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "an object";
  const text = JSON.stringify(value) ?? String(value);
  const shown = text.length > MAX_SHOWN_CHARS ? `${text.slice(0, MAX_SHOWN_CHARS)}…` : text;
  return typeof value === "string" ? `the string ${shown}` : shown;
}
