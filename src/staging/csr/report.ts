import { printable, wrap } from "../../trace/terminal/text.js";
import type { Say } from "../../util/i18n/sentences.js";
import { textWidth } from "../../util/text/text-width.js";
import type { DerRow, DerWalk } from "../pki/der-walk.js";
import type { Inspection, SignerVerdict } from "./inspect.js";

/**
 * The inspection as text: facts, the DER field by field, and each signer's verdict rule by rule.
 * Anyone can put text into a request, so control characters are made harmless.
 * @param width columns; 80 is the readable minimum
 */
export function inspectionText(inspection: Inspection, width: number, say: Say = (text) => text): string {
  const { title, kind, facts, walk, verdicts } = inspection;
  const sections = [
    [printable(say(`${title}: a certificate ${kind === "request" ? "signing request (PKCS#10)" : "(X.509)"}`))],
    columns(
      facts.map(([label, value]) => [say(label), say(value)]),
      width,
      "  ",
    ),
    ["", say("The DER, field by field (offset, header and content in bytes):"), ...derLines(walk, width, say)],
  ];
  if (verdicts.length > 0) sections.push(["", say("Which signer would accept it:")]);
  for (const verdict of verdicts) sections.push(verdictLines(verdict, width, say));
  return sections.flat().join("\n");
}

/** `label  value`, the values aligned and wrapped. */
function columns(rows: readonly (readonly [string, string])[], width: number, indent: string): string[] {
  const labelWidth = Math.max(0, ...rows.map(([label]) => textWidth(label)));
  const left = indent.length + labelWidth + 2;
  return rows.flatMap(([label, value]) =>
    hanging(indent + printable(label) + " ".repeat(labelWidth - textWidth(label) + 2), left, value, width),
  );
}

/** The first line after `prefix`, the others below it. */
function hanging(prefix: string, left: number, text: string, width: number): string[] {
  const [first = "", ...rest] = wrap(printable(text), width - left);
  return [(prefix + first).trimEnd(), ...rest.map((line) => " ".repeat(left) + line)];
}

function derLines(walk: DerWalk, width: number, say: Say): string[] {
  const tagOf = (row: DerRow) => " ".repeat(row.depth) + row.tag;
  const tagWidth = Math.max(3, ...walk.rows.map((row) => tagOf(row).length));
  const line = (offset: string, header: string, length: string, tag: string, meaning: string) => {
    const prefix = `${offset.padStart(6)} ${header.padStart(3)} ${length.padStart(5)}  ${tag.padEnd(tagWidth)}  `;
    return hanging(prefix, prefix.length, meaning, width);
  };
  const lines = line("OFFSET", "HDR", "LEN", "TAG", say("MEANING"));
  for (const row of walk.rows) {
    lines.push(...line(`${row.offset}`, `${row.headerLength}`, `${row.length}`, tagOf(row), say(row.meaning)));
  }
  if (walk.problem !== undefined) lines.push(...line(`${walk.problem.offset}`, "", "", "!", walk.problem.message));
  return lines;
}

function verdictLines(verdict: SignerVerdict, width: number, say: Say): string[] {
  const { signerName, accepts, isAsked, outcomes } = verdict;
  const usages =
    verdict.usagesFrom === "assumed"
      ? `evaluated with its usual usages: ${verdict.usages.join(", ")} (a bare request names none; see --usages)`
      : undefined;
  const lines = [
    "",
    ...hanging(
      "",
      0,
      say(`${signerName}: ${accepts ? "yes" : "NO"}${isAsked ? " (the object's signerName)" : ""}`),
      width,
    ),
  ];
  for (const text of [verdict.purpose, `approved: ${verdict.approval}`, usages]) {
    if (text !== undefined) lines.push(...hanging("  ", 2, say(text), width));
  }
  for (const { ok, rule, seen, message } of outcomes) {
    lines.push(...hanging(ok ? "  ok   " : "  FAIL ", 7, `${say(rule)} [${seen}]`, width));
    if (message !== undefined) lines.push(...hanging("       -> ", 10, message, width));
  }
  return lines;
}
