// `npm run parity [-- topic ... --verbose --keep=FOLDER]`: records the embedded control plane as the real one was recorded,
// and compares. With --keep the new recordings stay.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TopicResult } from "../test/parity/compare.js";
import { isGood, judge } from "../test/parity/judge.js";
import { hasRecordings, RECORDINGS, recordTopics } from "../test/parity/recorder.js";

/** One after the other on one control plane, as they were recorded. */
const TOPICS = ["discovery", "auth", "csr", "lease-node", "pods", "watch", "tables", "websocket"];
/** A quarter of an hour of waiting for nodes to lapse and certificates to expire: each beside the others, on its own. */
const LONG_TOPICS = ["node-lifecycle", "expiry"];

/** of one item's differences */
const SHOWN_LINES = 12;

const total = { items: 0, differ: 0, proseOnly: 0 };

if (hasRecordings) await main(process.argv.slice(2));
else process.stderr.write(`no recordings at ${RECORDINGS}: nothing to compare with\n`);

async function main(args: readonly string[]): Promise<void> {
  const isVerbose = args.includes("--verbose");
  const keep = args.find((arg) => arg.startsWith("--keep="))?.slice("--keep=".length);
  const asked = args.filter((arg) => !arg.startsWith("-"));
  const topics = asked.length === 0 ? [...TOPICS, ...LONG_TOPICS] : asked;
  const groups = [
    topics.filter((topic) => !LONG_TOPICS.includes(topic)),
    ...LONG_TOPICS.filter((one) => topics.includes(one)).map((one) => [one]),
  ];
  const folder = keep ?? (await mkdtemp(join(tmpdir(), "kubelab-parity-")));
  try {
    process.stdout.write("topic            items  same  listed  not listed  status or reason  no longer differ\n");
    const runs = groups.map(async (group, i) => {
      for await (const result of recordTopics(group, join(folder, String(i)))) report(result, isVerbose);
    });
    await Promise.all(runs);
    printTotal();
  } finally {
    if (keep === undefined) await rm(folder, { recursive: true, force: true });
  }
}

function printTotal(): void {
  const share = ((100 * total.differ) / total.items).toFixed(1);
  process.stdout.write(`${total.differ} of ${total.items} items differ (${share} %)\n`);
  process.stdout.write(`${total.proseOnly} items equal but for the prose of column descriptions, which is ours\n`);
}

function report(result: TopicResult, isVerbose: boolean): void {
  total.items += result.itemCount;
  total.differ += result.differences.length;
  total.proseOnly += result.proseOnly;
  const verdict = judge(result);
  const { itemCount, listed, unlisted, severe, stale } = verdict;
  const same = itemCount - result.differences.length;
  const cells = [itemCount, same, listed.length, unlisted.length, severe.length, stale.length];
  const widths = [5, 6, 8, 12, 18, 18];
  process.stdout.write(
    `${result.topic.padEnd(17)}${cells.map((cell, i) => String(cell).padStart(widths[i] ?? 0)).join("")}\n`,
  );
  for (const one of isVerbose ? result.differences : new Set([...unlisted, ...severe])) {
    const more = one.lines.length - SHOWN_LINES;
    const lines = [...one.lines.slice(0, SHOWN_LINES), ...(more > 0 ? [`… ${more} more`] : [])];
    process.stdout.write(`  ${one.item}\n${lines.map((line) => `      ${line}\n`).join("")}`);
  }
  for (const one of stale) process.stdout.write(`  no longer differs: ${one.item}\n`);
  if (!isGood(verdict)) process.exitCode = 1;
}
