import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "vitest";
import { openLibrary, openPaths } from "../../../src/lab/labs/format/open-library.js";
import { compilePaths } from "../../../src/lab/labs/format/paths.js";
import { sayIn } from "../../../src/util/i18n/catalogue.js";
import { runInProcess } from "../../support/run-cli.js";

test("each path names labs that exist, once, from the first lab on", async () => {
  const known = (await openLibrary()).summaries.map(({ id }) => id);
  const paths = await openPaths();
  assert.deepEqual(
    paths.map(({ id }) => id),
    ["on-call", "reading-the-source", "writing-a-node-agent"],
  );
  for (const { labs, page } of paths) {
    assert.equal(new Set(labs).size, labs.length);
    assert.deepEqual(
      labs.filter((id) => !known.includes(id)),
      [],
    );
    assert.equal(labs[0], "tour");
    assert.match(page.zh, /\p{Script=Han}/u);
  }
});

test("the table of a path says what its column OWN means", async () => {
  const { stdout } = await runInProcess(["learn", "path", "on-call"]);
  assert.match(stdout, /\nOWN: on a cluster of your own too: [^\n]*\n\nNext: /);
});

describe("a path with a mistake is reported with its line", () => {
  const good =
    "- id: one\n  labs: [tour]\n  title: { en: a, zh: b }\n  about: { en: a, zh: b }\n  page: { en: a, zh: b }\n";
  for (const [name, yaml, line, message] of [
    ["an unknown lab", good.replace("[tour]", "[tour, detour]"), 2, /detour/],
    ["a missing language", good.replace("page: { en: a, zh: b }", "page: { en: a }"), 5, /zh/],
    ["no labs", good.replace("[tour]", "[]"), 2, /labs/],
  ] as const) {
    test(name, async () => {
      const file = join(mkdtempSync(join(tmpdir(), "kubelab-paths-")), "paths.yaml");
      writeFileSync(file, yaml);
      const { problems } = await compilePaths(file, ["tour"], sayIn("en"));
      assert.equal(problems.length, 1);
      assert.equal(problems[0]?.line, line);
      assert.match(problems[0]?.message ?? "", message);
    });
  }
});
