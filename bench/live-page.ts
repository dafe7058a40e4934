// `npm run bench:live`: frames of the live page while 200 facts come each second, at the beginning and with a full list.
import type { Page } from "playwright-core";
import { Trace } from "../src/trace/trace.js";
import { LiveServer } from "../src/trace/ui/live-server.js";
import { traceOfNode } from "../src/trace/view.js";
import { SystemClock } from "../src/util/clock.js";
import { startChromium } from "../test/support/chromium.js";
import { median, printTable } from "./measure.js";

const FACTS_PER_SECOND = 200;
const NODES = 4;
const PODS = 40;
/** more than the page keeps */
const FULL = 40_000;
const SECONDS = 10;
const FRAME_MS = 1000 / 60;

const clock = new SystemClock();
const live = await LiveServer.open({ port: 0, clock });
const trace = new Trace(clock);
trace.addSink(live);
const nodes = Array.from({ length: NODES }, (_, i) => traceOfNode(trace, `node-${i}`));
let count = 0;

/** What a kubelet that starts and ends containers reports, with what the API server and its watchers see. */
function emitOne(): void {
  const at = count++;
  const pod = `default/pod-${at % PODS}`;
  const node = nodes[at % NODES] ?? trace;
  const request = { server: "", identity: "", durationMs: 4, auditId: "", status: 200 };
  const version = `uid-${at % PODS}@${at}`;
  trace.because({ pod }, () => {
    switch (at % 6) {
      case 0:
        return trace.emit(
          { kind: "state", subject: `pods ${pod}`, what: "stored", to: `${at}`, version },
          { actor: "apiserver" },
        );
      case 1:
        return trace.emit({ kind: "watch", type: "MODIFIED", resource: "pods", object: pod }, { actor: "scheduler" });
      case 2:
        return node.emit(
          { kind: "request", method: "PATCH", path: `/api/v1/${pod}/status`, ...request },
          { actor: "kubelet" },
        );
      case 3:
        return node.emit(
          { kind: "rpc", service: "RuntimeService", method: "StartContainer", endpoint: "", durationMs: 2, code: "OK" },
          { actor: "kubelet" },
        );
      case 4:
        return node.emit(
          { kind: "decision", what: `sync ${pod}, time ${at}`, why: "it changed" },
          { actor: "kubelet" },
        );
      default: {
        const [from, to] = at % 12 < 6 ? ["created", "running"] : ["running", "exited (1, Error)"];
        return node.emit({ kind: "state", subject: `${pod}/app`, what: "container", from, to }, { actor: "runtime" });
      }
    }
  });
}

/** Milliseconds between frames while facts come, and what the page's thread did in a second. */
async function measure(page: Page): Promise<{ frames: readonly number[]; busy: number }> {
  const session = await page.context().newCDPSession(page);
  // Processor time, because other processes take turns.
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const taskSeconds = async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    return metrics.find(({ name }) => name === "TaskDuration")?.value ?? 0;
  };
  const started = performance.now();
  const emitted = count;
  const timer = setInterval(() => {
    while (count - emitted < ((performance.now() - started) / 1000) * FACTS_PER_SECOND) emitOne();
  }, 5);
  const before = await taskSeconds();
  const frames = (await page.evaluate(`new Promise((resolve) => {
    const frames = [];
    let last;
    const frame = (now) => {
      if (last !== undefined) frames.push(now - last);
      last = now;
      if (frames.reduce((sum, one) => sum + one, 0) < ${SECONDS * 1000}) requestAnimationFrame(frame);
      else resolve(frames);
    };
    requestAnimationFrame(frame);
  })`)) as number[];
  clearInterval(timer);
  return { frames, busy: ((await taskSeconds()) - before) / SECONDS };
}

const browser = await startChromium();
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
await page.goto(live.url);
emitOne();
await page.locator(".row").first().waitFor();
const rows = [[`${FACTS_PER_SECOND} facts/s`, "frames/s", "median ms", "worst ms", "late frames", "thread busy"]];
const report = async (name: string) => {
  const { frames, busy } = await measure(page);
  const late = frames.filter((ms) => ms > 1.5 * FRAME_MS).length / frames.length;
  const perSecond = frames.length / (frames.reduce((sum, one) => sum + one, 0) / 1000);
  const share = (one: number) => `${(100 * one).toFixed(1)} %`;
  rows.push([
    name,
    perSecond.toFixed(1),
    median(frames).toFixed(1),
    Math.max(...frames).toFixed(0),
    share(late),
    share(busy),
  ]);
};
await report("a new page");
while (count < FULL) {
  for (let i = 0; i < 1000; i++) emitOne();
  await clock.sleep(50, new AbortController().signal);
}
await page
  .getByRole("status")
  .filter({ hasText: /\d{5} facts/ })
  .waitFor();
await clock.sleep(3000, new AbortController().signal);
await report(`after ${FULL} facts`);
printTable(rows);
await browser.close();
await live.close();
