import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";

/** CommonJS dependencies inside an ES module bundle still call require(). */
export const BANNER = {
  js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);',
};
/** What packages load only for features that are not used: tar's compressions (just-bash), gRPC's channelz (grpc-js). */
const UNUSED = ["@mongodb-js/zstd", "node-liblzma", "@grpc/proto-loader"];

/** What is bundled here is run by Node, the oldest that the program takes. */
const FOR_NODE = { bundle: true, format: "esm", platform: "node", target: "node20.18" };
/** One file, as small as it can be. */
export const SMALL = { ...FOR_NODE, minify: true, legalComments: "none" };
/**
 * The program: what commands share is in chunks, and each command's own is loaded when it runs.
 * @param version that `kubelab --version` tells
 */
export function programOptions(version) {
  return {
    ...SMALL,
    splitting: true,
    define: { KUBELAB_VERSION: JSON.stringify(version), KUBELAB_COMPILED_LABS: "true" },
    external: UNUSED,
  };
}

/**
 * Imports a TypeScript file that is no part of the CLI and hands its module to `use`. It is bundled to a temporary file first,
 * as `await using` is more than Node 20 can parse.
 */
export async function withModule(file, use) {
  const folder = await mkdtemp(join(tmpdir(), "kubelab-run-"));
  const outfile = join(folder, "main.mjs");
  try {
    await build({
      entryPoints: [file],
      outfile,
      ...FOR_NODE,
      logLevel: "warning",
      external: ["vitest", "esbuild", ...UNUSED],
      banner: BANNER,
    });
    await use(await import(pathToFileURL(outfile).href));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
