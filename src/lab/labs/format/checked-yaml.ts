import type { z } from "zod";
import type { Say } from "../../../util/i18n/catalogue.js";
import { isMap, isScalar, LineCounter, parseDocument } from "../../../util/yaml.js";
import { inWords } from "./catalogue-text.js";
import { issueWords } from "./issue-words.js";

export interface CheckedYaml<T> {
  /** the parsed YAML; undefined if it cannot be parsed */
  readonly source: unknown;
  /** undefined if it does not match the schema */
  readonly value?: T;
  readonly problems: readonly { readonly line: number; readonly message: string }[];
  /** the line of the value at a path, or of its nearest existing parent, counted from 1 */
  readonly lineOf: (path: readonly PropertyKey[]) => number;
}

/** Parses a YAML file of content and checks its schema. Each problem has the line of its value, counted from 1. Pure. */
export function parseChecked<T>(yaml: string, schema: z.ZodType<T>, say: Say): CheckedYaml<T> {
  const lineCounter = new LineCounter();
  const document = parseDocument(yaml, { lineCounter });
  const lineOf = (path: readonly PropertyKey[]) => lineIn(document, lineCounter, path);
  if (document.errors.length > 0) {
    // The parser stumbles over everything that follows the first error.
    const problems = document.errors.slice(0, 1).map((error) => {
      const detail = (error.message.split("\n")[0] ?? error.code).replace(/ at line \d+, column \d+:?$/, "");
      return { line: lineCounter.linePos(error.pos[0]).line, message: say("labNoYaml", { detail }) };
    });
    return { source: undefined, problems, lineOf };
  }
  const source: unknown = document.toJS();
  const result = schema.safeParse(source, { error: issueWords });
  if (result.success) return { source, value: result.data, problems: [], lineOf };
  const problems = result.error.issues.map((issue) => {
    const where = issue.path.length === 0 ? "" : `${issue.path.join(".")}: `;
    const path = issue.code === "unrecognized_keys" ? [...issue.path, ...issue.keys.slice(0, 1)] : issue.path;
    return { line: lineOf(path), message: `${where}${inWords(issue.message, say)}` };
  });
  return { source, problems, lineOf };
}

type Document = ReturnType<typeof parseDocument>;

function lineIn(document: Document, lineCounter: LineCounter, path: readonly PropertyKey[]): number {
  for (let length = path.length; length > 0; length--) {
    const key = path[length - 1];
    const parent = document.getIn(path.slice(0, length - 1), true);
    // The line of `solve:`, not that of the list below it.
    const pair = isMap(parent) ? parent.items.find((one) => isScalar(one.key) && one.key.value === key) : undefined;
    const node = (pair?.key ?? document.getIn(path.slice(0, length), true)) as
      | { readonly range?: readonly number[] }
      | undefined;
    if (node?.range?.[0] !== undefined) return lineCounter.linePos(node.range[0]).line;
  }
  return 1;
}
