import type { Say } from "../../../util/i18n/catalogue.js";
import { LineCounter, parseDocument } from "../../../util/yaml.js";
import { inWords } from "./catalogue-text.js";
import { issueWords } from "./issue-words.js";
import { definition, type LabDefinition } from "./schema.js";

export interface DefinitionFile {
  /** the parsed YAML; undefined if it cannot be parsed */
  readonly source: unknown;
  /** undefined if it does not match the schema */
  readonly definition?: LabDefinition;
  readonly problems: readonly { readonly line: number; readonly message: string }[];
}

/** Parses a `lab.yaml` and checks its schema. Each problem has the line of its value, counted from 1. Pure. */
export function parseDefinition(yaml: string, say: Say): DefinitionFile {
  const lineCounter = new LineCounter();
  const document = parseDocument(yaml, { lineCounter });
  if (document.errors.length > 0) {
    // The parser stumbles over everything that follows the first error.
    const problems = document.errors.slice(0, 1).map((error) => {
      const detail = (error.message.split("\n")[0] ?? error.code).replace(/ at line \d+, column \d+:?$/, "");
      return { line: lineCounter.linePos(error.pos[0]).line, message: say("labNoYaml", { detail }) };
    });
    return { source: undefined, problems };
  }
  const source: unknown = document.toJS();
  const result = definition.safeParse(source, { error: issueWords });
  if (result.success) return { source, definition: result.data, problems: [] };
  const problems = result.error.issues.map((issue) => {
    const where = issue.path.length === 0 ? "" : `${issue.path.join(".")}: `;
    return { line: lineOf(document, lineCounter, issue.path), message: `${where}${inWords(issue.message, say)}` };
  });
  return { source, problems };
}

type Document = ReturnType<typeof parseDocument>;

/** The line of the value, or of its nearest existing parent. */
function lineOf(document: Document, lineCounter: LineCounter, path: readonly PropertyKey[]): number {
  for (let length = path.length; length > 0; length--) {
    const node = document.getIn(path.slice(0, length), true) as { range?: readonly number[] } | undefined;
    if (node?.range?.[0] !== undefined) return lineCounter.linePos(node.range[0]).line;
  }
  return 1;
}
