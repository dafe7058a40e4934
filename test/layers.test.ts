import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { test } from "vitest";
import { importsOf, sourceFiles } from "./support/source-files.js";

const SRC = fileURLToPath(new URL("../src", import.meta.url));

/** Who may import whom. A room may always import itself. `types`: only `import type`. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  util: [],
  release: ["util", "trace (types)"],
  trace: ["util"],
  apimachinery: ["util"],
  pki: ["apimachinery", "util"],
  streaming: ["apimachinery", "util"],
  cri: ["apimachinery", "trace", "util"],
  "client-go": ["apimachinery", "pki", "trace", "util"],
  labs: ["apimachinery", "client-go", "trace", "util"],
  shell: ["streaming", "util"],
  runtime: ["apimachinery", "cri", "pki", "release", "shell", "streaming", "trace", "util"],
  kubelet: ["apimachinery", "client-go", "cri", "pki", "release", "streaming", "trace", "util"],
  controlplane: ["apimachinery", "client-go", "pki", "release", "streaming", "trace", "util"],
  cli: [
    "apimachinery",
    "client-go",
    "commands",
    "controlplane",
    "cri",
    "kubelet",
    "labs",
    "pki",
    "release",
    "runtime",
    "streaming",
    "trace",
    "util",
  ],
  commands: [
    "apimachinery",
    "cli",
    "client-go",
    "controlplane",
    "cri",
    "kubelet",
    "labs",
    "pki",
    "release",
    "runtime",
    "streaming",
    "trace",
    "util",
  ],
  "cli.ts": ["cli", "util"],
};

/** Packages that draw on the terminal: only the rooms that face it may know them. */
const TERMINAL_PACKAGES = /^(chalk|ora|inquirer|@inquirer\/\w+|commander)$/;
const TERMINAL_ROOMS = new Set(["cli", "commands", "cli.ts"]);

function roomOf(path: string): string {
  return relative(SRC, path).split("/")[0] ?? "";
}

const imports = sourceFiles(SRC).flatMap(importsOf);

test("the reader of imports finds them", () => {
  assert.ok(imports.length > 100, `found ${imports.length} imports`);
});

test("rooms import only what stands below them", () => {
  const upward = imports
    // Fixtures are content, not code: whoever needs one may have it.
    .filter((one) => one.specifier.startsWith(".") && !/^(\.\.\/)+fixtures\/.*\.json$/.test(one.specifier))
    .flatMap((one) => {
      const from = roomOf(one.file);
      const to = roomOf(join(dirname(one.file), one.specifier));
      const allowed = MAY_IMPORT[from] ?? [];
      const ok = from === to || allowed.includes(to) || (one.isType && allowed.includes(`${to} (types)`));
      return ok ? [] : [`${relative(SRC, one.file)} imports ${one.specifier}`];
    });
  assert.deepEqual(upward, []);
});

test("only the rooms that face the terminal know its packages", () => {
  const strangers = imports
    .filter((one) => TERMINAL_PACKAGES.test(one.specifier) && !TERMINAL_ROOMS.has(roomOf(one.file)))
    // The terminal renderer is handed its colours; it needs the type only.
    .filter((one) => !(one.file.endsWith("trace/terminal.ts") && one.isType))
    .map((one) => `${relative(SRC, one.file)} imports ${one.specifier}`);
  assert.deepEqual(strangers, []);
});

test("the system clock is read in one file", () => {
  const readers = sourceFiles(SRC)
    .filter((file) => !file.endsWith("util/clock.ts"))
    .filter((file) => /\b(Date\.now\(|new Date\(\)|setTimeout\(|setInterval\()/.test(readFileSync(file, "utf8")))
    .map((file) => relative(SRC, file));
  assert.deepEqual(readers, []);
});
