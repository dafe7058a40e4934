import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "vitest";
import { RESOURCES } from "../../../src/cluster/apiserver/registry/table.js";
import { parseReference } from "../../../src/cluster/runtime/images/reference.js";
import { refusalOf } from "../../../src/cluster/runtime/images/registry.js";

/**
 * The examples of Kubernetes' documentation (content/en/examples) and what became of each on an embedded cluster of three nodes, with
 * the objects that its page creates before: path, result, reason, kinds, images. docs/fidelity.md explains the words.
 */
const ROWS = readFileSync(new URL("./examples.tsv", import.meta.url), "utf8")
  .trim()
  .split("\n")
  .map((line) => {
    const [path = "", result = "", reason = "", kinds = "", images = ""] = line.split("\t");
    const words = (text: string) => text.split(" ").filter((word) => word !== "");
    return { path, result, reason, kinds: words(kinds), images: words(images) };
  });

const NOT_OURS = ["needs an image of your own", "not an object"];
/** Its pull fails on purpose. */
const MISSING = "non-existing-repo/non-existing-image:example";

function canBePulled(image: string): boolean {
  try {
    return image === MISSING || refusalOf(parseReference(image), undefined) === undefined;
  } catch {
    return false; // a placeholder such as <your-private-image>
  }
}

test("the registry has the images of every example, but for those of your own", () => {
  for (const { path, reason, images } of ROWS) {
    if (reason === "kind not served" || reason === "not an object") continue;
    const lacking = images.filter((image) => !canBePulled(image));
    assert.equal(lacking.length > 0, NOT_OURS.includes(reason), `${path}: ${lacking}`);
  }
});

test("the API server creates every kind of the examples, but for those that it does not serve", () => {
  const creates = ({ verbs }: (typeof RESOURCES)[number]) => verbs === undefined || verbs.includes("create");
  // The page's CustomResourceDefinition adds the shirts.
  const served = new Set([...RESOURCES.filter(creates).map(({ kind }) => kind), "Shirt"]);
  for (const { path, reason, kinds } of ROWS) {
    if (reason === "not an object") continue;
    const lacking = kinds.filter((kind) => !served.has(kind));
    assert.equal(lacking.length > 0, reason === "kind not served", `${path}: ${lacking}`);
  }
});

test("docs/fidelity.md has the number of examples of each result and reason", () => {
  const text = readFileSync(new URL("../../../docs/fidelity.md", import.meta.url), "utf8");
  const reasons = ROWS.map(({ result, reason }) => `${result} | ${reason.replace(/:.*/, "")}`);
  for (const one of new Set(reasons)) {
    const count = reasons.filter((reason) => reason === one).length;
    assert.ok(text.includes(`| ${one} | ${count} |`), `| ${one} | ${count} |`);
  }
  assert.ok(text.includes(`${ROWS.length} examples`), `${ROWS.length} examples`);
});
