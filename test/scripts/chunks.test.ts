import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { build, type Metafile } from "esbuild";
import { test } from "vitest";
import { makeFolder } from "../../src/util/files.js";

interface Chunks {
  dropBanners(files: Map<string, string>): void;
  mergeSmallChunks(files: Map<string, string>, outputs: Metafile["outputs"], entry: string): Promise<void>;
}

const CHUNKS = new URL("../../scripts/chunks.mjs", import.meta.url).href;
const BUNDLE = new URL("../../scripts/bundle.mjs", import.meta.url).href;
const COMMANDS = ["a", "b", "c", "d", "e", "f", "g", "h"];

test("small chunks that many import become one file, in which everything is once", async () => {
  const { dropBanners, mergeSmallChunks } = (await import(CHUNKS)) as Chunks;
  const { BANNER } = (await import(BUNDLE)) as { readonly BANNER: { readonly js: string } };
  const folder = await mkdtemp(join(tmpdir(), "kubelab-chunks-"));
  try {
    const commands = COMMANDS.map((name) => `["${name}", () => import("./${name}.js")]`);
    const sources: Record<string, string> = {
      "cli.js": `import { first } from "./first.js"; export const all = [${commands.join(", ")}]; export const seen = first;`,
      "first.js": "export const first = [];",
      "shared.js": 'import { basename, join } from "node:path"; export class Shared { path = join("a", "b"); }',
      "user.js": 'import { Shared } from "./shared.js"; export const made = new Shared();',
      "heavy.js": 'import { createServer } from "node:http"; export const heavy = createServer;',
    };
    for (const name of COMMANDS) {
      const it =
        name < "g" ? 'import { made } from "./user.js"; export const it = made;' : "export const it = new Shared();";
      const isHeavy = name < "h" ? 'import { heavy } from "./heavy.js"; first.push(typeof heavy);' : "";
      sources[`${name}.js`] = [
        'import { first } from "./first.js"; import { Shared } from "./shared.js";',
        `${it} ${isHeavy} first.push("${name}"); export const isShared = it instanceof Shared;`,
      ].join("\n");
    }
    for (const [name, text] of Object.entries(sources)) await writeFile(join(folder, name), text);
    const { metafile, outputFiles } = await build({
      absWorkingDir: folder,
      entryPoints: { cli: "cli.js" },
      outdir: "dist",
      bundle: true,
      splitting: true,
      minify: true,
      format: "esm",
      platform: "node",
      metafile: true,
      write: false,
      banner: BANNER,
    });
    const files = new Map(outputFiles.map(({ path, text }) => [basename(path), text]));
    const before = files.size;
    dropBanners(files);
    await mergeSmallChunks(files, metafile.outputs, "dist/cli.js");
    const common = files.get("common.js") ?? "";
    assert.equal(files.size, before - 1);
    assert.ok(common.includes("node:path") && !common.includes("node:http"), "what is heavy stays apart");
    for (const [name, text] of files) assert.ok(!text.includes("createRequire"), name);
    const dist = join(folder, "dist");
    await makeFolder(dist);
    await writeFile(join(folder, "package.json"), '{ "type": "module" }');
    for (const [name, text] of files) await writeFile(join(dist, name), text);
    const { all, seen } = (await import(pathToFileURL(join(dist, "cli.js")).href)) as {
      readonly all: readonly [string, () => Promise<{ readonly isShared: boolean }>][];
      readonly seen: readonly string[];
    };
    for (const [, load] of all) assert.equal((await load()).isShared, true);
    const heavy = COMMANDS.flatMap((name) => (name < "h" ? ["function", name] : [name]));
    assert.deepEqual(seen, heavy);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
