import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Page } from "playwright-core";
import { test } from "vitest";
import type { TraceEvent } from "../../../../src/trace/events.js";
import { translated } from "../../../../src/trace/translated.js";
import { HtmlSink } from "../../../../src/trace/ui/html-sink.js";
import { zh } from "../../../../src/util/i18n/sentences/zh.js";
import { Sentences } from "../../../../src/util/i18n/sentences.js";
import { browserSuite } from "../../../support/browser-suite.js";
import { CONTRASTS, FITS } from "../../../support/page-scripts.js";
import { PageFacts } from "../page-facts.js";
import {
  bootstrapFacts,
  evictionFacts,
  execFacts,
  leaseFacts,
  plegFacts,
  podWorkerFacts,
  requestFacts,
  schedulerFacts,
  twoNodesFacts,
} from "./chapter-facts.js";

/** What the picture of each chapter has after one of the facts, as a reader sees and hears it. */
const chapters: readonly (readonly [
  title: string,
  facts: () => TraceEvent[],
  count: number,
  now: string,
  ahead: string | undefined,
])[] = [
  [
    "Hops",
    execFacts,
    2,
    "API server → kubelet POST https://127.0.0.1:10250/exec/default/nettool/nettool?command=date&output=1",
    "kubelet → runtime, by gRPC",
  ],
  ["Eviction", evictionFacts, 2, "1. default/mild 130Mi 50Mi yes 0 goes first", undefined],
  ["Scheduler", schedulerFacts, 2, "➜ node-2 ✓ passed 200 NodeAffinity 200", undefined],
  ["Lease", leaseFacts, 3, "node node-1 no longer renews its Lease Lease renewed 30 s ago", "Ready becomes Unknown"],
  ["Lease", twoNodesFacts, 5, "node atlas renews its Lease Lease renewed 5 s ago", undefined],
  [
    "Credentials",
    bootstrapFacts,
    2,
    "bootstrap token abcdef.**** the API server trusts it: it has this Secret kube-system/bootstrap-token-abcdef",
    "private key",
  ],
  [
    "Pod workers",
    podWorkerFacts,
    5,
    "default/web 3 3 updates merged into the newest: reconcile → syncPod runs: create",
    undefined,
  ],
  ["PLEG", plegFacts, 7, "default/web/app exited (1, Error) ≠ running: until the next relist", undefined],
  ["Request", requestFacts, 6, "mutating admission Priority and 1 more", "storage"],
];

const idOf = (count: number) => count.toString(16).padStart(16, "0");
/** Where the page's parts are; they must not move. */
const PLACES = `["picture", "player", "chapter", "below"].map((one) => {
  const { x, y, width, height } = document.querySelector("." + one).getBoundingClientRect();
  return [one, x, y, width, height].join(" ");
})`;
/** The sizes of all texts, in pixels. */
const SIZES = `[...document.querySelectorAll(".chapter *")].map((one) => Number.parseFloat(getComputedStyle(one).fontSize))`;

/** The lines of the second step's sentence. */
const LINES = `(() => {
  const text = document.querySelectorAll(".told-row > span")[1];
  const lines = [];
  let top;
  const walker = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node && !node.parentElement.closest("small"); node = walker.nextNode()) {
    for (let i = 0; i < node.length; i++) {
      const range = document.createRange();
      range.setStart(node, i);
      range.setEnd(node, i + 1);
      const box = range.getClientRects()[0];
      // A space at a line's end has no place.
      if (box?.width > 0 && !(box.top <= top + 4)) lines.push("");
      if (box?.width > 0) top = box.top;
      lines[lines.length - 1] += node.data[i];
    }
  }
  return lines;
})()`;

