import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { test } from "vitest";
import { sourceFiles } from "./support/source-files.js";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const SECTION = "## One upstream file in two rooms";
/** A citation: the rest of the line after `Mirrors`, and the comment's next line. */
const CITATION = /Mirrors ([^\n]*(?:\n\s*\* [^\n@]*)?)/g;
const UPSTREAM_FILE = /(?:pkg|staging|cmd|plugin|vendor|test)\/[\w./-]+\.go/g;

/** upstream file -> rooms of src/ that cite it */
const rooms = new Map<string, Set<string>>();
for (const file of sourceFiles(join(ROOT, "src"))) {
  const [wing = "", folder = ""] = relative(join(ROOT, "src"), file).split("/");
  const room = /^(staging|cluster|lab)$/.test(wing) ? folder : wing;
  for (const [, citation = ""] of readFileSync(file, "utf8").matchAll(CITATION)) {
    for (const [upstream] of citation.matchAll(UPSTREAM_FILE)) {
      rooms.set(upstream, (rooms.get(upstream) ?? new Set()).add(room));
    }
  }
}
const shared = [...rooms]
  .filter(([, of]) => of.size > 1)
  .map(([upstream, of]) => `${upstream}: ${[...of].sort().join(", ")}`);

const [, section = ""] = readFileSync(join(ROOT, "docs/fidelity.md"), "utf8").split(SECTION);
const explained = [...section.matchAll(/^\| `([^`]+)` \| ([^|]+) \| [^|]+ \|$/gm)].map(
  ([, upstream, of = ""]) => `${upstream}: ${of.trim()}`,
);

test("the reader of citations finds them", () => {
  assert.ok(rooms.size > 200, `found ${rooms.size} upstream files`);
});

test("an upstream file that two rooms mirror is listed with its reason in docs/fidelity.md", () => {
  assert.deepEqual(shared.sort(), explained.sort());
});
