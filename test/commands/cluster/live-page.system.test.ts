import assert from "node:assert/strict";
import { test } from "vitest";
import { browserSuite } from "../../support/browser-suite.js";

browserSuite([], "the live page of kubelab cluster up", (suite) => {
  test("buttons pause its clock, step to the next timer and go on; its timers are shown; it ends while it is paused", async () => {
    const { command, url } = await suite.startLive("cluster", "up", "--name", "held", "--nodes", "1");
    const { page, complaints } = await suite.open(url);
    const future = page.getByRole("region", { name: "The next timers" });
    await future
      .getByText(/housekeeping|Lease|relist/i)
      .first()
      .waitFor();
    const press = (name: RegExp) => page.getByRole("button", { name }).click();
    await press(/^z pause/);
    await future.getByText("The time stands still; the next timers:").waitFor();
    await page.getByRole("button", { name: "Everything" }).click();
    await press(/^\. step/);
    await page
      .getByRole("listbox")
      .getByText(/ passed: /)
      .first()
      .waitFor();
    await press(/^z pause/);
    await future.getByText("The next timers", { exact: true }).waitFor();
    await press(/^z pause/);
    await future.getByText("The time stands still; the next timers:").waitFor();
    assert.deepEqual(complaints, []);
    assert.equal((await command.kill("SIGINT")).code, 130);
  });
});
