import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { beforeAll, expect, test } from "vitest";

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "kubelab-package-"));
  const npm = (...args: string[]) => execFileSync("npm", args, { cwd: folder, encoding: "utf8", stdio: "pipe" });
  npm("pack", resolve("."), "--ignore-scripts");
  npm("install", "--offline", "--no-audit", "./kubelab-0.1.0.tgz");
});

test("the package installs offline, without any dependency", () => {
  expect(readdirSync(join(folder, "node_modules")).filter((name) => !name.startsWith("."))).toEqual(["kubelab"]);
});

// Each command loads other bundled packages.
for (const argv of [
  ["bootstrap"],
  ["exec", "nettool", "--", "ls", "/"],
  ["learn", "list"],
  ["csr", "create", "--node", "n1"],
]) {
  test(`the installed package runs kubelab ${argv.join(" ")}`, () => {
    const env = { PATH: process.env["PATH"], HOME: folder };
    const program = join(folder, "node_modules/.bin/kubelab");
    expect(execFileSync(program, argv, { cwd: folder, env, encoding: "utf8", stdio: "pipe" })).not.toBe("");
  });
}

test("the package has the licences of what it bundles", () => {
  const notices = readFileSync(join(folder, "node_modules/kubelab/dist/THIRD-PARTY-NOTICES.txt"), "utf8");
  for (const name of ["@grpc/grpc-js", "@kubernetes/client-node", "chalk", "commander", "just-bash", "node-forge"]) {
    expect(notices).toMatch(new RegExp(`^${name} [\\d.]+ \\(.+\\)`, "m"));
  }
});
