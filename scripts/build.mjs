// Bundles the CLI: one small entry, each command in a chunk of its own that is loaded when the command runs.
// An unbundled @kubernetes/client-node costs some 300 ms per start; most commands never load it.
import { chmod, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { build } from "esbuild";
import { BANNER, programOptions, withModule } from "./bundle.mjs";
import { dropBanners, mergeSmallChunks } from "./chunks.mjs";
import { thirdPartyNotices } from "./notices.mjs";

const { version } = JSON.parse(await readFile(new URL("../package.json", import.meta.url), "utf8"));

const { metafile, outputFiles } = await build({
  ...programOptions(version),
  entryPoints: { cli: "src/cli.ts" },
  outdir: "dist",
  logLevel: "warning",
  banner: BANNER,
  metafile: true,
  write: false,
});
const files = new Map(outputFiles.map(({ path, text }) => [basename(path), text]));
dropBanners(files);
await mergeSmallChunks(files, metafile.outputs, "dist/cli.js");
// Written at once: who builds in the same folder at the same time finds none that is half done for long.
await rm(new URL("../dist", import.meta.url), { recursive: true, force: true });
await mkdir("dist", { recursive: true });
for (const [name, text] of files) await writeFile(join("dist", name), text);
await writeFile("dist/THIRD-PARTY-NOTICES.txt", await thirdPartyNotices(metafile.outputs));
await chmod("dist/cli.js", 0o755);
// The labs as the program reads them: checked here, so that who learns need not wait for it.
await withModule("scripts/compile-labs.ts", ({ writeCompiledLabs }) => writeCompiledLabs("labs", "dist/labs"));
