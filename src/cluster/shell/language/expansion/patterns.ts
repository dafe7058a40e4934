import type { ContainerFs } from "../../fs/container-fs.js";
import { resolvePath } from "../../fs/paths.js";
import type { Self } from "../../process/process.js";
import { compileGlob, matchesAll, type Piece, type Search } from "./glob.js";

/** The text of a word's parts, quoted or not. */
export function textOf(pieces: readonly Piece[]): string {
  return pieces.map((piece) => piece.text).join("");
}

/** Whether the word has wildcards: unquoted `*`, `?` or `[`. */
export function hasPattern(pieces: readonly Piece[]): boolean {
  return pieces.some((piece) => !piece.isQuoted && /[*?[]/.test(piece.text));
}

/** Runs a search to its end; long ones yield to others. */
export async function run<T>(search: Search<T>, turn: Self["turn"]): Promise<T> {
  for (;;) {
    const step = search.next();
    if (step.done === true) return step.value;
    await turn(Math.ceil(step.value / COMPARISONS_PER_UNIT));
  }
}

/** Runs a search in a short text, such as a file name, at once. */
export function runNow<T>(search: Search<T>): T {
  for (;;) {
    const step = search.next();
    if (step.done === true) return step.value;
  }
}

const COMPARISONS_PER_UNIT = 2_000;

/** Whether a whole text matches a pattern: `case`, `[[ x == y* ]]`. */
export function matches(text: string, pattern: readonly Piece[], turn: Self["turn"]): Promise<boolean> {
  return run(matchesAll(compileGlob(pattern), text), turn);
}

/** The dependencies of the expansion of file names. */
export interface PathHost {
  readonly files: ContainerFs;
  readonly cwd: string;
  readonly self: Pick<Self, "turn" | "memory">;
}

/** The paths that match a pattern, sorted. @throws OutOfMemoryError */
export async function expandPath(host: PathHost, pieces: readonly Piece[]): Promise<string[]> {
  const segments = splitAtSlashes(pieces);
  const isAbsolute = textOf(segments[0] ?? []) === "" && segments.length > 1;
  let found = [isAbsolute ? "/" : ""];
  const rest = isAbsolute ? segments.slice(1) : segments;
  for (const segment of rest) {
    const next: string[] = [];
    let bytes = 0;
    for (const before of found) {
      for (const path of await below(host, before, segment)) {
        bytes += path.length + BYTES_PER_PATH;
        next.push(path);
      }
      host.self.memory.require(bytes);
      await host.self.turn();
    }
    found = next;
    if (found.length === 0) return [];
  }
  return found.sort();
}

const BYTES_PER_PATH = 64;

async function below(
  { files, cwd, self }: PathHost,
  before: string,
  segment: readonly Piece[],
): Promise<readonly string[]> {
  const join = (name: string) => (before === "" || before.endsWith("/") ? before + name : `${before}/${name}`);
  if (!hasPattern(segment)) {
    const path = join(textOf(segment));
    const resolved = resolvePath(cwd, path);
    // Only a folder has a path with a slash at its end.
    const exists = segment.length > 0 ? files.exists(resolved) : isFolder(files, resolved);
    return exists ? [path] : [];
  }
  const folder = resolvePath(cwd, before === "" ? "." : before);
  let names: string[];
  try {
    names = files.readdir(folder);
  } catch {
    return []; // not a folder: no match
  }
  const glob = compileGlob(segment);
  const showsHidden = textOf(segment).startsWith(".");
  const found: string[] = [];
  for (const [index, name] of names.entries()) {
    if (index % 256 === 255) await self.turn(8);
    if ((showsHidden || !name.startsWith(".")) && (await run(matchesAll(glob, name), self.turn)))
      found.push(join(name));
  }
  return found;
}

function isFolder(files: ContainerFs, path: string): boolean {
  return files.exists(path) && files.stat(path).type === "directory";
}

function splitAtSlashes(pieces: readonly Piece[]): Piece[][] {
  const segments: Piece[][] = [[]];
  for (const piece of pieces) {
    piece.text.split("/").forEach((text, index) => {
      if (index > 0) segments.push([]);
      if (text !== "") segments.at(-1)?.push({ text, isQuoted: piece.isQuoted });
    });
  }
  return segments;
}
