import { Document, isScalar, parse, Scalar, visit } from "yaml";
import { badRequest } from "../errors.js";

/** What YAML 1.1 would read as something else than a string: go-yaml puts it in double quotes. */
const OTHER_TYPE =
  /^(?:~|null|Null|NULL|y|Y|yes|Yes|YES|n|N|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF|<<|=|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])*|0x[0-9a-fA-F_]+|0b[01_]+|[-+]?(?:\.[0-9]+|[0-9][0-9_]*\.[0-9_]*|[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt ].*)?)?$/;

/**
 * A JSON value as YAML, laid out as sigs.k8s.io/yaml does: keys sorted, lists not indented, lines folded at 80 columns.
 */
export function toYaml(value: unknown): string {
  const document = new Document(JSON.parse(JSON.stringify(value)), { version: "1.1", sortMapEntries: true });
  visit(document, {
    Scalar(_key, node) {
      if (isScalar(node) && typeof node.value === "string") node.type = styleOf(node.value);
    },
  });
  return document.toString({ indentSeq: false, lineWidth: 80, singleQuote: true });
}

function styleOf(text: string): Scalar.Type {
  if (OTHER_TYPE.test(text)) return Scalar.QUOTE_DOUBLE;
  return text.includes("\n") ? Scalar.BLOCK_LITERAL : Scalar.PLAIN;
}

/** A YAML document as JSON text. @throws StatusError 400 */
export function fromYaml(text: string): string {
  try {
    // Aliases that multiply each other would make megabytes out of a few lines.
    return JSON.stringify(parse(text, { version: "1.1", maxAliasCount: 100 }) ?? null);
  } catch (error) {
    throw badRequest(`error converting YAML to JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}
