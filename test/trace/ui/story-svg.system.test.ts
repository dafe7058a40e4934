import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { test } from "vitest";
import { browserSuite } from "../../support/browser-suite.js";
import { newHome } from "../../support/cli-process.js";
import { runInProcess } from "../../support/run-cli.js";

/** Where each text is, and how large. */
const TEXTS = `(() => {
  const inside = document.documentElement.getBoundingClientRect();
  return [...document.querySelectorAll("text")].flatMap((one) => {
    const { left, right, bottom } = one.getBoundingClientRect();
    const size = parseFloat(getComputedStyle(one).fontSize);
    const isIn = left >= inside.left && right <= inside.right && bottom <= inside.bottom;
    return isIn && size >= 12 ? [] : [one.textContent + " " + left + " " + right + " " + size];
  });
})()`;

browserSuite([], "--trace story.svg", (suite) => {
  test("journey's steps are a picture that a browser reads, complete in one file", async () => {
    const cwd = newHome();
    const { code, stdout, stderr } = await runInProcess(["journey", "--trace", "story.svg"], { cwd });
    assert.equal(code, 0, stderr);
    const path = join(cwd, "story.svg");
    const numbers = [...readFileSync(path, "utf8").matchAll(/class="n"[^>]*>(\d+)</g)].map(([, number]) => number);
    assert.equal(numbers.length, Number(/(\d+) steps/.exec(stdout)?.[1]));
    const { page, complaints, hosts } = await suite.open(pathToFileURL(path).href, { width: 800, height: 600 });
    assert.equal(await page.evaluate("document.documentElement.nodeName"), "svg");
    assert.deepEqual(await page.evaluate(TEXTS), []);
    assert.deepEqual([complaints, [...hosts]], [[], [""]]);
    const back = `getComputedStyle(document.querySelector(".b")).fill`;
    await page.emulateMedia({ colorScheme: "dark" });
    assert.equal(await page.evaluate(back), "rgb(18, 22, 27)");
  });
});
