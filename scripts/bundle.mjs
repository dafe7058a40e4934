// Bundles what runs on Node.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { rolldown } from "rolldown";
import { BROWSER_BUNDLE } from "./browser-bundle.mjs";
import { CLIENT_NODE } from "./client-node.mjs";
import { INQUIRER } from "./inquirer.mjs";
import { JUST_BASH, JUST_BASH_PARSER } from "./just-bash.mjs";
import { filesByParts } from "./parts.mjs";

/** What packages load only for features that are not used: tar's compressions (just-bash), gRPC's channelz (grpc-js). */
const UNUSED = ["@mongodb-js/zstd", "node-liblzma", "@grpc/proto-loader"];
/** Packages that scripts use and that cannot be bundled. */
const NOT_BUNDLED = ["vitest", "esbuild", "rolldown", "rolldown/experimental"];

/** Playwright loads its parts by their paths. */
const PLAYWRIGHT = {
  name: "playwright",
  resolveId: (path) => (path === "playwright-core" ? { id: import.meta.resolve(path), external: true } : undefined),
};

/** The command line, what programs import, and the process of a cluster that a program starts. */
export const PROGRAMS = {
  cli: "src/cli.ts",
  index: "src/index.ts",
  testbed: "src/lab/envtest/testbed.ts",
};

/** The programs of an embedded runtime's process and of the processes that it starts, and that of a learner's file. */
export const PROCESSES = {
  runtime: "src/cluster/runtime/host/process.ts",
  utility: "src/cluster/shell/utility/process.ts",
  exercise: "src/lab/build/runner/process.ts",
};
/** @param folder with the programs, from the bundle that starts them */
const processesIn = (folder, extension) => ({
  KUBELAB_RUNTIME_PROCESS: JSON.stringify(`${folder}/runtime.${extension}`),
  KUBELAB_UTILITY_PROCESS: JSON.stringify(`${folder}/utility.${extension}`),
  KUBELAB_EXERCISE_PROCESS: JSON.stringify(`${folder}/exercise.${extension}`),
});

/** The file that has what comes before the facts in the page of a trace. */
export const PAGE_HEAD_FILE = "page-head.html";

/** The file that says where the places of the bundle come from. */
export const STACK_MAPS_FILE = "stack-maps.json.br";
/** The file that has the source, for `kubelab source`. */
export const SOURCES_FILE = "sources.json.br";

/**
 * Bundles the program: each command's own code is in files that are loaded when it runs.
 * @param input the names and files of entries
 * @param version what `kubelab --version` prints
 * @param processFolder with the programs of PROCESSES
 * @returns rolldown's chunks
 */
export function bundleProgram(input, version, processFolder) {
  const define = {
    KUBELAB_VERSION: JSON.stringify(version),
    KUBELAB_COMPILED_CONTENT: "true",
    KUBELAB_PAGE_HEAD: JSON.stringify(`./${PAGE_HEAD_FILE}`),
    KUBELAB_STACK_MAPS: JSON.stringify(`./${STACK_MAPS_FILE}`),
    KUBELAB_SOURCES: JSON.stringify(`./${SOURCES_FILE}`),
    ...processesIn(processFolder, "js"),
  };
  const justBash = input.utility === undefined ? JUST_BASH_PARSER : JUST_BASH;
  return bundle(
    { input, define, plugins: [CLIENT_NODE, INQUIRER, justBash] },
    {
      minify: true,
      // For stackMaps: no file of the bundle names its map.
      sourcemap: "hidden",
      entryFileNames: "[name].js",
      chunkFileNames: "[name]-[hash].js",
      codeSplitting: {
        groups: [{ debugName: "parts", name: filesByParts() }],
        // The parts say where each module belongs.
        includeDependenciesRecursively: false,
      },
    },
  );
}

/** The modules that start one of PROCESSES. */
const STARTS_PROCESSES = [
  "src/cluster/runtime/host/runtime-process.ts",
  "src/cluster/shell/utility/utility-process.ts",
];

/**
 * Imports a TypeScript file that is not part of the CLI and passes its module to `use`. It is bundled to a temporary file
 * first, because Node 20 cannot parse `await using`.
 */
export async function withModule(file, use) {
  const folder = await mkdtemp(join(tmpdir(), "kubelab-run-"));
  const outfile = join(folder, "main.mjs");
  try {
    const { moduleIds } = await bundleFile(file, outfile);
    if (STARTS_PROCESSES.some((file) => moduleIds.includes(resolve(file)))) await bundleProcesses(folder);
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

async function bundleFile(input, file) {
  const options = { input, define: processesIn(".", "mjs"), external: NOT_BUNDLED, plugins: [PLAYWRIGHT, JUST_BASH] };
  const [chunk] = await bundle(options, { file, codeSplitting: false });
  return chunk;
}

/** @param output writes files if it names one */
async function bundle({ input, define, external = [], plugins }, output) {
  const made = await rolldown({
    input,
    platform: "node",
    external: [...external, ...UNUSED],
    plugins: [BROWSER_BUNDLE, ...plugins],
    // The oldest Node that the program supports.
    transform: { target: "node20.18", define },
    // As `includeDependenciesRecursively: false` requires.
    preserveEntrySignatures: "allow-extension",
    logLevel: "warn",
    // What one command loads when it needs it, another always needs.
    checks: { ineffectiveDynamicImport: false },
  });
  try {
    const options = { ...output, format: "esm", comments: false };
    const { output: files } = await (output.file === undefined ? made.generate(options) : made.write(options));
    return files.filter(({ type }) => type === "chunk");
  } finally {
    await made.close();
  }
}
