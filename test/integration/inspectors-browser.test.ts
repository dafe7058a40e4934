import assert from "node:assert/strict";
import { test } from "vitest";
import { browserSuite } from "../support/browser-suite.js";
import { kubectlOf } from "../support/node-kubectl.js";

browserSuite(["kubectl"], "the page of kubelab pod-manager in a browser", (suite) => {
  test("pods come and go with kubectl, without a reload", async () => {
    const { command, url } = await suite.start("pod-manager");
    const kubectl = await kubectlOf(command);
    const { page, complaints } = await suite.open(url);
    await kubectl("run", "app", "--image=busybox:1.36", "--", "sleep", "9999");
    const pods = page.getByRole("region", { name: "State" }).getByRole("table", { name: "Pods" });
    const row = pods.getByRole("row").filter({ hasText: "default/app" });
    await row.getByRole("cell", { name: "Running" }).waitFor();
    const uid = await kubectl("get", "pod", "app", "-o", "jsonpath={.metadata.uid}");
    assert.deepEqual(await row.getByRole("cell").allInnerTexts(), [
      "default/app",
      "regular",
      uid.slice(0, 8),
      "",
      "Running",
    ]);
    await page.getByRole("option", { name: "ADD from api: [default/app]" }).waitFor();
    await kubectl("delete", "pod", "app", "--grace-period=1");
    await row.waitFor({ state: "detached" });
    assert.deepEqual(complaints, []);
  });
});
