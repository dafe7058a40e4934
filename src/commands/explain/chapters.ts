import { LabError } from "../../util/errors.js";
import { counted } from "../../util/text/counted.js";
import { nearest } from "../../util/text/nearest.js";
import type { CommandResult } from "../cli/context.js";

/** The text of each file, by its path: `src/kubelet/pleg/generic.ts`. */
export type Sources = Readonly<Record<string, string>>;

const CHAPTERS = "src/kubelet/";
/** The upstream file that a docstring's first sentence cites. */
const UPSTREAM = /\bMirrors\b[^.]*?((?:pkg|cmd|staging|plugin|k8s\.io|github\.com)\/[\w./-]+\.go)/g;
/** The rest of a docstring's sentence, with the functions that it names. */
const MIRRORED = /\bMirrors\b((?:(?!\.\s|:\s|\*\/|@)[\s\S])*)/g;
const PATH = /[\w.-]*(?:\/[\w.-]+)+/g;
const MOST_CANDIDATES = 10;

/** The chapters of the kubelet with their size and the upstream file that they mirror most. Pure. */
export function chapterList(sources: Sources): CommandResult {
  const names = new Set(
    Object.keys(sources).flatMap((path) =>
      path.startsWith(CHAPTERS) ? [path.slice(CHAPTERS.length).split("/")[0] ?? ""] : [],
    ),
  );
  const chapters = [...names].sort().map((name) => {
    const path = `${CHAPTERS}${name}`;
    const files = filesIn(sources, path);
    const lines = files.reduce((sum, file) => sum + lineCount(sources[file] ?? ""), 0);
    return { name: name.replace(/\.ts$/, ""), files, lines, upstream: mostMirrored(sources, files) };
  });
  const width = Math.max(...chapters.map(({ name }) => name.length));
  const rows = chapters.map(({ name, lines, upstream = "" }) =>
    `${name.padEnd(width)}  ${counted(lines, "line").padEnd(11)}  ${upstream}`.trimEnd(),
  );
  return { text: rows.join("\n"), json: chapters };
}

/**
 * The source with a name: one file unchanged, several with a heading line before each. Pure.
 * @throws LabError USAGE for an unknown or ambiguous name
 */
export function sourceResult(sources: Sources, name: string): CommandResult {
  const parts = partsOf(sources, name);
  const [first] = parts;
  const text =
    parts.length === 1 && first !== undefined && !("line" in first)
      ? first.text
      : parts.map((part) => `// ==== ${placeOf(part)} ====\n\n${part.text}`).join("\n");
  return { text: text.trimEnd(), json: parts };
}

/** A file, or a function with its docstring, which begins in this line. */
interface Part {
  readonly path: string;
  readonly line?: number;
  readonly text: string;
}

function placeOf({ path, line }: Part): string {
  return line === undefined ? path : `${path}:${line}`;
}

