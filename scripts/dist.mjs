// Makes dist/: bundles the CLI: a small entry, and one chunk for each command, loaded when the command runs.
// An unbundled @kubernetes/client-node costs 300 ms per start, and most commands never load it.
import { chmod, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { brotliCompressSync, constants } from "node:zlib";
import { browserInputs } from "./browser-bundle.mjs";
import {
  bundleProgram,
  PAGE_HEAD_FILE,
  PROCESSES,
  PROGRAMS,
  SOURCES_FILE,
  STACK_MAPS_FILE,
  withModule,
} from "./bundle.mjs";
import { writeDeclarations } from "./declarations.mjs";
import { bundledPackages, thirdPartyNotices } from "./notices.mjs";
import { sbom } from "./sbom.mjs";
import { chapterSources, stackMaps } from "./sources.mjs";

const { version } = JSON.parse(await readFile(new URL("../package.json", import.meta.url), "utf8"));

// The processes of the runtime have a bundle of their own: with the chunks of the CLI, they would load twice as many files.
const bundles = [
  ["dist", await bundleProgram(PROGRAMS, version, "./runtime")],
  ["dist/runtime", await bundleProgram(PROCESSES, version, ".")],
];
const chunks = bundles.flatMap(([folder, output]) => output.map((chunk) => ({ ...chunk, folder })));
// Written in one go, so that a process that starts meanwhile rarely finds a half-written bundle.
await rm(new URL("../dist", import.meta.url), { recursive: true, force: true });
await mkdir("dist/runtime", { recursive: true });
for (const { folder, fileName, code } of chunks) await writeFile(`${folder}/${fileName}`, code);
// Not in the JavaScript, which starts faster without them: who reads a crash report or a chapter waits for a moment.
await writeFile(`dist/${STACK_MAPS_FILE}`, packed(stackMaps(chunks)));
await writeFile(`dist/${SOURCES_FILE}`, packed(await chapterSources("src")));
await writeDeclarations("src/index.ts", "dist/types");
const packages = await bundledPackages([...chunks.flatMap(({ moduleIds }) => moduleIds), ...browserInputs]);
await writeFile("dist/THIRD-PARTY-NOTICES.txt", thirdPartyNotices(packages));
await writeFile("dist/sbom.cdx.json", `${JSON.stringify(sbom(version, packages), undefined, 2)}\n`);
await chmod("dist/cli.js", 0o755);
// Labs and topics as the program reads them, checked here so that the program need not check them.
await withModule("scripts/compile-content.ts", ({ writeContent }) => writeContent("dist"));
await withModule("src/trace/ui/page.ts", ({ PAGE_HEAD }) => writeFile(`dist/${PAGE_HEAD_FILE}`, PAGE_HEAD));

/** Higher qualities take many seconds for a tenth less. */
function packed(value) {
  return brotliCompressSync(JSON.stringify(value), { params: { [constants.BROTLI_PARAM_QUALITY]: 7 } });
}
