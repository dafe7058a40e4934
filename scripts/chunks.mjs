// What is left to do with the bundler's chunks: every file that a command loads costs Node some tenths of a millisecond, and
// every import of one file by another a little more.
import { build } from "esbuild";
import { BANNER, SMALL } from "./bundle.mjs";

/**
 * Takes the banner away where nothing calls require(): all chunks but those of CommonJS packages.
 * @param files text by name
 */
export function dropBanners(files) {
  const banner = `${BANNER.js}\n`;
  for (const [name, text] of files) {
    const rest = text.replace(banner, "");
    if (!/\brequire\b/.test(rest)) files.set(name, rest);
  }
}

/** Bytes of a chunk that is small, and files that import it: one that most commands load. */
const MAX_BYTES = 8_000;
const MIN_IMPORTERS = 6;
/** What Node itself has loaded before the program begins, or nearly. */
const LIGHT = /^node:(assert|async_hooks|crypto|events|fs|fs\/promises|net|os|path|process|stream|tty|url|util|v8)$/;

/**
 * Puts the small chunks that many others import into one file, `common.js`. Only those that import nothing but one another
 * and light parts of Node: so nothing is loaded in a circle, and nothing heavy for who needs it not.
 * @param files text by name, as the bundler made them
 * @param outputs of the bundler's metafile
 * @param entry of the outputs the one that is loaded first
 */
export async function mergeSmallChunks(files, outputs, entry) {
  const merged = chooseChunks(outputs, entry);
  if (merged.size === 0) return;
  const imports = new Map();
  const lines = [...merged].map((path, i) => {
    const name = path.slice(path.lastIndexOf("/") + 1);
    imports.set(name, i);
    const names = outputs[path].exports.map((one) => `${one} as ${alias(i, one)}`);
    return `export { ${names.join(", ")} } from "./${name}";`;
  });
  const { outputFiles } = await build({
    stdin: { contents: lines.join("\n") },
    ...SMALL,
    plugins: [fromMemory(files)],
    write: false,
    logLevel: "warning",
  });
  for (const name of imports.keys()) files.delete(name);
  for (const [name, text] of files) {
    const changed = importCommon(text, imports);
    const missing = [...imports.keys()].find((gone) => changed.includes(`./${gone}`));
    if (missing !== undefined) throw new Error(`${name} still needs ${missing}`);
    files.set(name, changed);
  }
  files.set("common.js", outputFiles[0].text);
}

/** Chunks import one another by `./NAME`. */
function fromMemory(files) {
  return {
    name: "from-memory",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^\.\// }, ({ path }) => ({ path: path.slice(2), namespace: "memory" }));
      onLoad({ filter: /.*/, namespace: "memory" }, ({ path }) => ({ contents: files.get(path) }));
    },
  };
}

function chooseChunks(outputs, entry) {
  const importers = new Map();
  for (const { imports } of Object.values(outputs)) {
    for (const { path, kind } of imports)
      if (kind === "import-statement") importers.set(path, (importers.get(path) ?? 0) + 1);
  }
  // What comes first stays as small as it is: it also answers --version.
  const first = new Set(outputs[entry].imports.map(({ path }) => path));
  const chosen = new Set(
    Object.keys(outputs).filter((path) => {
      const { entryPoint, bytes } = outputs[path];
      const isShared = entryPoint === undefined && (importers.get(path) ?? 0) >= MIN_IMPORTERS;
      return isShared && bytes <= MAX_BYTES && !first.has(path);
    }),
  );
  const isFine = ({ path, kind, external }) =>
    kind === "import-statement" && (external === true ? LIGHT.test(path) : chosen.has(path));
  for (let before = -1; before !== chosen.size; ) {
    before = chosen.size;
    for (const path of chosen) if (!outputs[path].imports.every(isFine)) chosen.delete(path);
  }
  return chosen;
}

/** As the bundler writes them, without a space. */
const IMPORT = /import(?:\{([^}]*)\}from)?"\.\/([^"]+)";/g;

function importCommon(text, imports) {
  const names = [];
  let isNeeded = false;
  const rest = text.replace(IMPORT, (all, list, file) => {
    const chunk = imports.get(file);
    if (chunk === undefined) return all;
    isNeeded = true;
    for (const one of list === undefined ? [] : list.split(",")) {
      const [name, local = name] = one.split(" as ");
      names.push(`${alias(chunk, name)} as ${local}`);
    }
    return "";
  });
  if (!isNeeded) return text;
  const line = names.length === 0 ? 'import"./common.js";' : `import{${names.join(",")}}from"./common.js";`;
  // Behind a line that tells a system what runs the file.
  const start = rest.startsWith("#!") ? rest.indexOf("\n") + 1 : 0;
  return rest.slice(0, start) + line + rest.slice(start);
}

/** Of what a chunk exports, among all that are merged. */
function alias(chunk, name) {
  return `${name}_${chunk.toString(36)}`;
}
