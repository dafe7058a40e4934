// `npm run bench:trace`: 50,000 facts as a page: writing it, its first paint, scrolling and filtering in Chromium.
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import type { TraceEvent } from "../src/trace/events.js";
import { HtmlSink } from "../src/trace/ui/html-sink.js";
import { PAGE_HEAD } from "../src/trace/ui/page.js";
import { startChromium } from "../test/support/chromium.js";
import { PageFacts } from "../test/trace/ui/page-facts.js";
import { median, printTable, spread } from "./measure.js";

const FACTS = 50_000;
const RUNS = 7;
const ACTORS = ["user", "apiserver", "controller", "kubelet"] as const;

/** A third are requests with bodies; nine of ten were caused by the one before. All differ, so that none is folded. */
function manyFacts(): TraceEvent[] {
  const facts = new PageFacts();
  let id = "";
  for (let i = 0; i < FACTS; i++) {
    const cause = i % 10 === 0 ? { origin: "timer" as const } : { causedBy: id };
    const options = { actor: ACTORS[i % ACTORS.length] ?? "user", ...cause };
    const responseBody = { metadata: { uid: `u${i % 100}`, resourceVersion: String(i) }, text: "x".repeat(300) };
    const request = {
      method: "GET",
      path: `/api/v1/pods/pod-${i}`,
      server: "",
      identity: "",
      durationMs: 4,
      auditId: "",
    };
    if (i % 3 === 0) id = facts.add({ kind: "request", status: 200, ...request, responseBody }, options);
    else id = facts.add({ kind: "decision", what: `fact-${i}`, why: "a reason" }, options);
  }
  return facts.events;
}

async function write(path: string, events: readonly TraceEvent[]): Promise<number> {
  const started = performance.now();
  const sink = new HtmlSink(path);
  for (const event of events) sink.write(event);
  await sink.close();
  return performance.now() - started;
}

/** Milliseconds from an action to the frame that shows its effect. */
const TIMED = (action: string) => `new Promise((resolve) => {
  const started = performance.now();
  ${action};
  requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - started)));
})`;
const PAINTED = `performance.getEntriesByName("first-contentful-paint")[0].startTime`;
/** All facts are there, and drawn. */
const READ = `performance.getEntriesByType("navigation")[0].domContentLoadedEventEnd`;
const SEARCH = (text: string) =>
  `const search = document.getElementById("search"); search.value = "${text}"; search.dispatchEvent(new Event("input"))`;

const folder = mkdtempSync(join(tmpdir(), "kubelab-bench-"));
const path = join(folder, "trace.html");
const events = manyFacts();
const times: Readonly<Record<"write" | "paint" | "all" | "scroll" | "filter", number[]>> = {
  write: [],
  paint: [],
  all: [],
  scroll: [],
  filter: [],
};
const browser = await startChromium();
for (let run = 0; run < RUNS; run++) {
  times.write.push(await write(path, events));
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.goto(pathToFileURL(path).href);
  await page.locator(".row").first().waitFor();
  await page.waitForFunction(`${READ} > 0`);
  times.paint.push(Number(await page.evaluate(PAINTED)));
  times.all.push(Number(await page.evaluate(READ)));
  const scroll = `document.getElementById("rows").scrollTop = ${(run + 1) * 100_000}`;
  times.scroll.push(Number(await page.evaluate(TIMED(scroll))));
  // The first search reads the text of every fact.
  times.filter.push(Number(await page.evaluate(TIMED(SEARCH(`fact-${run}`)))));
  await page.close();
}
await browser.close();
printTable([
  [`${FACTS} facts`, "median ms", "min-max ms"],
  ...Object.entries(times).map(([name, values]) => [name, median(values).toFixed(0), spread(values)]),
]);
const kB = (bytes: number) => `${Math.round(bytes / 1000)} kB`;
process.stdout.write(
  `the page without facts: ${kB(gzipSync(PAGE_HEAD).length)} gzipped; with: ${kB(statSync(path).size)}\n`,
);
rmSync(folder, { recursive: true });
