// Bundles the CLI: one small entry, each command in a chunk of its own that is loaded when the command runs.
// An unbundled @kubernetes/client-node costs some 300 ms per start; most commands never load it.
import { chmod, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";

const { version } = JSON.parse(await readFile(new URL("../package.json", import.meta.url), "utf8"));

await rm(new URL("../dist", import.meta.url), { recursive: true, force: true });
await build({
  entryPoints: { cli: "src/cli.ts" },
  outdir: "dist",
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20.18",
  minify: true,
  legalComments: "none",
  logLevel: "warning",
  define: { KUBELAB_VERSION: JSON.stringify(version), KUBELAB_COMPILED_LABS: "true" },
  // Optional native parts of just-bash (tar's compressions): not there on every machine, and loaded by nobody here.
  external: ["@mongodb-js/zstd", "node-liblzma"],
  // CommonJS dependencies inside an ES module bundle still call require().
  banner: {
    js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);',
  },
});
await chmod("dist/cli.js", 0o755);
await compileLabs();

/** The labs as the program reads them: checked here, so that who learns need not wait for it. */
async function compileLabs() {
  const folder = await mkdtemp(join(tmpdir(), "kubelab-build-"));
  try {
    const outfile = join(folder, "compile.mjs");
    const banner =
      'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);';
    await build({
      entryPoints: ["scripts/compile-labs.ts"],
      outfile,
      bundle: true,
      format: "esm",
      platform: "node",
      target: "node20.18",
      logLevel: "warning",
      banner: { js: banner },
    });
    const { writeCompiledLabs } = await import(pathToFileURL(outfile).href);
    await writeCompiledLabs("labs", "dist/labs");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
