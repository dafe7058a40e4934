import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { test } from "vitest";
import { browserSuite } from "../support/browser-suite.js";
import { FOCUSED, POST_FORM } from "../support/page-scripts.js";

browserSuite([], "the page of kubelab pleg in a browser", (suite) => {
  /** Resolves when runtime and PLEG both have a container in this state. */
  function seesBoth(page: Page, container: string, state: string): Promise<void> {
    const cell = (column: number) => page.locator(`td.state:nth-child(${column}):text-is("${state}")`);
    const row = page.locator("tr.entry", { hasText: container, has: cell(2) }).filter({ has: cell(3) });
    return row.waitFor();
  }

  test("shows the pods; a button changes the runtime, and relist and event come by themselves", async () => {
    const { page, complaints } = await suite.open((await suite.start("pleg")).url);
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
    const { page, complaints } = await suite.open((await suite.start("pleg", "--relist-period", "50ms")).url);
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
    const { url } = await suite.start("pleg", "--relist-period", "50ms");
    const { page } = await suite.open(url);
    await seesBoth(page, "mypod-container", "running");
    const other = await suite.newPage();
    const answer = await other.goto(`${url}actions/kill?target=mypod`);
    assert.deepEqual([answer?.status(), answer?.headers()["allow"]], [405, "POST"]);
    // Nor can a page of another origin.
    await other.goto("about:blank");
    await other.evaluate(`(${POST_FORM})(${JSON.stringify(`${url}actions/kill?target=mypod`)})`);
    await other.waitForURL(`${url}actions/**`);
    assert.match(await other.innerText("body"), /is not this page/);
    await page.reload();
    await seesBoth(page, "mypod-container", "running");
    assert.equal(await page.locator("#facts li", { hasText: "killed" }).count(), 0);
  });

  suite.testOnPhone(["body", ".healthy", "td.running", ".cache", "button", ".id", ".when", ".detail"], async () => {
    const { url } = await suite.start("pleg");
    return { url, shown: (page) => seesBoth(page, "mypod-container", "running") };
  });

  test("the page shows the end of kubelab pleg, and a later click does no harm", async () => {
    const { url, command } = await suite.start("pleg");
    const { page } = await suite.open(url);
    await seesBoth(page, "mypod-container", "running");
    await command.kill("SIGINT");
    await page.locator("#health.unhealthy", { hasText: "has ended" }).waitFor();
    await page.getByRole("button", { name: "lists hang" }).click();
    await page.locator("#facts li.error", { hasText: "cannot be reached" }).waitFor();
  });
});
