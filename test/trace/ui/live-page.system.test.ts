import assert from "node:assert/strict";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import { afterEach, expect, test } from "vitest";
import type { Fact } from "../../../src/trace/events.js";
import { Trace } from "../../../src/trace/trace.js";
import { factLine } from "../../../src/trace/ui/facts.js";
import { LiveServer } from "../../../src/trace/ui/live-server.js";
import { livePage } from "../../../src/trace/ui/page-head.js";
import { SystemClock } from "../../../src/util/clock.js";
import { browserSuite } from "../../support/browser-suite.js";
import { FakeClock } from "../../support/fake-clock.js";
import { FITS } from "../../support/page-scripts.js";
import { podFacts, toldFacts } from "./page-facts.js";

const HOSTILE = `</script><img src=x onerror="document.title='bad'">`;
const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

/** A server as `--ui` starts it, with a window of one table and two keys. */
async function serve() {
  const live = await LiveServer.open({ port: 0, clock: new SystemClock() });
  open.push(live);
  const clock = new FakeClock();
  const trace = new Trace(clock);
  trace.addSink(live);
  const pressed: string[] = [];
  live.present({
    tables: () => [
      { title: "Pod workers", columns: ["pod", HOSTILE], rows: [["default/web", HOSTILE]], note: HOSTILE },
    ],
    keys: () => [
      { key: "f", short: "flood", label: "change it ten times", enabled: true },
      { key: "d", short: HOSTILE, label: "no pod is there", enabled: false },
    ],
    press: async (key) => {
      pressed.push(key);
      trace.emit({ kind: "note", text: `pressed ${key}` }, { actor: "user" });
    },
  });
  return { live, clock, trace, pressed };
}

