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

/** Bundles run on the oldest Node that the program supports. */
const FOR_NODE = { bundle: true, format: "esm", platform: "node", target: "node20.18" };
/**
 * The program: shared code is in chunks, and each command's own code is loaded when it runs.
 * @param version what `kubelab --version` prints
 */
export function programOptions(version) {
  return {
    ...FOR_NODE,
    minify: true,
    legalComments: "none",
    splitting: true,
    define: { KUBELAB_VERSION: JSON.stringify(version), KUBELAB_COMPILED_LABS: "true" },
    external: UNUSED,
  };
}

/**
 * Imports a TypeScript file that is not part of the CLI and passes its module to `use`. It is bundled to a temporary file
 * first, because Node 20 cannot parse `await using`.
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
