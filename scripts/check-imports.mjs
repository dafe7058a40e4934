// Checks how the files under src/ import one another (part of `npm run lint`). With `--table` it prints figures instead.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";

/** The wings of src/, from the ground up: a wing imports itself and those before it. */
const WINGS = ["util", "trace", "staging", "kubelet", "cluster", "testbed", "lab", "index.ts", "commands", "cli.ts"];
/** Programs that meet over HTTPS, gRPC and the API only, as upstream's do. */
const PROGRAMS = [
  ["kubelet", "cluster"],
  ...pairs(["apiserver", "controllers", "scheduler", "runtime", "kube-proxy", "dns"].map((one) => `cluster/${one}`)),
];
/** Packages that draw on the terminal, and who may import them: the terminal's renderer is handed its colours, so it needs chalk's type. */
const TERMINAL_PACKAGE = /^(chalk|ora|inquirer|@inquirer\/.*|commander)$/;
const DRAWS_ON_TERMINAL = /^(commands\/|cli\.ts$|trace\/terminal\/(options|colours)\.ts$)/;
/** The clock itself, and two programs kept as text, which other processes run. */
const READS_THE_CLOCK = /^(util\/(clock|timer|os\/watchdog)|lab\/virtual\/worker-code)\.ts$/;
const SYSTEM_CLOCK = /\b(Date\.now\(|new Date\(\)|(?<![\w.#])(?:globalThis\.)?set(?:Timeout|Interval)\()/;
const MOST_ENTRIES = 25;
/** The folders of pkg/kubelet keep their names and places. */
const MOST_ENTRIES_OF = { kubelet: 28 };

const IMPORT = /^\s*(?:import|export)\s[^"';]*?from\s+"([^"]+)"|^\s*import\s+"([^"]+)"|\bimport\(\s*"([^"]+)"/gm;

/**
 * @param root the folder that has src/
 * @returns one sentence for each breach, with the file
 */
export function problems(root) {
  const { files, folders, imports } = read(root);
  return [
    ...imports.flatMap(({ from, to }) => upward(from, to)),
    ...mutualPairs(imports).map(
      ([one, other, by, and]) => `src/${one} and src/${other} import each other: ${by}; ${and}`,
    ),
    ...[...folders].flatMap(([folder, entries]) =>
      entries > mostEntriesOf(folder)
        ? [`src/${folder} has ${entries} entries, more than ${mostEntriesOf(folder)}: give them rooms`]
        : [],
    ),
    ...files.flatMap(({ path, text, packages }) => [
      ...packages
        .filter((one) => TERMINAL_PACKAGE.test(one) && !DRAWS_ON_TERMINAL.test(path))
        .map((one) => `src/${path} imports ${one}: only src/commands draws on the terminal`),
      ...(SYSTEM_CLOCK.test(text) && !READS_THE_CLOCK.test(path)
        ? [`src/${path} reads the system clock: take a Clock as a parameter`]
        : []),
    ]),
  ];
}

function upward(from, to) {
  const [wing, target] = [from, to].map((path) => WINGS.indexOf(path.split("/")[0]));
  if (wing < 0 || target < 0)
    return [`src/${wing < 0 ? from : to} is in no wing: WINGS in scripts/check-imports.mjs lists them`];
  if (target > wing) return [`src/${from} imports src/${to}, which stands above it`];
  const strangers = PROGRAMS.find(
    ([a, b]) => isIn(from, a) !== isIn(from, b) && isIn(to, a) !== isIn(to, b) && isIn(from, a) !== isIn(to, a),
  );
  return strangers ? [`src/${from} imports src/${to}: ${strangers.join(" and ")} meet over the network only`] : [];
}

const mostEntriesOf = (folder) => MOST_ENTRIES_OF[folder] ?? MOST_ENTRIES;

const isIn = (path, folder) => path.startsWith(`${folder}/`);

/** @returns [one, other, an import, an import of the other direction] of sibling folders, at any depth */
function mutualPairs(imports) {
  const arrows = new Map();
  for (const { from, to } of imports) {
    const [one, other] = siblings(from, to) ?? [];
    if (one !== undefined && !arrows.has(`${one} ${other}`)) arrows.set(`${one} ${other}`, `${from} -> ${to}`);
  }
  return [...arrows].flatMap(([arrow, by]) => {
    const [one, other] = arrow.split(" ");
    const and = arrows.get(`${other} ${one}`);
    return one < other && and !== undefined ? [[one, other, by, and]] : [];
  });
}

/** The folders below the deepest folder that both files share; undefined if one of the files lies in it. */
function siblings(from, to) {
  const [a, b] = [from.split("/"), to.split("/")];
  let depth = 0;
  while (depth < Math.min(a.length, b.length) - 1 && a[depth] === b[depth]) depth++;
  if (depth === a.length - 1 || depth === b.length - 1) return undefined;
  return [a, b].map((path) => path.slice(0, depth + 1).join("/"));
}

function read(root) {
  const src = join(root, "src");
  const [files, folders] = [[], new Map()];
  const visit = (folder) => {
    const entries = readdirSync(folder, { withFileTypes: true });
    folders.set(relative(src, folder).split(sep).join("/"), entries.length);
    for (const entry of entries) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) visit(path);
      else if (/\.tsx?$/.test(entry.name)) files.push(readFileOf(src, path));
    }
  };
  visit(src);
  const imports = files.flatMap(({ path: from, ours }) => ours.map((to) => ({ from, to })));
  return { files, folders, imports };
}

function readFileOf(src, file) {
  const text = readFileSync(file, "utf8").replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "");
  const specifiers = [...text.matchAll(IMPORT)].map(([, from, effect, whole]) => from ?? effect ?? whole);
  const ours = specifiers
    .filter((one) => one.startsWith("."))
    .map((one) =>
      relative(src, resolve(dirname(file), one))
        .split(sep)
        .join("/"),
    )
    // Content is not code: any wing may read it.
    .filter((one) => !one.startsWith("../") && !one.endsWith(".json"));
  return {
    path: relative(src, file).split(sep).join("/"),
    lines: text.split("\n").length,
    text,
    ours,
    packages: specifiers.filter((one) => !one.startsWith(".")),
  };
}

function pairs(names) {
  return names.flatMap((one, at) => names.slice(at + 1).map((other) => [one, other]));
}

/** Rooms are the wings and, of the wings that only group others, their folders. */
function table(root) {
  const { files, folders, imports } = read(root);
  const room = (path) =>
    path
      .split("/")
      .slice(0, /^(staging|cluster|lab)\//.test(path) ? 2 : 1)
      .join("/");
  const arrows = new Set(
    imports.map(({ from, to }) => `${room(from)} ${room(to)}`).filter((one) => new Set(one.split(" ")).size === 2),
  );
  return [
    ["wings", readdirSync(join(root, "src"), { withFileTypes: true }).filter((one) => one.isDirectory()).length],
    ["rooms", new Set(files.map(({ path }) => room(path))).size],
    ["arrows between rooms", arrows.size],
    ["folders that import each other", mutualPairs(imports).length],
    ["files", files.length],
    ["most entries in a folder", Math.max(...folders.values())],
  ];
}

if (process.argv[1] === import.meta.filename) {
  const root = resolve(import.meta.dirname, "..");
  if (process.argv.includes("--table")) {
    for (const [what, number] of table(root)) console.log(`${String(number).padStart(6)}  ${what}`);
  } else {
    const found = problems(root);
    for (const one of found) console.error(one);
    process.exitCode = found.length === 0 ? 0 : 1;
  }
}
