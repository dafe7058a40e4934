import { randomInt } from "node:crypto";
import { LabError } from "../../util/errors.js";

/** The two halves of a bootstrap token: a public id, which names the Secret and the user, and the secret. */
export interface BootstrapToken {
  /** six of [a-z0-9] */
  readonly id: string;
  /** sixteen of [a-z0-9]; only printed by the command that creates it */
  readonly secret: string;
}

const ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789";
/** Mirrors BootstrapTokenPattern in k8s.io/cluster-bootstrap/token/api/types.go. */
export const TOKEN_PATTERN = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;
const TOKEN_FORMAT = "six and sixteen lower-case letters or digits separated by a dot: [a-z0-9]{6}.[a-z0-9]{16}";

/** Mirrors k8s.io/cluster-bootstrap/token/util (GenerateBootstrapToken). Uses node:crypto, because it is a credential. */
export function generateToken(): BootstrapToken {
  return { id: randomText(6), secret: randomText(16) };
}

function randomText(length: number): string {
  return Array.from({ length }, () => ALPHABET[randomInt(ALPHABET.length)]).join("");
}

/**
 * Mirrors k8s.io/cluster-bootstrap/token/util (IsValidBootstrapToken).
 * @throws LabError USAGE that explains the format without repeating the text, which may contain most of a secret
 */
export function parseToken(text: string): BootstrapToken {
  const match = TOKEN_PATTERN.exec(text.trim());
  if (match?.[1] !== undefined && match[2] !== undefined) return { id: match[1], secret: match[2] };
  throw new LabError(
    "USAGE",
    `the token is malformed: ${whatIsWrong(text.trim())}`,
    `A bootstrap token is ${TOKEN_FORMAT}.`,
  );
}

/**
 * The id of a token, or of a text that is only an id.
 * @throws LabError USAGE
 */
export function parseTokenId(text: string): string {
  if (/^[a-z0-9]{6}$/.test(text)) return text;
  if (text.includes(".")) return parseToken(text).id;
  throw new LabError(
    "USAGE",
    `not a token id: it has ${text.length} characters${text.length === 6 ? ", and not all are a-z or 0-9" : " instead of 6"}`,
    "Give the id (six of a-z and 0-9), or the whole token: abcdef or abcdef.0123456789abcdef",
  );
}

function whatIsWrong(text: string): string {
  if (text === "") return "it is empty";
  const [id = "", secret, ...more] = text.split(".");
  if (secret === undefined) return "it has no dot between its id and its secret";
  if (more.length > 0) return "it has more than one dot";
  if (/[A-Z]/.test(text)) return "it has upper-case letters";
  if (id.length !== 6) return `its id has ${id.length} characters instead of 6`;
  if (secret.length !== 16) return `its secret has ${secret.length} characters instead of 16`;
  return "it has characters other than a-z and 0-9";
}

export function formatToken(token: BootstrapToken): string {
  return `${token.id}.${token.secret}`;
}
