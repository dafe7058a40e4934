// Bundles the CLI: one small entry, each command in a chunk of its own that is loaded when the command runs.
// An unbundled @kubernetes/client-node costs some 300 ms per start; most commands never load it.
import { chmod, readFile, rm } from "node:fs/promises";
import { build } from "esbuild";
import { BANNER, NATIVE, withModule } from "./bundle.mjs";
import { dropBanners, mergeSmallChunks } from "./chunks.mjs";

const { version } = JSON.parse(await readFile(new URL("../package.json", import.meta.url), "utf8"));

await rm(new URL("../dist", import.meta.url), { recursive: true, force: true });
const { metafile } = await build({
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
  external: NATIVE,
  banner: BANNER,
  metafile: true,
});
await dropBanners("dist");
await mergeSmallChunks("dist", metafile.outputs, "dist/cli.js");
await chmod("dist/cli.js", 0o755);
// The labs as the program reads them: checked here, so that who learns need not wait for it.
await withModule("scripts/compile-labs.ts", ({ writeCompiledLabs }) => writeCompiledLabs("labs", "dist/labs"));
