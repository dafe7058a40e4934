import { type Case, GROUPS, type Outcome } from "./suite.js";

export interface Result {
  readonly one: Case;
  readonly outcome: Outcome;
}

/** The counts of each group, and one line for each failure: the case and the first line of its error. */
export function table(results: readonly Result[]): string {
  const rows = GROUPS.map((group) =>
    row(
      group,
      results.filter(({ one }) => one.group === group),
    ),
  ).filter(([, cases]) => cases !== "0");
  const lines = [["group", "cases", "passed", "failed", "skipped"], ...rows, row("all", results)].map(
    ([name = "", ...cells]) => `${name.padEnd(14)}${cells.map((cell) => cell.padStart(8)).join("")}`,
  );
  const failures = results.flatMap(({ one, outcome }) =>
    outcome.kind === "failed" ? [`${one.group}: ${one.name}\n    ${outcome.error}`] : [],
  );
  return `${[...lines, ...(failures.length === 0 ? [] : ["", ...failures])].join("\n")}\n`;
}

function row(name: string, results: readonly Result[]): readonly string[] {
  const count = (kind: Outcome["kind"]) => String(results.filter(({ outcome }) => outcome.kind === kind).length);
  return [name, String(results.length), count("passed"), count("failed"), count("skipped")];
}