/** The sentences of exec's facts as its story. */
function toldExec(): TraceEvent[] {
  const facts = execFacts();
  const steps = facts.map((fact) => ({
    fact: fact.id,
    text: fact.kind === "decision" ? fact.what : `is ${fact.kind}`,
  }));
  const [first] = facts;
  assert.ok(first !== undefined);
  const story = { kind: "story", title: "exec", steps } as const;
  const stamp = { actor: "user", level: 4, atMs: first.atMs, seq: 99, id: idOf(99) } as const;
  return [...facts, { ...stamp, ...story }];
}

/** 20 containers that a relist has found, of which the last one has ended since. */
function manyContainers(): TraceEvent[] {
  const facts = new PageFacts();
  const options = { chapter: "pleg", instance: "node-1", pod: "default/web" };
  const names = Array.from({ length: 20 }, (_, i) => `app${i + 1}`);
  const state = (name: string, from: string, to: string) =>
    facts.add(
      { kind: "state", subject: `default/web/${name}`, what: "container", from, to },
      { ...options, actor: "runtime" },
    );
  for (const name of names) state(name, "created", "running");
  const rows = names.map((name) => ["default/web", `${name} 0123`, "non-existent", "running"]);
  const columns = ["pod", "container", "old", "new"];
  facts.add({ kind: "table", title: "changes since the last relist", columns, rows }, options);
  state("app20", "running", "exited (1, Error)");
  return facts.events;
}

