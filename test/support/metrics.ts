import { expect } from "vitest";

/** A metric's subject, and how to change it. */
export interface MetricRow {
  /** the labels of the series to look at: `{resource="configmaps"}` */
  readonly series: string;
  /** what it reads before, after `change` and after `back`; "differs": any two numbers */
  readonly reads: readonly (number | undefined)[] | "differs";
  readonly change: () => unknown;
  readonly back?: () => unknown;
}

/** Checks that each exported metric has a row, and that it follows its subject. @param read returns the text of `/metrics` */
export async function expectMetricsFollow(
  read: () => Promise<string>,
  rows: Readonly<Record<string, MetricRow>>,
): Promise<void> {
  expect((await read()).match(/(?<=# TYPE )\S+/g), "each metric has a row").toEqual(Object.keys(rows));
  for (const [name, { series, reads, change, back }] of Object.entries(rows)) {
    const seen = [await readMetric(read, name + series)];
    for (const step of [change, ...(back === undefined ? [] : [back])]) {
      await step();
      seen.push(await readMetric(read, name + series));
    }
    if (reads !== "differs") expect(seen, name).toEqual(reads);
    else expect(seen[0], name).not.toBe(seen[1]);
  }
}

/** The value of a series; undefined if there is none. @param series `apiserver_longrunning_requests{verb="WATCH"}` */
export async function readMetric(read: () => Promise<string>, series: string): Promise<number | undefined> {
  const line = (await read()).split("\n").find((one) => one.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length));
}
