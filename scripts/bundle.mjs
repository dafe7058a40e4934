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

/**
 * Keeps of @kubernetes/client-node what its KubeConfig needs: not the generated API, which has no effects of its own, and not
 * the URL parser with Unicode's tables, which Node has built in. The SOCKS agent is evaluated when a kubeconfig needs it.
 */
const CLIENT_NODE = {
  name: "client-node",
  setup(bundler) {
    bundler.onResolve({ filter: /^\.\.?\// }, ({ path, importer, resolveDir }) =>
      importer.includes("/@kubernetes/client-node/dist/")
        ? { path: join(resolveDir, path), sideEffects: false }
        : undefined,
    );
    bundler.onResolve({ filter: /^(whatwg-url|socks-proxy-agent)$/ }, ({ path, kind, resolveDir }) =>
      path === "whatwg-url" || kind === "import-statement"
        ? { path, namespace: "client-node", pluginData: resolveDir }
        : undefined,
    );
    bundler.onLoad({ filter: /^whatwg-url$/, namespace: "client-node" }, () => ({
      contents: "module.exports = { URL };",
    }));
    bundler.onLoad({ filter: /^socks-proxy-agent$/, namespace: "client-node" }, ({ path, pluginData }) => ({
      contents: `export function SocksProxyAgent(...options) {
        return new (require(${JSON.stringify(path)}).SocksProxyAgent)(...options);
      }`,
      resolveDir: pluginData,
    }));
  },
};

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
    plugins: [CLIENT_NODE],
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
