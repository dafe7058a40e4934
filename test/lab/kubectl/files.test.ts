import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { readObjects } from "../../../src/lab/kubectl/files.js";

const folder = mkdtempSync(join(tmpdir(), "kubelab-files-"));
writeFileSync(join(folder, "broken.yaml"), "a: [1\n");

for (const [file, hint] of [
  ["broken.yaml", "Look at the manifest."],
  ["missing.yaml", "Name a file."],
] as const) {
  test(`${file} cannot be read: ${hint}`, async () => {
    const context = { cwd: folder, signal: new AbortController().signal } as Parameters<typeof readObjects>[0];
    await assert.rejects(readObjects(context, [file], "USAGE"), { code: "USAGE", message: /cannot be read/, hint });
  });
}
