import assert from "node:assert/strict";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Page } from "playwright-core";
import { test } from "vitest";
import type { TraceEvent } from "../../../src/trace/events.js";
import { HtmlSink } from "../../../src/trace/ui/html-sink.js";
import { browserSuite } from "../../support/browser-suite.js";
import { CONTRASTS, FITS } from "../../support/page-scripts.js";
import { PageFacts, toldFacts } from "./page-facts.js";

/** Where the parts of the page are. */
const PLACES = `["strip", "picture", "player", "below", "pod"].map((one) => {
  const { x, y, width, height } = document.querySelector("." + one).getBoundingClientRect();
  return [one, x, y, width, height].join(" ");
})`;

browserSuite([], "a trace that tells a story", (suite) => {
  async function write(events: readonly TraceEvent[]): Promise<string> {
    const path = join(mkdtempSync(join(tmpdir(), "kubelab-page-")), "t.html");
    const sink = new HtmlSink(path);
    for (const event of events) sink.write(event);
    await sink.close();
    return pathToFileURL(path).href;
  }

  const open = async (events = toldFacts(), size?: { width: number; height: number }) =>
    suite.open(await write(events), size);
  const strip = (page: Page) => page.getByRole("region", { name: "Step", exact: true });
  const rows = (page: Page) => page.getByRole("listbox").getByRole("option");

  test("opens on the story: numbered sentences, the first step selected, what came before folded", async () => {
    const { page, complaints } = await open();
    await page.getByRole("option", { name: "1. user asks the API server to create pod web", selected: true }).waitFor();
    assert.deepEqual(await rows(page).locator(".number").allInnerTexts(), ["1", "2", "3", "4"]);
    assert.deepEqual(await rows(page).locator("small").allInnerTexts(), [
      "POST …/pods → 201",
      "RuntimeService/StartContainer → OK",
      "PATCH …/pods/web/status → 200",
    ]);
    assert.match(await page.getByRole("status").innerText(), /^4 steps in 65 ms/);
    assert.equal(await page.getByRole("img", { name: /^3 actors over 65 ms/ }).count(), 1);
    await page.getByRole("button", { name: "before 1 fact" }).click();
    await page.getByRole("listbox", { name: "10 steps" }).waitFor();
    assert.equal(
      await page.getByRole("button", { name: "Everything", exact: true }).getAttribute("aria-pressed"),
      "true",
    );
    await page.getByRole("button", { name: "Story" }).click();
    assert.equal(await rows(page).count(), 4);
    assert.deepEqual(complaints, []);
  });

  test("the strip says what happened and why, and leads to what explains it", async () => {
    const { page } = await open();
    await page.keyboard.press("ArrowDown");
    assert.match(await strip(page).innerText(), /^2 scheduler chooses n1 for pod web\s+it is the only node/);
    assert.equal(await strip(page).getByText("kubelab explain scheduler").count(), 1);
    assert.equal(
      await strip(page).getByRole("link", { name: "schedule_one.go schedulePod" }).getAttribute("href"),
      "https://github.com/kubernetes/kubernetes/blob/v1.25.0/pkg/scheduler/schedule_one.go",
    );
  });

  test("left and right walk the chain of causes along the story; messages have a name, an arrow and an answer", async () => {
    const { page } = await open();
    const picture = page.getByRole("region", { name: /^The cluster/ });
    await page.keyboard.press("End");
    await page.keyboard.press("ArrowUp");
    assert.match(await strip(page).innerText(), /^3 /);
    assert.deepEqual(await picture.locator(".flag").allInnerTexts(), ["StartContainer\n← OK"]);
    assert.equal(await picture.locator(".lit.sent").count(), 1);
    assert.equal(await picture.locator(".tip-of").count(), 2);
    await page.keyboard.press("ArrowLeft");
    assert.match(await strip(page).innerText(), /^1 user asks/);
    assert.deepEqual(await picture.locator(".flag").allInnerTexts(), ["create Pod web\n← 201"]);
    await page.keyboard.press("ArrowRight");
    assert.match(await strip(page).innerText(), /^2 scheduler/);
    // A decision is inside its actor.
    assert.equal(await picture.locator(".flag").count(), 0);
    assert.equal(await picture.locator("[data-now=actor]").innerText(), "scheduler");
  });

  test("nothing moves when a step is selected", async () => {
    const { page } = await open();
    await rows(page).first().waitFor();
    const before = await page.evaluate(PLACES);
    for (let i = 0; i < 3; i++) {
      await page.keyboard.press("ArrowDown");
      assert.deepEqual(await page.evaluate(PLACES), before);
    }
  });

  test("playing has speeds, and a scrubber goes to any step", async () => {
    const { page } = await open();
    await page.getByLabel("Speed").selectOption("4");
    await page.getByRole("button", { name: "Play" }).click();
    await page.getByRole("option", { name: /^4\. /, selected: true }).waitFor();
    await page.getByRole("button", { name: "Play" }).waitFor();
    await page.getByRole("slider", { name: "Step" }).fill("1");
    assert.match(await strip(page).innerText(), /^2 scheduler/);
  });

  test("the address has step, view and filter; the chain is saved as a picture for both schemes", async () => {
    const { page } = await open();
    await page.keyboard.press("End");
    await page.getByLabel("Pod", { exact: true }).selectOption("default/web");
    await page.waitForURL(/#view=story&step=0000000000000008&pod=default%2Fweb$/);
    await page.reload();
    assert.match(await strip(page).innerText(), /^4 kubelet n1 reports that the pod runs/);
    assert.equal(await rows(page).count(), 2);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "save this chain as SVG" }).click(),
    ]);
    const svg = readFileSync(await download.path(), "utf8");
    assert.match(
      svg,
      /^<svg xmlns=.*prefers-color-scheme: dark.*asks the API server.*reports that the pod runs.*<\/svg>\n$/s,
    );
    const numbers = [...svg.matchAll(/class="n"[^>]*>(\d+)</g)].map(([, number]) => number);
    assert.deepEqual(numbers, ["1", "4"], "the numbers of the story, without the chain's other facts");
    await page.evaluate(`location.hash = "#view=requests&step=0000000000000006&chain=1"`);
    await page.getByRole("option", { name: /start container app/, selected: true }).waitFor();
    assert.equal(await page.getByRole("button", { name: "Only this chain" }).getAttribute("aria-pressed"), "true");
    await page.evaluate(`location.hash = "#view=story&step=feedfeedfeedfeed"`);
    await page.getByRole("alert").getByText("This trace has no fact feedfeedfeedfeed").waitFor();
    await page.keyboard.press("Home");
    await page.getByRole("alert").waitFor({ state: "detached" });
  });

  test("a reason with a word longer than a phone is wide is whole", async () => {
    const why = "may create certificatesigningrequests.certificates.k8s.io/nodeclient.of.a.long.name";
    const events = toldFacts().map((event) =>
      event.kind === "story" ? { ...event, steps: event.steps.map((step) => ({ ...step, why })) } : event,
    );
    const { page } = await open(events, { width: 400, height: 800 });
    const reason = page.locator(".because");
    await reason.waitFor();
    const [inner, outer] = await reason.evaluate((element) => [element.scrollWidth, element.clientWidth]);
    assert.ok((inner ?? 0) <= (outer ?? 0), `${inner} of ${outer} pixels`);
  });

  test("a legend above the foot of the page has a sign of its own for each kind", async () => {
    const { page } = await open();
    const legend = page.locator(".legend");
    await legend.locator("summary").click();
    await legend.getByText("watch event").waitFor();
    const signs = await legend.locator("path").evaluateAll((paths) => paths.map((path) => path.getAttribute("d")));
    assert.equal(new Set(signs).size, signs.length);
  });

  test("a stored object's name stays on one line between API server and storage, however long it is", async () => {
    const facts = new PageFacts();
    const name = "web-5d9c8b7f6d-a-deployment-of-a-long-name";
    const stored = facts.add(
      { kind: "state", subject: `replicasets default/${name}`, what: "stored", to: "resourceVersion 7" },
      { actor: "apiserver" },
    );
    facts.add({ kind: "story", title: "a write", steps: [{ fact: stored, text: "stores it" }] }, { actor: "user" });
    const { page } = await open(facts.events);
    const flag = page.locator(".flag");
    assert.equal((await flag.innerText()).replaceAll("\u2011", "-"), `ReplicaSet ${name}`);
    const box = await flag.boundingBox();
    assert.ok((box?.height ?? 99) < 24, "one line");
  });

  test("a call's name between kubelet and runtime is at the left of the pods, not on them", async () => {
    const { page } = await open();
    await rows(page).nth(2).click();
    const [flag, pod] = await Promise.all([page.locator(".flag").boundingBox(), page.locator(".pod").boundingBox()]);
    assert.ok(flag !== null && pod !== null && flag.x + flag.width <= pod.x, JSON.stringify({ flag, pod }));
  });

  test("a search marks what it found", async () => {
    const { page } = await open();
    await page.getByLabel("Search").fill("pod web");
    assert.deepEqual(await rows(page).locator("mark").allInnerTexts(), [
      "pod",
      "web",
      "pod",
      "pod",
      "web",
      "pod",
      "pod",
      "web",
    ]);
  });

  test("hovering a row marks it in the timeline", async () => {
    const { page } = await open();
    await rows(page).nth(2).hover();
    await page.getByTitle("kubelet n1: RuntimeService/StartContainer").waitFor();
  });

  test("earlier stories are in a list, and the page is Chinese if its facts are", async () => {
    const facts = new PageFacts();
    const one = facts.add({ kind: "note", text: "a" });
    facts.add({ kind: "story", title: "first", steps: [{ fact: one, text: "A" }] });
    facts.add({ kind: "story", title: "从请求到 Running", steps: [{ fact: one, text: "启动" }] });
    const { page } = await open(facts.events);
    assert.equal(await page.evaluate("document.documentElement.lang"), "zh");
    await page.getByLabel("故事", { exact: true }).last().selectOption("first");
    assert.equal(await rows(page).first().locator("span").first().innerText(), "kubelet: A");
    assert.equal(await page.getByRole("button", { name: "全部", exact: true }).count(), 1);
  });

  for (const colorScheme of ["light", "dark"] as const) {
    test(`400 pixels: the text comes first, and details are below their row: ${colorScheme}`, async () => {
      const { page, complaints } = await open(toldFacts(), { width: 400, height: 800 });
      await page.emulateMedia({ colorScheme });
      await page.getByRole("option", { name: /^2\. / }).click();
      assert.equal(await page.locator(".opened .because").innerText(), "it is the only node");
      assert.deepEqual(await page.evaluate(`(${FITS})()`), { isScrolled: false, outside: [] });
      const texts = [".told-row small", ".told-row .actor", ".because", ".before", ".part b"];
      for (const [what, contrast] of (await page.evaluate(`(${CONTRASTS})(${JSON.stringify(texts)})`)) as [
        string,
        number,
      ][])
        assert.ok(contrast >= 4.5, `${what}: contrast ${contrast.toFixed(1)}`);
      assert.deepEqual(complaints, []);
    });

    test(`lines have a contrast of 3, and no text is below 12 pixels: ${colorScheme}`, async () => {
      const { page } = await open();
      await page.emulateMedia({ colorScheme });
      await rows(page).first().waitFor();
      // As text of the picture, for the same measure.
      await page.evaluate(
        `document.querySelector(".picture").append(Object.assign(document.createElement("i"), { className: "wired" }))`,
      );
      await page.evaluate(
        `document.querySelector(".wired").style.color = getComputedStyle(document.querySelector(".wire")).stroke`,
      );
      const [[, contrast]] = (await page.evaluate(`(${CONTRASTS})([".wired"])`)) as [[string, number]];
      assert.ok(contrast >= 3, `contrast ${contrast.toFixed(1)}`);
      const sizes = await page.evaluate(
        `Math.min(...[...document.querySelectorAll("#page *")].filter((one) => one.innerText).map((one) => parseFloat(getComputedStyle(one).fontSize)))`,
      );
      assert.ok(Number(sizes) >= 12, `${sizes} px`);
    });
  }

  test("arrow keys walk the steps also from a button, and a search keeps only what it found", async () => {
    const { page } = await open();
    await page.getByRole("button", { name: "Next step" }).click();
    await page.keyboard.press("ArrowDown");
    assert.match(await strip(page).innerText(), /^3 /);
    await page.getByRole("searchbox").fill("chooses");
    assert.deepEqual(await rows(page).locator(".number").allInnerTexts(), ["2"]);
  });

  test("on a phone the buttons of the timeline do not cover its axis", async () => {
    const { page } = await open(toldFacts(), { width: 400, height: 800 });
    const [zoom, canvas] = [
      await page.locator(".zoom").boundingBox(),
      await page.locator(".timeline canvas").boundingBox(),
    ];
    assert.ok(zoom !== null && canvas !== null && zoom.y >= canvas.y + canvas.height - 1);
  });
});
