import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "vitest";

test("the package has no script that npm runs, or warns about, where it is installed", () => {
  const { scripts } = JSON.parse(readFileSync("package.json", "utf8")) as { readonly scripts: object };
  const installing = Object.keys(scripts).filter((name) => /^(?:(?:pre|post)?(?:install|prepare))$/.test(name));
  assert.deepEqual(installing, []);
});
