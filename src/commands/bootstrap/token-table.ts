import type { TokenSummary } from "../../staging/cluster-bootstrap/secret.js";
import { alignedLines } from "../../trace/terminal/table.js";
import { asItIs } from "../../trace/translated.js";
import type { Say } from "../../util/i18n/sentences.js";

const MAX_WIDTH = 80;

/**
 * Tokens for people: a line each, and below it its groups, whose names are long. No line is wider than 80 columns:
 * longer texts end in `…`, and `--json` has them whole.
 */
export function tokenTable(tokens: readonly TokenSummary[], say: Say = asItIs): string {
  const rows = [["ID", "TTL", "USAGES", "DESCRIPTION"].map(say), ...tokens.map((token) => cellsOf(token, say))];
  const indent = " ".repeat(Math.max(...rows.map(([id = ""]) => id.length)) + 2);
  return alignedLines(rows)
    .flatMap((line, i) => [line, ...(tokens[i - 1]?.groups ?? []).map((group) => `${indent}${say("in")} ${group}`)])
    .map(cut)
    .join("\n");
}

function cellsOf(token: TokenSummary, say: Say): string[] {
  const description = token.invalid === undefined ? (token.description ?? "-") : `INVALID: ${token.invalid}`;
  return [token.id, say(ttlInWords(token)), token.usages.join(",") || "-", description.replace(/\s+/g, " ")];
}

function cut(line: string): string {
  return line.length <= MAX_WIDTH ? line : `${line.slice(0, MAX_WIDTH - 1)}…`;
}

function ttlInWords({ ttlSeconds }: TokenSummary): string {
  if (ttlSeconds === undefined) return "forever";
  if (Number.isNaN(ttlSeconds)) return "?";
  if (ttlSeconds <= 0) return "expired";
  if (ttlSeconds < 3600) return `${Math.ceil(ttlSeconds / 60)}m`;
  return `${Math.floor(ttlSeconds / 3600)}h${Math.floor((ttlSeconds % 3600) / 60)}m`;
}
