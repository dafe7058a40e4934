// Bundles the CLI: a small entry, and one chunk for each command, loaded when the command runs.
// An unbundled @kubernetes/client-node costs 300 ms per start, and most commands never load it.
import { chmod, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { build } from "esbuild";
import { BANNER, browserOutputs, PAGE_HEAD_FILE, PROCESSES, programOptions, withModule } from "./bundle.mjs";
import { thirdPartyNotices } from "./notices.mjs";

const { version } = JSON.parse(await readFile(new URL("../package.json", import.meta.url), "utf8"));

const bundle = (entryPoints, outdir, processFolder) =>
  build({
    ...programOptions(version, processFolder),
    entryPoints,
    outdir,
    logLevel: "warning",
    banner: BANNER,
    metafile: true,
    write: false,
  });
// The processes of the runtime have a bundle of their own: with the chunks of the CLI, they would load twice as many files.
const bundles = await Promise.all([
  bundle({ cli: "src/cli.ts" }, "dist", "./runtime"),
  bundle(PROCESSES, "dist/runtime", "."),
]);
const files = new Map(bundles.flatMap(({ outputFiles }) => outputFiles).map(({ path, text }) => [path, text]));
// Only chunks of CommonJS packages call require().
for (const [name, text] of files) {
  const rest = text.replace(`${BANNER.js}\n`, "");
  if (!/\brequire\b/.test(rest)) files.set(name, rest);
}
// Written in one go, so that a process that starts meanwhile rarely finds a half-written bundle.
await rm(new URL("../dist", import.meta.url), { recursive: true, force: true });
await mkdir("dist/runtime", { recursive: true });
for (const [path, text] of files) await writeFile(path, text);
const outputs = Object.assign({}, browserOutputs, ...bundles.map(({ metafile }) => metafile.outputs));
await writeFile("dist/THIRD-PARTY-NOTICES.txt", await thirdPartyNotices(outputs));
await chmod("dist/cli.js", 0o755);
// The labs as the program reads them, checked here so that the program need not check them.
await withModule("scripts/compile-labs.ts", ({ writeCompiledLabs }) => writeCompiledLabs("labs", "dist/labs"));
await withModule("src/ui/page.ts", ({ PAGE_HEAD }) => writeFile(`dist/${PAGE_HEAD_FILE}`, PAGE_HEAD));
