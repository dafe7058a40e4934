import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { test } from "vitest";
import { browserSuite } from "../support/browser-suite.js";
import { POST_FORM } from "../support/page-scripts.js";

/** Looks for a fact among all: the page opens on the story, and the list shows only the rows in view. */
async function sees(page: Page, words: string, text: string): Promise<void> {
  await page.getByRole("button", { name: "Everything", exact: true }).click();
  await page.locator("#search").fill(words);
  await page.getByRole("option", { name: text }).first().waitFor();
}

const HANGS = /^● a relist began [1-9]\d*\.\d s ago and waits for the runtime$/;
const keyOf = (page: Page, name: string) =>
  page.getByRole("toolbar", { name: "Keys of the window" }).getByRole("button", { name });

browserSuite([], "a running command as a live page (--ui)", (suite) => {
  test("pleg: facts come, and a key does what it does in the terminal", async () => {
    const { url } = await suite.startLive("pleg");
    const { page, complaints, hosts } = await suite.open(url);
    await sees(page, "relist 1", "Relist 1");
    await keyOf(page, "k kill").click();
    await sees(page, "mypod-container killed", "default/mypod mypod-container has been killed");
    await sees(page, "containerdied", "ContainerDied default/mypod mypod-container");
    const record = page.getByRole("region", { name: "State" }).getByRole("row", { name: "mypod mypod-container" });
    await record.filter({ hasText: "exitedexited" }).waitFor();
    // The same by the keyboard alone.
    await keyOf(page, "s start").focus();
    await page.keyboard.press("Enter");
    await sees(page, "a new container", "a new container");
    assert.deepEqual([complaints, [...hosts]], [[], [new URL(url).host]]);
  });

  test("pleg: the next timer is the kubelet's", async () => {
    const { url } = await suite.startLive("pleg");
    const { page } = await suite.open(url, { width: 1400, height: 900 });
    await page.getByRole("region", { name: "The next timers" }).getByText("kubelet node-1: relist").waitFor();
  });

  test("pleg: a key's story comes with the key, and a relist that hangs is shown while it hangs", async () => {
    const { url } = await suite.startLive("pleg");
    const { page } = await suite.open(url, { width: 1400, height: 900 });
    await page.getByRole("region", { name: "PLEG", exact: true }).getByText("healthy: after 180 s").waitFor();
    await keyOf(page, "h lists hang").click();
    await page.getByRole("region", { name: "Step", exact: true }).getByText("lets lists hang, or not").waitFor();
    await page.getByText(HANGS).waitFor();
  });

  test("pleg --http: a page without calls shows a relist that hangs, and the relists that changed nothing", async () => {
    const { url } = await suite.start("pleg");
    const { page } = await suite.open(url, { width: 1400, height: 900 });
    await page.getByText("relists", { exact: true }).waitFor();
    await page
      .getByRole("row", { name: /^relists \d{1,2}$/ })
      .filter({ hasText: /[3-9]$/ })
      .waitFor();
    await page.getByText(/^✓ last relist [01]\.\d s ago$/).waitFor();
    await keyOf(page, "h lists hang").click();
    await page.getByText(HANGS).waitFor();
  });

  test("pod-worker: a page that is opened late has the whole run, what a key causes, and the end", async () => {
    const { command, url } = await suite.startLive("pod-worker");
    await command.says(/is up, (and)/);
    const { page, complaints, hosts } = await suite.open(url);
    await sees(page, "needs to bootstrap", "Check whether this node needs to bootstrap");
    const update = keyOf(page, "u update");
    assert.equal(await update.isEnabled(), false);
    await keyOf(page, "p pod").click();
    await sees(page, "startcontainer", "StartContainer");
    await update.click();
    await sees(page, "pod-1 changed", "pod default/pod-1 has been changed");
    const worker = page.getByRole("region", { name: "State" }).getByRole("row", { name: "default/pod-1 syncing idle" });
    await worker.waitFor();
    assert.equal((await command.kill("SIGINT")).code, 130);
    await page.getByRole("status").filter({ hasText: "ended" }).waitFor();
    assert.deepEqual([complaints, [...hosts]], [[], [new URL(url).host]]);
  });

  test("a page without the token shows nothing but the reason", async () => {
    const { url } = await suite.startLive("pleg");
    const page = await suite.newPage();
    const answer = await page.goto(url.replace(/\?.*/, ""));
    assert.equal(answer?.status(), 403);
    assert.match(await page.innerText("body"), /needs its token/);
  });

  test("pleg --http: the page needs no token; looking at anything, also at the address of an action, changes nothing", async () => {
    const { url } = await suite.start("pleg", "--relist-period", "50ms");
    const { page, complaints } = await suite.open(url);
    const record = page.getByRole("region", { name: "State" }).getByRole("row", { name: "mypod mypod-container" });
    await record.filter({ hasText: "runningrunning" }).waitFor();
    const other = await suite.newPage();
    const answer = await other.goto(`${url}actions/kill?target=mypod`);
    assert.deepEqual([answer?.status(), answer?.headers()["allow"]], [405, "POST"]);
    // Nor can a page of another origin.
    await other.goto("about:blank");
    await other.evaluate(`(${POST_FORM})(${JSON.stringify(`${url}actions/kill?target=mypod`)})`);
    await other.waitForURL(`${url}actions/**`);
    assert.match(await other.innerText("body"), /is not this page/);
    await page.reload();
    await record.filter({ hasText: "runningrunning" }).waitFor();
    await keyOf(page, "i inspections fail").click();
    await page.getByText("healthy; inspections fail").waitFor();
    await keyOf(page, "k kill").click();
    await record.filter({ hasText: "exited" }).waitFor();
    assert.deepEqual(complaints, []);
  });

  suite.testOnPhone(["body", ".connection", ".states td", ".states .dim", ".keys button", "footer"], async () => {
    const { url } = await suite.startLive("pleg");
    const shown = async (page: Page) => {
      // On a phone the story leaves the tables out.
      await page.getByRole("button", { name: "Everything", exact: true }).click();
      await page.getByRole("row", { name: "mypod mypod-container" }).waitFor();
    };
    return { url, shown };
  });
});
