// Makes dist/ unless it is up to date: `npm ci`, `npm test` and both slower suites build, and nothing changes in between.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const ROOT = resolve(import.meta.dirname, "..");
const INPUTS = ["src", "labs", "topics", "templates", "fixtures", "scripts", "package.json", "package-lock.json"];
const STAMP = join(ROOT, "node_modules/.cache/dist-inputs");

process.chdir(ROOT);
const inputs = stampOf(INPUTS);
if (!existsSync("dist/cli.js") || !existsSync(STAMP) || readFileSync(STAMP, "utf8") !== inputs) {
  await import("./dist.mjs");
  mkdirSync(join(STAMP, ".."), { recursive: true });
  writeFileSync(STAMP, inputs);
}

/** Names, sizes and times of all files: what a change of any of them changes. */
function stampOf(paths) {
  const hash = createHash("sha256").update(ROOT);
  const add = (path) => {
    const { mtimeMs, size } = statSync(path);
    hash.update(`${path} ${size} ${mtimeMs}\n`);
  };
  for (const path of paths) {
    if (!statSync(path).isDirectory()) add(path);
    else for (const name of readdirSync(path, { recursive: true }).sort()) add(join(path, name));
  }
  return hash.digest("hex");
}
