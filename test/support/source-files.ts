import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** One import of a file: names, or a whole module. */
export interface Import {
  readonly file: string;
  /** as written: `../util/clock.js`, `chalk` */
  readonly specifier: string;
  /** the imported file, if it is ours */
  readonly target: string | undefined;
  readonly isType: boolean;
  /** undefined for `import()` and `import *`, which can use any name */
  readonly names: readonly string[] | undefined;
}

export function sourceFiles(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? sourceFiles(path) : /\.(tsx?|mjs)$/.test(entry.name) ? [path] : [];
  });
}

export function importsOf(file: string): Import[] {
  const text = readFileSync(file, "utf8");
  const found = text.matchAll(/^\s*(import|export)\s+(type\s)?([^"';]*?)from\s+"([^"]+)"|\bimport\("([^"]+)"\)/gm);
  return [...found].map(([, , type, clause, named, whole]) => {
    const specifier = named ?? whole ?? "";
    return {
      file,
      specifier,
      target: specifier.startsWith(".") ? targetOf(join(dirname(file), specifier)) : undefined,
      isType: type !== undefined,
      names: clause === undefined || clause.startsWith("*") ? undefined : namesIn(clause),
    };
  });
}

/** `x.js` is compiled from `x.ts` or `x.tsx`. */
function targetOf(path: string): string {
  const [source, withElements] = [path.replace(/\.js$/, ".ts"), path.replace(/\.js$/, ".tsx")];
  return !existsSync(source) && existsSync(withElements) ? withElements : source;
}

/** `{ a, type B, c as d }` */
function namesIn(clause: string): string[] {
  return [...clause.matchAll(/(?:type\s+)?(\w+)(?:\s+as\s+\w+)?/g)].map(([, name = ""]) => name);
}
