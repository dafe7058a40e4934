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
 * Modules in place of what client-node imports: Node has URL built in, kubeconfigs are parsed before client-node gets
 * them, and the proxy is loaded when it is used.
 */
const CLIENT_NODE_IMPORTS = {
  "whatwg-url": "module.exports = { URL };",
  "js-yaml": "export default {};",
  "socks-proxy-agent": `export function SocksProxyAgent(...options) {
    return new (require("socks-proxy-agent").SocksProxyAgent)(...options);
  }`,
};

/** Keeps of @kubernetes/client-node what its KubeConfig needs: the generated API has no effects of its own and is dropped. */
const CLIENT_NODE = {
  name: "client-node",
  setup(bundler) {
    bundler.onResolve({ filter: /^\.\.?\// }, ({ path, importer, resolveDir }) =>
      importer.includes("/@kubernetes/client-node/dist/")
        ? { path: join(resolveDir, path), sideEffects: false }
        : undefined,
    );
    bundler.onResolve({ filter: /./ }, ({ path, namespace, importer, resolveDir }) =>
      path in CLIENT_NODE_IMPORTS && namespace === "file" && importer.includes("/node_modules/")
        ? { path, namespace: "client-node", pluginData: resolveDir }
        : undefined,
    );
    bundler.onLoad({ filter: /./, namespace: "client-node" }, ({ path, pluginData }) => ({
      contents: CLIENT_NODE_IMPORTS[path],
      resolveDir: pluginData,
    }));
  },
};

/** Playwright loads its parts by their paths, so it is not bundled. */
const PLAYWRIGHT = {
  name: "playwright",
  setup(bundler) {
    bundler.onResolve({ filter: /^playwright-core$/ }, ({ path }) => ({
      path: import.meta.resolve(path),
      external: true,
    }));
  },
};

/** The programs of an embedded runtime's process, and of the processes that it starts. */
export const PROCESSES = { runtime: "src/runtime/host/process.ts", utility: "src/shell/utility/process.ts" };
/** @param folder with the programs, from the bundle that starts them */
const processesIn = (folder, extension) => ({
  KUBELAB_RUNTIME_PROCESS: JSON.stringify(`${folder}/runtime.${extension}`),
  KUBELAB_UTILITY_PROCESS: JSON.stringify(`${folder}/utility.${extension}`),
});
/** What the bundles of browser programs contain, for the licences of their packages. */
export const browserOutputs = {};

/** One text of a browser program with all that it imports: `main.tsx` gives a module, `page.css` a style sheet. */
export async function bundleForBrowser(path) {
  const { outputFiles, metafile } = await build({
    entryPoints: [path],
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: "esm",
    target: "es2022",
    legalComments: "none",
    charset: "utf8",
    jsx: "automatic",
    jsxImportSource: "preact",
    define: { "process.env.NODE_ENV": '"production"' },
  });
  Object.assign(browserOutputs, metafile.outputs);
  return outputFiles[0]?.text ?? "";
}

/** `import text from "./main.tsx?bundle"` gives the text of a browser program. */
const BROWSER_BUNDLE = {
  name: "browser-bundle",
  setup(bundler) {
    bundler.onResolve({ filter: /\?bundle$/ }, ({ path, resolveDir }) => ({
      path: join(resolveDir, path.slice(0, -"?bundle".length)),
      namespace: "browser-bundle",
    }));
    bundler.onLoad({ filter: /./, namespace: "browser-bundle" }, async ({ path }) => ({
      contents: await bundleForBrowser(path),
      loader: "text",
    }));
  },
};

/** The file that has what comes before the facts in the page of a trace. */
export const PAGE_HEAD_FILE = "page-head.html";

/** Bundles run on the oldest Node that the program supports. Chinese texts stay as they are: escaped, they are twice as long. */
const FOR_NODE = { bundle: true, format: "esm", platform: "node", target: "node20.18", charset: "utf8" };
/**
 * The program: shared code is in chunks, and each command's own code is loaded when it runs.
 * @param version what `kubelab --version` prints
 * @param processFolder with the programs of PROCESSES
 */
export function programOptions(version, processFolder) {
  return {
    ...FOR_NODE,
    minify: true,
    legalComments: "none",
    splitting: true,
    define: {
      KUBELAB_VERSION: JSON.stringify(version),
      KUBELAB_COMPILED_LABS: "true",
      KUBELAB_PAGE_HEAD: JSON.stringify(`./${PAGE_HEAD_FILE}`),
      ...processesIn(processFolder, "js"),
    },
    external: UNUSED,
    plugins: [CLIENT_NODE, BROWSER_BUNDLE],
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
    const { metafile } = await bundleFile(file, outfile);
    if ("src/shell/utility/utility-process.ts" in metafile.inputs) await bundleProcesses(folder);
    await use(await import(pathToFileURL(outfile).href));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** @returns the file of each of PROCESSES */
export async function bundleProcesses(folder) {
  const files = {};
  for (const [name, file] of Object.entries(PROCESSES)) {
    files[name] = join(folder, `${name}.mjs`);
    await bundleFile(file, files[name]);
  }
  return files;
}

function bundleFile(file, outfile) {
  return build({
    entryPoints: [file],
    outfile,
    ...FOR_NODE,
    logLevel: "warning",
    metafile: true,
    external: ["vitest", "esbuild", ...UNUSED],
    define: processesIn(".", "mjs"),
    banner: BANNER,
    plugins: [BROWSER_BUNDLE, PLAYWRIGHT],
  });
}
