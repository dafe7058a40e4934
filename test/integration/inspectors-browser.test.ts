import assert from "node:assert/strict";
import { test } from "vitest";
import { browserSuite } from "../support/browser-suite.js";
import { kubectlOf } from "../support/node-kubectl.js";

browserSuite(["kubectl"], "the page of kubelab pod-manager in a browser", (suite) => {
  async function start() {
    const { command, url } = await suite.start("pod-manager");
    return { command, url, kubectl: await kubectlOf(command) };
  }

  test("pods come and go with kubectl, without a reload", async () => {
    const { url, kubectl } = await start();
    const { page, complaints } = await suite.open(url);
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

  suite.testOnPhone(["body", "td.Running", "td.uid", "#counts", "a", ".when", ".detail"], async () => {
    const { url, kubectl } = await start();
    await kubectl("run", "app", "--image=busybox:1.36", "--", "sleep", "9999");
    return { url, shown: (page) => page.locator("td.Running").waitFor() };
  });

  test("the page shows its end", async () => {
    const { command, url } = await suite.start("pod-manager");
    const { page } = await suite.open(url);
    await page.locator("#counts", { hasText: "0 pods" }).waitFor();
    await command.kill("SIGINT");
    await page.locator("#health.unhealthy", { hasText: "has ended" }).waitFor();
  });
});
