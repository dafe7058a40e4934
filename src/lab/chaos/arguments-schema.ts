import type { ArgumentKind } from "../labs/format/injection-table.js";
import { FAULTS } from "./faults.js";

/** For each fault, which arguments its `with` takes, as parts of a JSON schema. */
export const ARGUMENTS_OF_FAULTS: readonly object[] = Object.entries(FAULTS).map(([name, { takes, inRealLife }]) => {
  const needed = Object.keys(takes).filter((key) => String(takes[key]).endsWith("!"));
  const properties = Object.fromEntries(Object.entries(takes).map(([key, kind]) => [key, schemaOf(kind)]));
  const given = { description: inRealLife, properties, additionalProperties: false, required: needed };
  return {
    if: { properties: { fault: { const: name } } },
    // biome-ignore lint/suspicious/noThenProperty: the schema's own word
    then: { properties: { with: given }, ...(needed.length === 0 ? {} : { required: ["with"] }) },
  };
});

function schemaOf(kind: ArgumentKind): object {
  if (kind === "flag") return { type: "boolean" };
  if (typeof kind === "string") return { type: kind.startsWith("number") ? "number" : "string" };
  return "least" in kind ? { type: "integer", minimum: kind.least, maximum: kind.most } : { enum: kind };
}
