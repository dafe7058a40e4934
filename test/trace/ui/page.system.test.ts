import assert from "node:assert/strict";
import { mkdtempSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Page } from "playwright-core";
import { test } from "vitest";
import type { TraceEvent } from "../../../src/trace/events.js";
import { HtmlSink } from "../../../src/trace/ui/html-sink.js";
import { browserSuite } from "../../support/browser-suite.js";
import type { WatchedPage } from "../../support/chromium.js";
import { FITS } from "../../support/page-scripts.js";
import { PageFacts, podFacts } from "./page-facts.js";

const TEXTS = [
  ".row .title",
  ".row .time",
  ".row .outcome",
  ".failure .outcome",
  ".head b",
  "footer",
  ".details dt",
  ".part b",
  ".part .sub",
  ".pod-name b",
  ".pod .status",
];

browserSuite([], "a trace as a page", (suite) => {
  async function write(events: readonly TraceEvent[]): Promise<string> {
    const path = join(mkdtempSync(join(tmpdir(), "kubelab-page-")), "t.html");
    const sink = new HtmlSink(path);
    for (const event of events) sink.write(event);
    await sink.close();
    return pathToFileURL(path).href;
  }

  async function open(events = podFacts(), size?: { width: number; height: number }): Promise<WatchedPage> {
    const opened = await suite.open(await write(events), size);
    await opened.page.locator(".row").first().waitFor();
    return opened;
  }

  const selected = (page: Page) => page.locator(".row.selected .title").innerText();
  const rows = (page: Page) => page.locator("#rows").getByRole("option").count();

  test("keys alone select, follow causes and effects, search, play and come back", async () => {
    const { page, complaints } = await open();
    await page.keyboard.press("End");
    await page.keyboard.press("ArrowUp");
    assert.equal(await selected(page), "patch Pod web status PATCH …/pods/web/status → 200");
    for (const cause of [
      "start container app",
      "Pod web ADDED watch: pods default/web ADDED",
      "create Pod web POST …/pods → 201",
    ]) {
      await page.keyboard.press("ArrowLeft");
      assert.equal(await selected(page), cause);
    }
    await page.keyboard.press("ArrowRight");
    assert.equal(await selected(page), "pods default/web: stored 1");
    await page.keyboard.press("/");
    await page.keyboard.type("startcontainer");
    // What is selected and does not match is hidden.
    assert.equal(await rows(page), 1);
    await page.keyboard.press("Escape");
    assert.equal(await rows(page), 9);
    assert.equal(await page.evaluate("document.activeElement.id"), "rows");
    await page.keyboard.press("Home");
    await page.keyboard.press("c");
    assert.equal(await rows(page), 9);
    await page.keyboard.press("Escape");
    await page.keyboard.press(" ");
    await page.getByRole("button", { name: "Pause" }).waitFor();
    await page.locator(".row.selected", { hasText: "POST" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Play" }).waitFor();
    assert.deepEqual(complaints, []);
  });

  test("the details have bodies, the object's change, constants, the upstream file and the chain to click", async () => {
    const { page, complaints } = await open();
    await page.getByRole("option", { name: /PATCH/ }).click();
    const details = page.getByRole("region", { name: "Details" });
    assert.equal(await details.locator(".diff li").innerText(), 'status.phase\n"Pending"\n"Running"');
    await details.getByText("Got", { exact: true }).click();
    assert.match(await details.locator("pre").first().innerText(), /"phase": "Running"/);
    await details.locator(".chain button", { hasText: "start container app" }).click();
    assert.equal(await selected(page), "start container app");
    const strip = page.getByRole("region", { name: "Step", exact: true });
    assert.match(await strip.innerText(), /kubelet n1: start container app\s+it has never run/);
    const link = strip.getByRole("link");
    assert.equal(
      await link.getAttribute("href"),
      "https://github.com/kubernetes/kubernetes/blob/v1.25.0/pkg/kubelet/kubelet_pods.go",
    );
    assert.match((await link.getAttribute("rel")) ?? "", /noopener/);
    assert.equal(await details.getByRole("cell", { name: "backOffPeriod" }).count(), 1);
    assert.match(await details.innerText(), /It began with: the user's command/);
    assert.equal(await page.locator(".row.cause").count(), 3);
    assert.equal(await page.locator(".row.effect").count(), 3);
    assert.equal(await page.locator(".arrows .link").count(), 6);
    // A hidden step between two others does not break their line.
    await page.getByText("Filter", { exact: true }).click();
    await page.getByLabel("watch event", { exact: true }).uncheck();
    assert.equal(await page.locator(".arrows .link").count(), 5);
    assert.deepEqual(complaints, []);
  });

  test("filters by detail, pod, actor and kind", async () => {
    const { page } = await open();
    assert.equal(await rows(page), 9);
    await page.getByLabel("Search").fill("a detail");
    await page.getByRole("button", { name: "Look at everything" }).click();
    assert.equal(await rows(page), 1);
    await page.getByLabel("Search").fill("");
    assert.equal(await rows(page), 10);
    await page.getByRole("option", { name: /a detail/ }).click();
    assert.match(await page.getByRole("region", { name: "Details" }).innerText(), /repeats\s+every 10 s/);
    // The selected step is shown with any filter.
    await page.getByRole("option", { name: /start container app/ }).click();
    await page.getByLabel("Pod", { exact: true }).selectOption("default/web");
    assert.equal(await rows(page), 4);
    await page.getByText("Filter", { exact: true }).click();
    await page.getByLabel("gRPC call").uncheck();
    await page.getByRole("checkbox", { name: "user", exact: true }).uncheck();
    assert.equal(await rows(page), 3);
    assert.match(await page.getByRole("status").innerText(), /^3 of 10 facts/);
  });

  test("the picture shows the cluster after the selected step, messages move, and a choice filters the list", async () => {
    const { page, complaints } = await open();
    const picture = page.getByRole("region", { name: /^The cluster/ });
    const web = picture.getByRole("button", { name: "pod default/web", exact: false });
    assert.equal(await web.count(), 1);
    await page.keyboard.press("Home");
    assert.equal(await picture.getAttribute("aria-label"), "The cluster, 0.000 s");
    // It has its place before it exists.
    const ghost = picture.getByRole("button", { name: "pod default/web, does not exist" });
    assert.equal(await ghost.count(), 1);
    const place = await ghost.boundingBox();
    await Promise.all([picture.locator(".dot.request").first().waitFor(), page.keyboard.press("ArrowDown")]);
    await picture.getByText("create Pod web").waitFor();
    await picture.getByText("← 201").waitFor();
    await page.keyboard.press("ArrowDown");
    await picture.getByRole("button", { name: "pod default/web, no node yet" }).waitFor();
    assert.deepEqual(await web.boundingBox(), place);
    for (let i = 0; i < 3; i++) await page.keyboard.press("ArrowDown");
    await Promise.all([picture.locator(".dot.rpc").first().waitFor(), page.keyboard.press("ArrowDown")]);
    await picture.locator(".dot").first().waitFor({ state: "detached" });
    assert.equal(
      await picture
        .getByRole("article", { name: /^node n1/ })
        .getByRole("button")
        .count(),
      4,
    );

    await web.focus();
    await page.keyboard.press("Enter");
    assert.equal(await web.getAttribute("aria-pressed"), "true");
    assert.equal(await rows(page), 6);
    assert.equal(await page.getByRole("button", { name: "Only pod default/web" }).count(), 1);
    await picture.getByRole("button", { name: "storage" }).click();
    // The selected step stays.
    assert.equal(await rows(page), 2);
    await page.keyboard.press("Escape");
    assert.equal(await rows(page), 9);
    await page.keyboard.press("p");
    assert.equal(await picture.count(), 0);
    assert.deepEqual(complaints, []);
  });

  test("with many pods the picture has their names, then signs", async () => {
    const facts = new PageFacts();
    const add = (i: number) =>
      facts.add({ kind: "state", subject: `pods default/pod-${i}`, what: "stored", to: "1" }, { actor: "apiserver" });
    for (let i = 0; i < 20; i++) add(i);
    const named = await open(facts.events);
    assert.equal(await named.page.locator(".pods.names .pod").first().innerText(), "◐ pod-0");
    for (let i = 20; i < 300; i++) add(i);
    const { page, complaints } = await open(facts.events, { width: 400, height: 800 });
    assert.equal(await page.locator(".pods.signs .pod").count(), 250);
    assert.equal(await page.getByRole("button", { name: "pod default/pod-7, no node yet" }).innerText(), "◐");
    assert.equal(await page.getByText("and 50 more").count(), 1);
    assert.deepEqual(await page.evaluate(`(${FITS})()`), { isScrolled: false, outside: [] });
    assert.deepEqual(complaints, []);
  });

  test("with reduced motion nothing moves: lines light up", async () => {
    const { page } = await open();
    await page.emulateMedia({ reducedMotion: "reduce" });
    await page.keyboard.press("Home");
    const lit = page.locator(".wire[data-lit]").waitFor({ state: "attached" });
    await Promise.all([lit, page.keyboard.press("ArrowDown")]);
    assert.equal(await page.locator(".dot").count(), 0);
  });

  test("what a timer repeats is one row with a counter, until it is opened", async () => {
    const facts = new PageFacts();
    for (let i = 0; i < 3; i++)
      facts.add({ kind: "note", text: `renewal ${i}` }, { origin: "timer", every: "10 s", instance: "n1" });
    facts.add({ kind: "note", text: "the end" });
    const { page, complaints } = await open(facts.events);
    assert.equal(await rows(page), 2);
    assert.match(await page.getByRole("status").innerText(), /^4 facts \(2 folded\)/);
    const first = page.getByRole("option", { name: /renewal 0, 3 times, Enter shows all/ });
    await page.keyboard.press("Home");
    await page.keyboard.press("Enter");
    assert.equal(await rows(page), 4);
    await page.locator(".times").click();
    assert.equal(await rows(page), 2);
    assert.equal(await first.count(), 1);
    await page.getByRole("button", { name: "Fold repeats" }).click();
    assert.equal(await rows(page), 4);
    assert.deepEqual(complaints, []);
  });

  test("roles and names: a list of steps with positions, each a sentence", async () => {
    const { page } = await open();
    const list = page.getByRole("listbox", { name: "9 steps" });
    const option = list.getByRole("option", { name: "0.005 s, request, user to API server: POST" });
    assert.deepEqual(
      [await option.getAttribute("aria-posinset"), await option.getAttribute("aria-setsize")],
      ["2", "9"],
    );
    await option.click();
    assert.equal(await list.getAttribute("aria-activedescendant"), await option.getAttribute("id"));
    assert.equal(await list.getByRole("option", { selected: true }).count(), 1);
    assert.equal(await page.getByRole("toolbar", { name: "Controls" }).count(), 1);
    assert.equal(await page.getByRole("img", { name: /6 actors/ }).count(), 1);
    const unnamed = await page.evaluate(
      `[...document.querySelectorAll("button, select, input")].filter((one) => !(one.ariaLabel || one.textContent.trim() || one.labels?.length)).length`,
    );
    assert.equal(unnamed, 0);
  });

  test("hostile strings inject nothing, and nothing is loaded", async () => {
    const text = `</script><img src=x onerror="document.title='bad'"><!-- \u2028 <script>document.title='bad'</script>`;
    const facts = new PageFacts();
    facts.add({ kind: "note", text });
    facts.add(
      { kind: "decision", what: text, why: text, upstream: { file: "../../../evil", func: text } },
      { pod: text, instance: text, causedBy: text },
    );
    facts.add({ kind: "step", title: "javascript", upstream: { file: "javascript:alert(1)", func: "f" } });
    const requests: string[] = [];
    const { page, complaints } = await open(facts.events);
    page.on("request", (request) => requests.push(request.url()));
    for (let i = 0; i < 3; i++) {
      await page.keyboard.press("ArrowDown");
      assert.equal(await page.locator(".details a").count(), 0);
    }
    await page.getByText("Filter", { exact: true }).click();
    assert.equal(await page.locator("img, iframe, #page script").count(), 0);
    assert.equal(await page.title(), "kubelab trace");
    assert.ok((await page.locator(".row .title").first().innerText()).startsWith("</script><img"));
    assert.deepEqual([requests, complaints], [[], []]);
  });

  test("50,000 facts: only the rows in view are in the document", async () => {
    const facts = new PageFacts();
    for (let i = 0; i < 50_000; i++) facts.add({ kind: "note", text: `fact ${i}` });
    const { page, complaints } = await open(facts.events);
    assert.ok((await rows(page)) < 60);
    await page.keyboard.press("End");
    await page.getByRole("option", { name: "fact 49999" }).waitFor();
    await page.getByLabel("Search").fill("fact 4000");
    // 4000, 14000, 24000, 34000, 44000, and 40000 to 40009
    await page.getByRole("listbox", { name: "15 steps" }).waitFor();
    assert.deepEqual(complaints, []);
  });

  test("the first rows are shown while the browser reads the rest of a long file", async () => {
    const facts = new PageFacts();
    for (let i = 0; i < 2_000; i++) facts.add({ kind: "note", text: `fact-${i} ${"long ".repeat(20)}` });
    const bytes = readFileSync(fileURLToPath(await write(facts.events)));
    let rest = () => {};
    const server = createServer((_request, response) => {
      response.setHeader("content-type", "text/html");
      const half = Math.floor(bytes.length * 0.8);
      response.write(bytes.subarray(0, half));
      rest = () => response.end(bytes.subarray(half));
    });
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    try {
      const { port } = server.address() as AddressInfo;
      const page = await suite.newPage();
      await page.goto(`http://127.0.0.1:${port}/`, { waitUntil: "commit" });
      await page.getByRole("option", { name: /fact-3 / }).click();
      assert.equal(await page.locator(".count").innerText(), "reading the file");
      rest();
      await page.getByText(/^2000 facts, /).waitFor();
      assert.match(await selected(page), /^fact-3 /);
      await page.keyboard.press("End");
      assert.match(await selected(page), /^fact-1999 /);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });

  test("on paper, all steps are a table, and controls are left out", async () => {
    const { page } = await open();
    await page.emulateMedia({ media: "print" });
    await page.evaluate(`dispatchEvent(new Event("beforeprint"))`);
    assert.equal(await page.locator("#printed tbody tr").count(), 9);
    assert.equal(await page.locator("#printed").isVisible(), true);
    assert.equal(await page.locator(".toolbar").isVisible(), false);
    await page.evaluate(`dispatchEvent(new Event("afterprint"))`);
    assert.equal(await page.locator("#printed tr").count(), 0);
  });

  test("fits 400 pixels", async () => {
    const { page, complaints } = await open(podFacts(), { width: 400, height: 800 });
    await page.getByRole("option", { name: /PATCH/ }).click();
    assert.deepEqual(await page.evaluate(`(${FITS})()`), { isScrolled: false, outside: [] });
    assert.deepEqual(complaints, []);
  });

  for (const width of [1280, 800]) {
    test(`${width} pixels: the title of a run is readable, and nothing needs horizontal scrolling`, async () => {
      const title = `kubelab pleg on an embedded runtime, at unix:///tmp/${"long-".repeat(20)}runtime.sock`;
      const facts = new PageFacts();
      facts.add({ kind: "note", text: title }, { actor: "user", origin: "command" });
      const { page } = await open(facts.events, { width, height: 700 });
      const shown = await page.locator(".words p").first().boundingBox();
      assert.ok((shown?.width ?? 0) > 250, `${shown?.width} px for the title`);
      assert.deepEqual(await page.evaluate(`(${FITS})()`), { isScrolled: false, outside: [] });
    });
  }

  suite.testOnPhone(TEXTS, async () => ({
    url: await write(podFacts()),
    shown: (page) => page.getByRole("option", { name: /Slow/ }).click(),
  }));
});
