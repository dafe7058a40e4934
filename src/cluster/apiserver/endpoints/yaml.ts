import { Document, isScalar, Scalar, visit } from "yaml";
import { badRequest } from "../../../staging/apimachinery/errors.js";
import { type JsonOfYaml, yamlToJson } from "../../../staging/apimachinery/yaml.js";
import { messageOf } from "../../../util/errors.js";

/** Strings that YAML 1.1 would read as another type; go-yaml writes them in double quotes. */
const OTHER_TYPE =
  /^(?:~|null|Null|NULL|y|Y|yes|Yes|YES|n|N|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF|<<|=|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])*|0x[0-9a-fA-F_]+|0b[01_]+|[-+]?(?:\.[0-9]+|[0-9][0-9_]*\.[0-9_]*|[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt ].*)?)?$/;

/** A line is folded at the first space after this column. Mirrors best_width in go-yaml's emitterc.go. */
const BEST_WIDTH = 80;

/** Writes a JSON value as YAML in the layout of sigs.k8s.io/yaml: keys sorted, lists not indented, long lines folded. */
export function toYaml(value: unknown): string {
  const document = new Document(JSON.parse(JSON.stringify(value)), { version: "1.1", sortMapEntries: true });
  visit(document, {
    Scalar(_key, node) {
      if (isScalar(node) && typeof node.value === "string") node.type = styleOf(node.value);
    },
  });
  return foldLines(document.toString({ indentSeq: false, lineWidth: 0, singleQuote: true }));
}

/** Mirrors yaml_emitter_write_*_scalar in gopkg.in/yaml.v2/emitterc.go, which fold after the limit, not before. */
function foldLines(text: string): string {
  let literalIndent = -1;
  const folded = text.split("\n").map((line) => {
    const [, spaces = "", dashes = "", key = ""] =
      /^( *)((?:- )*)((?:[^\s'"]+|'[^']*'|"[^"]*"):(?: |$))?/.exec(line) ?? [];
    const indent = spaces.length + dashes.length;
    if (literalIndent >= 0 && (line === "" || spaces.length > literalIndent)) return line;
    literalIndent = /(?:^|[ :])\|\d?[-+]?$/.test(line) ? (key === "" ? spaces.length : indent) : -1;
    return line.length > BEST_WIDTH ? foldLine(line, key === "" ? indent : indent + 2) : line;
  });
  return folded.join("\n");
}

function foldLine(line: string, indent: number): string {
  const lines: string[] = [];
  const quoted = /['"]$/.test(line) ? 1 : 0;
  let rest = line;
  for (let from = BEST_WIDTH + 1; ; ) {
    const at = rest.indexOf(" ", from);
    if (at < 0 || at >= rest.length - 1 - quoted) return [...lines, rest].join("\n");
    if (rest[at + 1] === " " || rest[at - 1] === " ") {
      from = at + 1;
      continue;
    }
    lines.push(rest.slice(0, at));
    rest = `${" ".repeat(indent)}${rest.slice(at + 1)}`;
    from = BEST_WIDTH + 1;
  }
}

function styleOf(text: string): Scalar.Type {
  if (OTHER_TYPE.test(text)) return Scalar.QUOTE_DOUBLE;
  return text.includes("\n") ? Scalar.BLOCK_LITERAL : Scalar.PLAIN;
}

/**
 * Converts the first document of a text to JSON. A key that appears twice in one map is a strict error; the last one counts.
 * @throws StatusError 400
 */
export function fromYaml(text: string): JsonOfYaml {
  try {
    return yamlToJson(text);
  } catch (error) {
    throw badRequest(messageOf(error));
  }
}
