import assert from "node:assert/strict";
import { test } from "vitest";
import { loadedBy } from "../../support/loaded-by.js";

/** Whatever a learner waits for before the menu shows, or a check answers. */
const ENTRIES = [
  "src/commands/main.ts",
  "src/commands/learn/learn.ts",
  "src/commands/learn/menu/menu.ts",
  "src/commands/learn/operations.ts",
  "src/commands/learn/menu/listing.ts",
  "src/commands/learn/menu/menu-prompt.ts",
];
/** Slow modules that these commands do not need. */
const HEAVY =
  /^src\/(cluster|kubelet|staging\/(client-go|pki))\/|node_modules\/(inquirer|iconv-lite|zod|yaml|js-yaml|ora|@kubernetes)\//;
const MAX_BYTES = 281_000;
/** Each costs about 0.7 ms. Without the parts of scripts/parts.mjs there are more than 60. */
const MAX_FILES = 24;

test("the menu, check, next and hint load neither a cluster nor heavy packages", async () => {
  const { inputs, files, bytes } = await loadedBy(ENTRIES);
  assert.ok(inputs.has("src/commands/learn/menu/menu.ts"));
  assert.deepEqual(
    [...inputs].filter((name) => HEAVY.test(name)),
    [],
  );
  assert.ok(files <= MAX_FILES, `${files} files`);
  assert.ok(bytes < MAX_BYTES, `${bytes} bytes of code`);
});