function partsOf(sources: Sources, name: string): readonly Part[] {
  const whole = (paths: readonly string[]) => paths.map((path) => ({ path, text: sources[path] ?? "" }));
  const word = name.replace(/^\.?\//, "").replace(/\/+$/, "");
  for (const path of [word, `${CHAPTERS}${word}`, `src/${word}`]) {
    const files = filesIn(sources, path);
    if (files.length > 0) return whole(files);
  }
  const mirrors = Object.keys(sources).filter((path) =>
    upstreamOf(sources[path] ?? "").some((file) => ends(file, word)),
  );
  if (mirrors.length > 0) return whole(mirrors);
  const paths = [...new Set(Object.keys(sources).flatMap(withFolders))];
  const meant = paths.filter((path) => ends(path, word));
  const [only] = meant;
  if (only !== undefined && meant.length === 1) return whole(filesIn(sources, only));
  if (only === undefined) {
    const functions = functionsNamed(sources, word);
    if (functions.length > 0) return functions;
    const chapters = paths.filter((path) => path.startsWith(CHAPTERS)).map(short);
    const near = nearest([...chapters, ...Object.values(sources).flatMap(mirroredNames)], word);
    const hint = near === undefined ? "List the chapters: kubelab source" : `Did you mean ${near}?`;
    throw new LabError("USAGE", `there is no source named ${JSON.stringify(name)}`, hint);
  }
  const shown = meant.slice(0, MOST_CANDIDATES).join(", ");
  throw new LabError("USAGE", `${JSON.stringify(name)} names ${meant.length} files or folders`, `Name one: ${shown}`);
}

/** What mirrors an upstream function or, if no docstring names it, has its name; with any receiver: `kl.syncPod`. */
function functionsNamed(sources: Sources, word: string): readonly Part[] {
  const name = /^(?:\w+\.)?([a-z]\w{3,})(?:\(.*)?$/i.exec(word)?.[1]?.toLowerCase();
  if (name === undefined) return [];
  const definition = new RegExp(`^ *(?:export )?(?:async )?(?:function )?${name}\\(.*\\{$`, "gim");
  const found = (placesIn: (text: string) => readonly number[]) =>
    Object.entries(sources).flatMap(([path, text]) => placesIn(text).map((at) => partAt(path, text, at)));
  const mirrors = found((text) =>
    Array.from(text.matchAll(MIRRORED), ({ index, 1: what = "" }) =>
      namesIn(what).some((one) => one.toLowerCase() === name) ? [index] : [],
    ).flat(),
  );
  return mirrors.length > 0 ? mirrors : found((text) => Array.from(text.matchAll(definition), ({ index }) => index));
}

/** The declaration around a position of a formatted file, from its docstring to the first blank line outside of it. */
function partAt(path: string, text: string, at: number): Part {
  const lines = text.split("\n");
  let first = text.slice(0, at).split("\n").length - 1;
  const isComment = (i: number) => /^\s*(?:\/\*\*|\*)/.test(lines[i] ?? "");
  const isDocumented = isComment(first);
  while (isComment(first - 1) && !/^\s*\/\*\*/.test(lines[first] ?? "")) first -= 1;
  const depth = (i: number) => (lines[i] ?? "").search(/\S/);
  const begins = isDocumented ? lines.findIndex((_, i) => i > first && !isComment(i)) : first;
  const isAfter = (i: number) =>
    depth(i) === -1
      ? depth(i + 1) <= depth(first)
      : depth(i) < depth(first) || (depth(i) === depth(first) && isComment(i));
  const end = lines.findIndex((_, i) => i > begins && isAfter(i));
  return { path, line: first + 1, text: `${lines.slice(first, end).join("\n")}\n` };
}

/** The names of functions in a docstring: those with a capital letter. */
function mirroredNames(text: string): readonly string[] {
  return Array.from(text.matchAll(MIRRORED), ([, what = ""]) =>
    namesIn(what).filter((one) => /[A-Z]/.test(one)),
  ).flat();
}

function namesIn(sentence: string): readonly string[] {
  return sentence.replace(PATH, " ").split(/\W+/);
}

/** The file itself, with or without its extension, or all files of a folder. */
function filesIn(sources: Sources, path: string): readonly string[] {
  const file = [path, `${path}.ts`, `${path}.tsx`].find((one) => Object.hasOwn(sources, one));
  const below = Object.keys(sources).filter((one) => one.startsWith(`${path}/`));
  return file === undefined ? below : [file];
}

function withFolders(path: string): readonly string[] {
  const parts = path.split("/");
  return parts.map((_, index) => parts.slice(0, index + 1).join("/"));
}

/** Whether a path ends with these parts, with or without the extension. */
function ends(path: string, word: string): boolean {
  return [path, path.replace(/\.(go|tsx?)$/, "")].some((one) => one === word || one.endsWith(`/${word}`));
}

const short = (path: string) => path.slice(CHAPTERS.length).replace(/\.tsx?$/, "");
const lineCount = (text: string) => text.split("\n").length - 1;

function upstreamOf(text: string): readonly string[] {
  return Array.from(text.matchAll(UPSTREAM), ([, file = ""]) => file);
}

function mostMirrored(sources: Sources, files: readonly string[]): string | undefined {
  const counts = new Map<string, number>();
  for (const file of files.flatMap((path) => upstreamOf(sources[path] ?? ""))) {
    counts.set(file, (counts.get(file) ?? 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0];
}
