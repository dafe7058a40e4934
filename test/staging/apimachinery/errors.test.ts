import { expect, test } from "vitest";
import { badRequest, type FieldError, invalid } from "../../../src/staging/apimachinery/errors.js";

const KIND = { group: "", kind: "ConfigMap" };
const error = (field: string, text: string): FieldError => ({ type: "FieldValueInvalid", field, text });

test("an error shows its first hundred causes and counts the others", () => {
  const { status } = invalid(
    KIND,
    "x",
    Array.from({ length: 100_000 }, (_, i) => error(`data[${i}]`, "Invalid value")),
  );
  expect(status.details?.causes).toHaveLength(100);
  expect(status.message).toMatch(/^ConfigMap "x" is invalid: \[data\[0\]: Invalid value, .*, and 99900 more\]$/);
});

test("long names, fields and messages lose their end", () => {
  const long = "x".repeat(3_000_000);
  expect(JSON.stringify(invalid(KIND, long, [error(long, "Invalid value")]).status).length).toBeLessThan(50_000);
  expect(badRequest(long).status.message?.length).toBeLessThan(600_000);
});
