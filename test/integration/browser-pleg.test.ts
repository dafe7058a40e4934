import assert from "node:assert/strict";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, test } from "vitest";
import { openPage, startChromium } from "../support/chromium.js";
import { CliProcess, newHome } from "../support/cli-process.js";
import { CONTRASTS, FITS, FOCUSED, POST_FORM } from "../support/page-scripts.js";
import { suiteNeeding } from "../support/requirements.js";

suiteNeeding(["chromium"], "the page of kubelab pleg in a browser", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startChromium();
  });
  afterAll(() => browser?.close());

  const running: CliProcess[] = [];
  afterEach(async () => {
    for (const page of browser.contexts().flatMap((context) => context.pages())) await page.close();
    for (const one of running.splice(0)) await one.kill("SIGINT");
  });

  /** @returns where the page is */
  async function startPleg(...flags: string[]): Promise<string> {
    const pleg = new CliProcess(newHome(), ["pleg", "--http", "127.0.0.1:0", ...flags]);
    running.push(pleg);
    let text = "";
    pleg.child.stderr?.on("data", (chunk) => {
      text += String(chunk);
    });
    await pleg.printed(/Page: http:\S+\/\s/);
    return /Page: (http:\S+\/)/.exec(text)?.[1] ?? "";
  }

  /** Resolves when runtime and PLEG both have a container in this state. */
  function seesBoth(page: Page, container: string, state: string): Promise<void> {
    const cell = (column: number) => page.locator(`td.state:nth-child(${column}):text-is("${state}")`);
    const row = page.locator("tr.entry", { hasText: container, has: cell(2) }).filter({ has: cell(3) });
    return row.waitFor();
  }

  test("shows the pods; a button changes the runtime, and relist and event come by themselves", async () => {
    const { page, complaints } = await openPage(browser, await startPleg());
    await seesBoth(page, "mypod-container", "running");
    assert.deepEqual(await page.locator("tr.pod th span:first-child").allInnerTexts(), [
      "default/myngx",
      "default/mypod",
    ]);
    assert.equal(await page.locator("tr.entry").count(), 5);
    assert.equal(await page.locator("#health").innerText(), "healthy");

    const row = page.locator("tr.entry", { hasText: "mypod-container" });
    await row.getByRole("button", { name: "kill" }).click();
    await page.locator("#facts li", { hasText: "default/mypod mypod-container has been killed" }).waitFor();
    await page.locator("#facts li", { hasText: "ContainerDied default/mypod mypod-container" }).waitFor();
    await seesBoth(page, "mypod-container", "exited");
    const died = await page.locator("#facts li", { hasText: "ContainerDied default/mypod" }).innerText();
    assert.match(died, /the container was running at the last relist and is exited now; exit code 137/);
    await page.locator("#counts", { hasText: "1 ContainerDied" }).waitFor();
    await page.locator(".cache", { hasText: "mypod-container exited 137" }).waitFor();
    // What is shown changes each second, and the button is still the same one.
    assert.equal(await page.evaluate(FOCUSED), "kill");

    await row.getByRole("button", { name: "start" }).click();
    await page.locator("tr.entry").nth(5).waitFor();
    assert.deepEqual(complaints, []);
  });

  test("a switch of the runtime is shown as long as it is on", async () => {
    const { page, complaints } = await openPage(browser, await startPleg("--relist-period", "50ms"));
    const inspections = page.getByRole("button", { name: "inspections fail" });
    await inspections.click();
    await page.locator("#faults", { hasText: "inspections fail" }).waitFor();
    await page.locator("tr.entry", { hasText: "mypod-container" }).getByRole("button", { name: "kill" }).click();
    await page.locator("#facts li.error", { hasText: "the inspection failed" }).first().waitFor();
    await page.locator(".cache", { hasText: "an error: rpc error" }).waitFor();
    await inspections.click();
    await page.locator("#facts li", { hasText: "ContainerDied default/mypod mypod-container" }).waitFor();
    await page.locator("#faults:empty").waitFor({ state: "attached" });
    assert.deepEqual(complaints, []);
  });

  test("looking at anything, also at the address of an action, changes nothing", async () => {
    const url = await startPleg("--relist-period", "50ms");
    const { page } = await openPage(browser, url);
    await seesBoth(page, "mypod-container", "running");
    const other = await browser.newPage();
    const answer = await other.goto(`${url}actions/kill?target=mypod`);
    assert.deepEqual([answer?.status(), answer?.headers()["allow"]], [405, "POST"]);
    // Nor can the page of somebody else.
    await other.goto("about:blank");
    await other.evaluate(`(${POST_FORM})(${JSON.stringify(`${url}actions/kill?target=mypod`)})`);
    await other.waitForURL(`${url}actions/**`);
    assert.match(await other.innerText("body"), /is not this page/);
    await page.reload();
    await seesBoth(page, "mypod-container", "running");
    assert.equal(await page.locator("#facts li", { hasText: "killed" }).count(), 0);
  });

  for (const colorScheme of ["light", "dark"] as const) {
    test(`fits a phone, and can be read there: ${colorScheme}`, async () => {
      const size = { width: 360, height: 640 };
      const { page, complaints } = await openPage(browser, await startPleg(), size);
      await page.emulateMedia({ colorScheme });
      await seesBoth(page, "mypod-container", "running");
      assert.deepEqual(await page.evaluate(`(${FITS})()`), { isScrolled: false, outside: [] });
      const texts = ["body", ".healthy", "td.running", ".cache", "button", ".id", ".when", ".detail"];
      const contrasts = await page.evaluate(`(${CONTRASTS})(${JSON.stringify(texts)})`);
      for (const [what, contrast] of contrasts as [string, number][])
        assert.ok(contrast >= 4.5, `${what}: contrast ${contrast.toFixed(1)}`);
      assert.deepEqual(complaints, []);
    });
  }

  test("the end of kubelab pleg is told, and a click after it does no harm", async () => {
    const { page } = await openPage(browser, await startPleg());
    await seesBoth(page, "mypod-container", "running");
    await running.splice(0)[0]?.kill("SIGINT");
    await page.locator("#health.unhealthy", { hasText: "has ended" }).waitFor();
    await page.getByRole("button", { name: "lists hang" }).click();
    await page.locator("#facts li.error", { hasText: "cannot be reached" }).waitFor();
  });
});
