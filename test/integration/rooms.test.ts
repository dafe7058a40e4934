import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { beforeAll, expect, test } from "vitest";

const ROOM = /This room stands above or beside/;
const TERMINAL = /Only src\/cli and src\/commands/;
const CLOCK = /Only src\/util\/clock.ts reads the system clock/;

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "kubelab-rooms-"));
  copyFileSync("rooms.grit", join(folder, "rooms.grit"));
  const linter = { rules: { preset: "none" } };
  writeFileSync(join(folder, "biome.json"), JSON.stringify({ plugins: ["./rooms.grit"], linter }));
});

/** What Biome prints about a file of one line. */
function lint(path: string, line: string): string {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${line}\n`);
  const { stdout, stderr } = spawnSync(resolve("node_modules/.bin/biome"), ["lint", file], {
    cwd: folder,
    encoding: "utf8",
  });
  return stdout + stderr;
}

const REFUSED: readonly (readonly [path: string, line: string, message: RegExp])[] = [
  ["src/kubelet/pleg/a.ts", 'import { a } from "../../controlplane/start.js";', ROOM],
  ["src/kubelet/a.ts", 'import type { A } from "../runtime/start.js";', ROOM],
  ["src/kubelet/a.ts", 'export { a } from "../commands/node.js";', ROOM],
  ["src/controlplane/a.ts", 'export const a = () => import("../kubelet/kubelet.js");', ROOM],
  ["src/util/a.ts", 'import { a } from "../trace/trace.js";', ROOM],
  ["src/kubelet/a.ts", 'import chalk from "chalk";', TERMINAL],
  ["src/labs/a.ts", 'import select from "@inquirer/select";', TERMINAL],
  ["src/kubelet/a.ts", "export const a = () => setTimeout(() => {}, 1);", CLOCK],
  ["src/kubelet/a.ts", "export const a = Date.now();", CLOCK],
];
for (const [path, line, message] of REFUSED) {
  test(`lint refuses in ${path}: ${line}`, () => expect(lint(path, line)).toMatch(message));
}

const ALLOWED: readonly (readonly [path: string, line: string])[] = [
  ["src/kubelet/pleg/a.ts", 'import { a } from "../../cri/client.js";'],
  // A folder inside a room may have the name of a room.
  ["src/kubelet/sync/a.ts", 'import { a } from "../server/start.js";'],
  ["src/commands/a.ts", 'import chalk from "chalk";'],
  ["src/trace/terminal.ts", 'import type { ChalkInstance } from "chalk";'],
  ["src/util/clock.ts", "export const a = Date.now();"],
  ["src/kubelet/a.ts", "export const a = new Date(0);"],
];
for (const [path, line] of ALLOWED) {
  test(`lint allows in ${path}: ${line}`, () => expect(lint(path, line)).not.toMatch(/rooms\.grit|Only src/));
}