/** A server whose connections can be cut. */
async function fakeServer() {
  const page = await livePage();
  const streams = new Set<ServerResponse>();
  const server = createServer((request, response) => {
    if (!request.url?.startsWith("/events")) {
      response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(page);
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" }).write("retry: 50\n\n");
    streams.add(response);
    for (const event of podFacts()) send("fact", factLine(event).trim());
  });
  const send = (event: string, data: string) => {
    for (const stream of streams) stream.write(`event: ${event}\ndata: ${data}\n\n`);
  };
  const cut = () => {
    for (const stream of streams) stream.destroy();
    streams.clear();
  };
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  open.push({
    close: async () => {
      cut();
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/?token=t`, send, cut };
}

const status = (page: Page, words: string) => page.getByRole("status").filter({ hasText: words }).waitFor();
const rows = (page: Page) => page.getByRole("listbox").getByRole("option");

/** A lab on the page, in whose every text somebody has put HTML. */
async function serveLab() {
  const live = await LiveServer.open({ port: 0, clock: new SystemClock() });
  open.push(live);
  const pressed: string[] = [];
  const text = `**x** \`${HOSTILE}\` ${HOSTILE}`;
  const kinds = ["heading", "text", "command", "output", "good", "bad", "note"] as const;
  live.present({
    tables: () => [],
    keys: () => ["1", "n", "Escape"].map((key) => ({ key, short: HOSTILE, label: HOSTILE, enabled: true })),
    press: async (key) => void pressed.push(key),
    lab: () => ({
      ...{ language: "zh", title: HOSTILE, waiting: HOSTILE, pictureless: HOSTILE, asks: [HOSTILE] },
      steps: [{ title: HOSTILE, state: "now" }],
      parts: kinds.map((kind) => ({ kind, text })),
      previous: [{ kind: "text", text }],
      choices: [{ key: "1", text }],
    }),
  });
  return { live, pressed };
}

browserSuite([], "the page of a running command", (suite) => {
  test("a lab in which nothing has run says so, until a story is told", async () => {
    const { live } = await serveLab();
    const { page } = await suite.open(live.url);
    const nothing = page.locator("p.strip", { hasText: HOSTILE });
    await nothing.waitFor();
    const facts = toldFacts();
    for (const fact of facts.slice(0, -1)) live.write(fact);
    await page.getByRole("status").getByText(/[1-9]/).first().waitFor();
    assert.equal(await nothing.count(), 1);
    for (const fact of facts.slice(-1)) live.write(fact);
    await nothing.waitFor({ state: "detached" });
    await page.getByRole("region", { name: "步骤", exact: true }).waitFor();
  });

  test("texts of a lab never become HTML, and keys press what its buttons show", async () => {
    const { live, pressed } = await serveLab();
    const { page, complaints } = await suite.open(live.url);
    const lab = page.getByRole("region", { name: HOSTILE });
    await lab.getByRole("log").locator("code").first().waitFor();
    assert.equal(await lab.getByRole("log").locator("> *").count(), 7);
    assert.equal(await page.locator("img").count(), 0);
    assert.deepEqual([await page.title(), await page.locator("html").getAttribute("lang")], ["kubelab", "zh"]);
    await page.keyboard.press("1");
    await page.keyboard.press("Escape");
    await lab.getByRole("button").first().focus();
    await page.keyboard.press("Enter");
    await lab.getByRole("toolbar").getByRole("button").first().click();
    await expect.poll(() => pressed, { timeout: 20_000 }).toEqual(["1", "Escape", "1", "n"]);
    assert.deepEqual(complaints, []);
  });

  suite.testOnPhone(
    [".lab p", ".lab .good", ".lab h3", ".lab-choices button", ".lab pre.command", ".lab-steps"],
    async () => ({
      url: (await serveLab()).live.url,
      shown: (page) => page.getByRole("log").waitFor(),
    }),
  );

  test("facts, states and keys come while the page is open, and the list follows", async () => {
    const { live, clock, trace, pressed } = await serve();
    trace.emit({ kind: "note", text: "before the page" }, { actor: "user" });
    const { page, complaints } = await suite.open(live.url);
    await status(page, "live");
    await rows(page).filter({ hasText: "before the page" }).waitFor();
    await page.getByRole("region", { name: "State" }).getByRole("cell", { name: "default/web" }).waitFor();

    await page.getByRole("button", { name: "f flood" }).focus();
    await page.keyboard.press("Enter");
    await rows(page).filter({ hasText: "pressed f" }).waitFor();
    assert.deepEqual(pressed, ["f"]);
    assert.equal(await page.getByRole("toolbar", { name: /Keys/ }).getByRole("button").nth(1).isDisabled(), true);

    for (let i = 0; i < 200; i++) {
      await clock.advance(10);
      trace.emit({ kind: "note", text: `fact ${i}` }, { actor: "user" });
    }
    // The list follows: the last fact is in view.
    await rows(page).filter({ hasText: "fact 199" }).waitFor();
    const follow = page.getByRole("button", { name: "Follow" });
    assert.equal(await follow.getAttribute("aria-pressed"), "true");
    await page.getByRole("listbox").focus();
    await page.keyboard.press("Home");
    assert.equal(await follow.getAttribute("aria-pressed"), "false");
    trace.emit({ kind: "note", text: "out of view" }, { actor: "user" });
    await page.getByRole("listbox", { name: "203 steps" }).waitFor();
    assert.equal(await rows(page).filter({ hasText: "out of view" }).count(), 0);
    // The letter is the window's own key, as its button shows; with Shift it is the page's.
    await page.keyboard.press("f");
    await page.getByRole("listbox", { name: "204 steps" }).waitFor();
    assert.deepEqual(pressed, ["f", "f"]);
    assert.equal(await follow.getAttribute("aria-pressed"), "false");
    assert.equal(await page.locator("footer kbd", { hasText: /^F$/ }).count(), 1);
    await page.keyboard.press("F");
    await rows(page).filter({ hasText: "out of view" }).waitFor();
    await live.close();
    // A stopped command looks stopped.
    await status(page, "ended, as of ");
    assert.equal(await page.locator("main.stopped").count(), 1);
    assert.equal(await page.locator("img").count(), 0);
    assert.equal(await page.title(), "kubelab");
    assert.deepEqual(complaints, []);
  });

  test("a live page goes to the story that a key begins, until its reader chooses another view", async () => {
    const { live, trace } = await serve();
    const { page, complaints } = await suite.open(live.url);
    await status(page, "live");
    const tell = (title: string) => {
      const { id } = trace.emit({ kind: "step", title }, { actor: "user", level: 3 });
      trace.emit({ kind: "story", title, steps: [{ fact: id, text: title }] }, { actor: "user", level: 4 });
    };
    tell("kill it");
    await page.getByRole("option", { name: "1. user kill it" }).waitFor();
    assert.match(await page.getByRole("region", { name: "Step", exact: true }).innerText(), /^1 user: kill it/);
    tell("start it");
    await page.getByRole("option", { name: "1. user start it" }).waitFor();
    await page.getByRole("button", { name: "Everything", exact: true }).click();
    tell("remove it");
    await rows(page).filter({ hasText: "remove it" }).waitFor();
    assert.equal(
      await page.getByRole("button", { name: "Everything", exact: true }).getAttribute("aria-pressed"),
      "true",
    );
    // Facts of that level that are no story stay out of a live page.
    trace.emit({ kind: "note", text: "quiet" }, { actor: "user", level: 4 });
    trace.emit({ kind: "note", text: "loud" }, { actor: "user" });
    await rows(page).filter({ hasText: "loud" }).waitFor();
    assert.equal(await rows(page).filter({ hasText: "quiet" }).count(), 0);
    assert.deepEqual(complaints, []);
  });

  test("the picture shows the cluster now, and messages as they come", async () => {
    const { live, trace } = await serve();
    const { page, complaints } = await suite.open(live.url);
    const picture = page.getByRole("region", { name: "The cluster, now" });
    const web = { actor: "kubelet", instance: "n1" } as const;
    const relist = {
      kind: "rpc",
      service: "RuntimeService",
      method: "ListPodSandbox",
      endpoint: "",
      durationMs: 1,
    } as const;
    trace.emit(relist, web);
    await picture.getByRole("button", { name: "runtime n1" }).waitFor();
    await Promise.all([picture.locator(".dot.rpc").first().waitFor(), trace.emit(relist, web)]);
    trace.emit({ kind: "state", subject: "pods default/web", what: "stored", to: "1" }, { actor: "apiserver" });
    await picture.getByRole("button", { name: "pod default/web, no node yet" }).waitFor();
    // A selected step shows the cluster as it was.
    await rows(page).first().click();
    await page.getByRole("region", { name: "The cluster, 0.000 s" }).waitFor();
    assert.deepEqual(complaints, []);
  });

  test("a lost connection is tried again, no fact comes twice, and the end is said", async () => {
    const { url, send, cut } = await fakeServer();
    const { page } = await suite.open(url);
    await status(page, "live");
    await page.getByRole("listbox", { name: "9 steps" }).waitFor();
    // Watched before the connection is cut, because it is lost for a moment only.
    await page.evaluate(`(() => {
      const line = document.querySelector(".connection");
      const words = [];
      const isBack = () => words.push(line.textContent.slice(2).replace(/, as of .*/, "")) > 0 && words.at(-1) === "live";
      globalThis.seen = new Promise((resolve) => {
        const watch = new MutationObserver(() => isBack() && resolve([...new Set(words)].join()));
        watch.observe(line, { subtree: true, characterData: true, childList: true });
      });
    })()`);
    cut();
    assert.equal(await page.evaluate("globalThis.seen"), "lost, trying again,live");
    assert.equal(await page.getByRole("listbox", { name: "9 steps" }).count(), 1);
    send("end", "{}");
    await status(page, "ended");
  });

  test("fits 400 pixels", async () => {
    const { live, trace } = await serve();
    for (let i = 0; i < 3; i++)
      trace.emit({ kind: "note", text: `fact ${i}` }, { actor: "kubelet", instance: `node-${i}` });
    const { page } = await suite.open(live.url, { width: 400, height: 800 });
    await page.getByRole("region", { name: "State" }).getByRole("table").waitFor();
    assert.deepEqual(await page.evaluate(`(${FITS})()`), { isScrolled: false, outside: [] });
  });

  for (const [language, fact, name, row] of [
    ["en", "a fact", "The next timers", "in 4.2 s kubelet node-1: renew the Lease (renewInterval = 10 s)"],
    ["zh", "一件事实", "接下来的定时器", "4.2 秒后 kubelet node-1: 续租 Lease (renewInterval = 10 s)"],
  ] as const) {
    test(`the next timers are a list, each with a bar to the right of now, at 400 pixels (${language})`, async () => {
      const live = await LiveServer.open({ port: 0, clock: new SystemClock() });
      open.push(live);
      const trace = new Trace(new FakeClock());
      trace.addSink(live);
      trace.emit({ kind: "note", text: fact }, { actor: "user" });
      const wait = { who: "kubelet node-1", what: "renew the Lease", setBy: "renewInterval = 10 s" };
      const timers = [wait, { ...wait, what: HOSTILE }].map((one, i) => ({ ...one, dueMs: 4_200 + i * 60_000 }));
      live.present({ tables: () => [], future: () => ({ nowMs: 0, isPaused: false, timers }) });
      const { page } = await suite.open(live.url, { width: 400, height: 800 });
      const items = page.getByRole("region", { name }).getByRole("listitem");
      await items.first().waitFor();
      assert.equal((await items.allInnerTexts())[0]?.replace(/\s+/g, " ").trim(), row);
      const widths = await items.evaluateAll((all) => all.map((one) => one.querySelector("span")?.style.width));
      assert.deepEqual(widths, ["14%", "100%"]);
      assert.equal(await page.locator("img").count(), 0);
      assert.deepEqual(await page.evaluate(`(${FITS})()`), { isScrolled: false, outside: [] });
    });
  }

  test("on a wide page of a story, state tables, details and the next timers lie below one another", async () => {
    const live = await LiveServer.open({ port: 0, clock: new SystemClock() });
    open.push(live);
    const trace = new Trace(new FakeClock());
    trace.addSink(live);
    const relist = {
      kind: "step",
      title: "Relist 1",
      upstream: { file: "pkg/kubelet/pleg/generic.go", func: "relist" },
    };
    const { id: fact } = trace.emit(relist as Fact, { actor: "kubelet" });
    trace.emit({ kind: "story", title: "the first relist", steps: [{ fact, text: "relists" }] }, { actor: "user" });
    const timers = Array.from({ length: 8 }, (_, i) => ({
      dueMs: i,
      who: `kubelet n${i}`,
      what: "relist",
      setBy: "x",
    }));
    live.present({
      tables: () => [{ title: "Leases", columns: ["node", "renewed"], rows: [["n1", "now"]] }],
      future: () => ({ nowMs: 0, isPaused: false, timers }),
    });
    const { page } = await suite.open(live.url, { width: 1400, height: 900 });
    await page.getByRole("region", { name: "The next timers" }).waitFor();
    await page.getByRole("cell", { name: "n1" }).waitFor();
    await page.locator(".stage.chaptered").waitFor();
    const boxes = await page
      .locator(".below .timeline, .below .states, .below .details, .below .future")
      .evaluateAll((all) => all.map((one) => one.getBoundingClientRect()).map(({ top, bottom }) => ({ top, bottom })));
    assert.equal(boxes.length, 4);
    for (const [i, { top }] of boxes.entries())
      assert.ok(i === 0 || top >= (boxes[i - 1]?.bottom ?? 0) - 1, JSON.stringify(boxes));
  });
});
