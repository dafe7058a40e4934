import { spawnSync } from "node:child_process";

/** A check reads one file. */
const PATIENCE_MS = 2_000;
const MOST_CHARACTERS = 160;

const DECLARES_TYPE = /^\s*(?:export\s+)?(?:declare\s+)?(?:interface|type|enum|namespace|abstract\s+class)\s+[\w$]/;
const NAMES_TYPE =
  /[\w$\])]\??\s*:\s*(?:readonly\s+)?(?:string|number|boolean|unknown|any|void|never|object|[A-Z][\w.]*)\b|\bimport\s+type\b|\s(?:as|satisfies)\s+\w|^\s*(?:private|public|protected|readonly)\s/;

/** Where a file is no JavaScript. */
export interface SyntaxErrorPlace {
  readonly at: number;
  /** the line itself; empty at the end of a file */
  readonly source: string;
  /** it looks as if it had a type of TypeScript */
  readonly hasType: boolean;
}

/** Only Node's own check names the line: the error of an import does not. @returns undefined if the file itself is right */
export function syntaxErrorPlace(file: string): SyntaxErrorPlace | undefined {
  const { stderr } = spawnSync(process.execPath, ["--check", file], {
    encoding: "utf8",
    timeout: PATIENCE_MS,
    env: {},
    stdio: ["ignore", "ignore", "pipe"],
  });
  const [first = "", line = ""] = stderr.split("\n");
  const at = first.startsWith(`${file}:`) ? Number(first.slice(file.length + 1)) : Number.NaN;
  if (!Number.isInteger(at)) return undefined;
  // A line of a foreign file may be long.
  const source = line.slice(0, MOST_CHARACTERS).trim();
  return { at, source, hasType: hasType(source) };
}

/** Whether a line of a file that is no JavaScript looks like TypeScript. Pure. */
export function hasType(line: string): boolean {
  return DECLARES_TYPE.test(line) || NAMES_TYPE.test(line);
}
