import assert from "node:assert/strict";
import { test } from "vitest";
import { validateLabels, validateMeta } from "../../../../../src/cluster/apiserver/registry/rest/validate-meta.js";
import { invalid, MAX_CAUSES } from "../../../../../src/staging/apimachinery/errors.js";

const MANY = 1_000;
const wrong = Object.fromEntries(Array.from({ length: MANY }, (_, i) => [`-key-${i}`, `-value-${i}`]));
const meta = { name: "x", namespace: "default", labels: wrong, annotations: wrong };

test("many invalid labels: all count, and only those that are shown have a text", () => {
  const errors = validateLabels(wrong);
  assert.equal(errors.length, 2 * MANY);
  assert.deepEqual(
    errors.map(({ text }) => text !== ""),
    errors.map((_, index) => index < MAX_CAUSES),
  );
  // What is not shown needs no memory of its own.
  assert.equal(new Set(errors.slice(MAX_CAUSES)).size, 1);
  assert.equal(errors[1]?.field, "metadata.labels");
  assert.match(
    errors[1]?.text ?? "",
    /^Invalid value: "-value-0": a valid label must be an empty string or consist of/,
  );
});

test("an error shows no fact that was left out", () => {
  const { status } = invalid(
    { group: "", kind: "ConfigMap" },
    "x",
    validateMeta(meta, true, () => []),
  );
  assert.equal(status.details?.causes?.length, MAX_CAUSES);
  assert.ok(status.details?.causes?.every(({ message }) => message !== ""));
  assert.match(status.message ?? "", new RegExp(`, and ${3 * MANY - MAX_CAUSES} more]$`));
});
