// Runs a TypeScript file with its arguments: `node scripts/run.mjs bench/startup.ts --runs 5`.
// Bundled to a temporary file first, as `await using` is more than Node 20 can parse.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";

const [file, ...args] = process.argv.slice(2);
if (file === undefined) throw new Error("usage: node scripts/run.mjs FILE.ts [argument ...]");

const folder = await mkdtemp(join(tmpdir(), "kubelab-run-"));
const outfile = join(folder, "main.mjs");
try {
  await build({
    entryPoints: [file],
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20.18",
    logLevel: "warning",
    external: ["vitest", "esbuild", "@mongodb-js/zstd", "node-liblzma"],
    banner: { js: 'import { createRequire as __r } from "node:module"; const require = __r(import.meta.url);' },
  });
  process.argv = [process.argv[0] ?? "node", file, ...args];
  await import(pathToFileURL(outfile).href);
} finally {
  await rm(folder, { recursive: true, force: true });
}
