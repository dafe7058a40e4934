import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "vitest";

interface Checker {
  problems(root: string): string[];
}
const { problems } = (await import(new URL("../../scripts/check-imports.mjs", import.meta.url).href)) as Checker;

/** @param files path under src/ -> text */
function problemsOf(files: Readonly<Record<string, string>>): string[] {
  const root = mkdtempSync(join(tmpdir(), "kubelab-imports-"));
  for (const [path, text] of Object.entries(files)) {
    const file = join(root, "src", path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `${text}\n`);
  }
  return problems(root);
}

const ABOVE = /stands above it/;
const NETWORK = /meet over the network only/;
const TERMINAL = /only src\/commands draws on the terminal/;
const CLOCK = /reads the system clock/;

const refused: readonly (readonly [path: string, line: string, message: RegExp])[] = [
  ["kubelet/pleg/a.ts", 'import { a } from "../../cluster/control-plane/start.js";', ABOVE],
  ["kubelet/a.ts", 'import type { A } from "../cluster/runtime/start.js";', ABOVE],
  ["kubelet/a.ts", 'export { a } from "../commands/node.js";', ABOVE],
  ["kubelet/a.ts", 'import {\n  type A,\n  a,\n} from "../testbed/node.js";', ABOVE],
  ["util/a.ts", 'import { a } from "../trace/trace.js";', ABOVE],
  ["util/a.ts", 'import "../trace/trace.js";', ABOVE],
  ["cluster/apiserver/a.ts", 'export const a = () => import("../../kubelet/kubelet.js");', NETWORK],
  ["cluster/scheduler/a.ts", 'import { a } from "../apiserver/registry/registry.js";', NETWORK],
  ["cluster/runtime/a.ts", 'import { a } from "../controllers/job/job.js";', NETWORK],
  ["other/a.ts", 'import { a } from "../util/a.js";', /other\/a\.ts is in no wing/],
  ["kubelet/a.ts", 'import chalk from "chalk";', TERMINAL],
  ["lab/labs/a.ts", 'import select from "@inquirer/select";', TERMINAL],
  ["kubelet/a.ts", "export const a = () => setTimeout(() => {}, 1);", CLOCK],
  ["kubelet/a.ts", "export const a = Date.now();", CLOCK],
];
for (const [path, line, message] of refused) {
  test(`refused in ${path}: ${line}`, () => {
    const found = problemsOf({ [path]: line });
    assert.equal(found.length, 1, found.join("\n"));
    assert.match(found[0] ?? "", message);
  });
}

const allowed: readonly (readonly [path: string, line: string])[] = [
  ["kubelet/pleg/a.ts", 'import { a } from "../../staging/cri/client.js";'],
  // A folder inside a wing may have the name of a program.
  ["kubelet/sync/a.ts", 'import { a } from "../runtime/start.js";'],
  ["cluster/control-plane/a.ts", 'import { a } from "../scheduler/scheduler.js";'],
  ["cluster/apiserver/registry/a.ts", 'import { a } from "../storage/storage.js";'],
  ["cluster/kube-proxy/a.ts", 'import { a } from "../netfilter/rules.js";'],
  ["commands/a.ts", 'import chalk from "chalk";'],
  ["trace/terminal/options.ts", 'import type { ChalkInstance } from "chalk";'],
  ["util/clock.ts", "export const a = Date.now();"],
  ["kubelet/a.ts", "export const a = new Date(0);"],
  ["kubelet/a.ts", "/** Like setTimeout(), or Date.now(). */"],
  ["kubelet/a.ts", 'import names from "../../fixtures/names.json" with { type: "json" };'],
];
for (const [path, line] of allowed) {
  test(`allowed in ${path}: ${line}`, () => assert.deepEqual(problemsOf({ [path]: line }), []));
}

test("two folders beside each other that import each other are named once, with both imports", () => {
  assert.deepEqual(
    problemsOf({
      "kubelet/pleg/events/a.ts": 'import { b } from "../records/b.js";',
      "kubelet/pleg/records/b.ts": 'import type { A } from "../events/a.js";',
      // A file beside a folder is no folder, and one direction is no circle.
      "kubelet/pleg/c.ts": 'import { a } from "./events/a.js";',
      "kubelet/status/d.ts": 'import { c } from "../pleg/c.js";',
    }),
    [
      "src/kubelet/pleg/events and src/kubelet/pleg/records import each other: kubelet/pleg/events/a.ts -> kubelet/pleg/records/b.js; kubelet/pleg/records/b.ts -> kubelet/pleg/events/a.js",
    ],
  );
});

test("a folder has at most 25 entries, and the kubelet, with upstream's folders, 28", () => {
  const files = (folder: string, count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`${folder}/file-${at}.ts`, ""]));
  assert.deepEqual(problemsOf(files("kubelet/pleg", 25)), []);
  assert.match(problemsOf(files("kubelet/pleg", 26)).join(), /src\/kubelet\/pleg has 26 entries/);
  assert.deepEqual(problemsOf(files("kubelet", 28)), []);
  assert.match(problemsOf(files("kubelet", 29)).join(), /src\/kubelet has 29 entries/);
});