browserSuite([], "the chapters of a trace as pictures", (suite) => {
  async function open(events: readonly TraceEvent[], count: number, size?: { width: number; height: number }) {
    const path = join(mkdtempSync(join(tmpdir(), "kubelab-page-")), "t.html");
    const sink = new HtmlSink(path);
    for (const event of events) sink.write(event);
    await sink.close();
    const opened = await suite.open(`${pathToFileURL(path).href}#view=all&step=${idOf(count)}`, size);
    await opened.page.locator(".chapter").waitFor();
    return opened;
  }

  const current = (page: Page) => page.locator(".chapter .now:not(.line), .chapter .bad:not(.line)").first();
  const textOf = async (page: Page) =>
    (await current(page).innerText())
      .replace(/^[●✕]\s*/, "")
      .replace(/\s+/g, " ")
      .replace("● ", "");

  test.each(chapters)(
    "%s: says where things stand, and what is still to come",
    async (title, facts, count, now, ahead) => {
      const { page, complaints } = await open(facts(), count);
      const picture = page.getByRole("region", { name: title, exact: true });
      assert.equal(await page.getByRole("button", { name: title, exact: true }).getAttribute("aria-pressed"), "true");
      assert.equal(await textOf(page), now);
      if (ahead !== undefined)
        assert.ok((await picture.locator(".ahead").allInnerTexts()).some((text) => text.includes(ahead)));
      const places = await page.evaluate(PLACES);
      for (const key of ["Home", "End"]) {
        await page.keyboard.press(key);
        assert.deepEqual(await page.evaluate(PLACES), places);
      }
      assert.ok(((await page.evaluate(SIZES)) as number[]).every((size) => size >= 12));
      assert.deepEqual(complaints, []);
    },
  );

  test.each(chapters)(
    "%s: a phone has it below the cluster, with enough contrast in both schemes",
    async (_, facts, count) => {
      const { page } = await open(facts(), count, { width: 400, height: 700 });
      const [picture, chapter] = [
        await page.locator(".picture").boundingBox(),
        await page.locator(".chapter").boundingBox(),
      ];
      assert.ok(picture !== null && chapter !== null && chapter.y >= picture.y + picture.height - 1);
      assert.deepEqual(await page.evaluate(`(${FITS})()`), { isScrolled: false, outside: [] });
      const shown = [
        ".chapter .now",
        ".chapter .ahead",
        ".chapter .done",
        ".chapter .bad",
        ".chapter .sub",
        ".chapter code",
        ".chapter .tone",
      ];
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        const contrasts = (await page.evaluate(`(${CONTRASTS})(${JSON.stringify(shown)})`)) as [string, number][];
        for (const [what, contrast] of contrasts)
          assert.ok(contrast === 0 || contrast >= 4.5, `${colorScheme} ${what}: ${contrast.toFixed(1)}`);
      }
    },
  );

  test("a trace of several chapters: that of the command comes first, and a button shows another one", async () => {
    const others = podWorkerFacts().map(({ chapter: _, ...event }) => ({
      ...event,
      seq: event.seq + 50,
      id: `1${event.id.slice(1)}`,
    }));
    const { page } = await open([...execFacts(), ...others], 2);
    await page.getByRole("region", { name: "Hops", exact: true }).waitFor();
    await page.getByRole("button", { name: "Pod workers", exact: true }).click();
    await page.getByRole("region", { name: "Pod workers", exact: true }).waitFor();
    await page.locator(".row").last().click();
    await page.locator(".slots", { hasText: "is idle" }).waitFor();
  });

  test("exec: each hop lights its line in the picture, and its row in the chapter", async () => {
    const { page } = await open(execFacts(), 1);
    const lit: (string | undefined)[][] = [];
    for (let count = 1; count <= 6; count++) {
      await page.locator(`[id="step-${idOf(count)}"][aria-selected=true]`).waitFor();
      const ends = await page.locator(".cluster .lit.sent").count();
      lit.push([
        await current(page).locator("b").innerText(),
        ends === 1 ? await page.locator(".flag").innerText() : "",
      ]);
      await page.keyboard.press("ArrowDown");
    }
    assert.deepEqual(lit, [
      ["client → API server", "create Pod nettool exec\n← 101"],
      ["API server → kubelet", "POST /exec/default/nettool/nettool"],
      ["the kubelet serves", ""],
      ["kubelet → runtime, by gRPC", "Exec\n← OK"],
      ["kubelet → streaming server of the runtime", "connect the streams"],
      ["the connection carries the streams", "streams of /exec/default/nettool/nettool"],
    ]);
  });

  test("PLEG: what differs is in view, also after containers that do not fit", async () => {
    const { page } = await open(manyContainers(), 22, { width: 1400, height: 900 });
    const row = page.locator(".chapter tr.now");
    assert.equal(await row.innerText(), "default/web/app20\texited (1, Error)\t≠ running: until the next relist");
    const places = [await row.boundingBox(), await page.locator(".chapter-body").boundingBox()];
    const [chip, body] = places.map((box) => box ?? assert.fail());
    assert.ok(chip && body && chip.y >= body.y && chip.y + chip.height <= body.y + body.height, JSON.stringify(places));
  });

  test("a phone has the picture in words below the step's sentence", async () => {
    const { page } = await open(toldExec(), 2, { width: 400, height: 800 });
    await page.getByRole("button", { name: "Story", exact: true }).click();
    await page.getByRole("option", { name: /^2\. / }).click();
    await page.locator(".opened .chapter .now", { hasText: "API server → kubelet" }).waitFor();
    assert.equal(await page.locator(".chapter").count(), 1);
    assert.deepEqual(await page.evaluate(`(${FITS})()`), { isScrolled: false, outside: [] });
  });

  test("an address in a sentence breaks between its parts, and never in a word", async () => {
    const { page } = await open(toldExec(), 2, { width: 1400, height: 900 });
    await page.getByRole("button", { name: "Story", exact: true }).click();
    const lines = (await page.evaluate(LINES)) as string[];
    assert.ok(lines.length > 2, lines.join("|"));
    assert.deepEqual(
      lines.filter((line, i) => i + 1 < lines.length && !/[\s/?&]$/.test(line)),
      [],
    );
  });

  test("a Chinese trace has Chinese pictures", async () => {
    const { say } = new Sentences(zh);
    const { page } = await open(
      podWorkerFacts().map((event) => translated(event, say)),
      5,
    );
    await page.getByRole("region", { name: "Pod worker", exact: true }).waitFor();
    assert.equal(await page.locator(".slots .full").innerText(), "3 3 次更新合并为最新的一次：reconcile");
  });
});
