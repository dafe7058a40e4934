import assert from "node:assert/strict";
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, test } from "vitest";
import { openPage, startChromium } from "../support/chromium.js";
import { CliProcess, newHome } from "../support/cli-process.js";
import { runKubectl } from "../support/node-kubectl.js";
import { CONTRASTS, FITS } from "../support/page-scripts.js";
import { suiteNeeding } from "../support/requirements.js";

suiteNeeding(["chromium", "kubectl"], "the page of kubelab pod-manager in a browser", () => {
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

  async function start() {
    const window = new CliProcess(newHome(), ["pod-manager", "--http", "127.0.0.1:0"]);
    running.push(window);
    let text = "";
    window.child.stderr?.on("data", (chunk) => {
      text += String(chunk);
    });
    await window.printed(/Page: http:\S+\/\s/);
    const url = /Page: (http:\S+\/)\s/.exec(text)?.[1] ?? "";
    const flat = text.replaceAll(/\s+/g, " ");
    // A long path is wrapped behind a slash.
    const kubeconfig = (/--kubeconfig (.*?\.config) get pods/.exec(flat)?.[1] ?? "").replaceAll(" ", "");
    return { url, kubectl: (...args: string[]) => runKubectl(kubeconfig, args) };
  }

  test("pods come and go with kubectl, without a reload", async () => {
    const { url, kubectl } = await start();
    const { page, complaints } = await openPage(browser, url);
    await page.locator("#counts", { hasText: "0 pods" }).waitFor();
    await kubectl("run", "app", "--image=busybox:1.36", "--", "sleep", "9999");
    const row = page.locator("tr.entry", { hasText: "default/app" });
    await row.locator("td.phase", { hasText: "Running" }).waitFor();
    const uid = await kubectl("get", "pod", "app", "-o", "jsonpath={.metadata.uid}");
    assert.deepEqual(await row.locator("td").allInnerTexts(), ["default/app", "regular", uid, "", "Running"]);
    await page.locator("#facts li", { hasText: "ADD from api: [default/app]" }).waitFor();
    await kubectl("delete", "pod", "app", "--grace-period=1");
    await row.waitFor({ state: "detached" });
    await page.locator("#counts", { hasText: "0 pods" }).waitFor();
    assert.deepEqual(complaints, []);
  });

  for (const colorScheme of ["light", "dark"] as const) {
    test(`fits a phone, and can be read there: ${colorScheme}`, async () => {
      const { url, kubectl } = await start();
      const { page, complaints } = await openPage(browser, url, { width: 360, height: 640 });
      await page.emulateMedia({ colorScheme });
      await kubectl("run", "app", "--image=busybox:1.36", "--", "sleep", "9999");
      await page.locator("td.Running").waitFor();
      assert.deepEqual(await page.evaluate(`(${FITS})()`), { isScrolled: false, outside: [] });
      const texts = ["body", "td.Running", "td.uid", "#counts", "a", ".when", ".detail"];
      const contrasts = await page.evaluate(`(${CONTRASTS})(${JSON.stringify(texts)})`);
      for (const [what, contrast] of contrasts as [string, number][])
        assert.ok(contrast >= 4.5, `${what}: contrast ${contrast.toFixed(1)}`);
      assert.deepEqual(complaints, []);
    });
  }

  test("its end is told", async () => {
    const { url } = await start();
    const { page } = await openPage(browser, url);
    await page.locator("#counts", { hasText: "0 pods" }).waitFor();
    await running.splice(0)[0]?.kill("SIGINT");
    await page.locator("#health.unhealthy", { hasText: "has ended" }).waitFor();
  });
});
