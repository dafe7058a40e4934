import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { test } from "vitest";
import { browserSuite } from "../../../support/browser-suite.js";
import { newHome } from "../../../support/cli-process.js";
import { Terminal } from "../../../support/terminal.js";

const WORK = "a lab on its page";

/** A lab at a terminal with --ui. */
function start(home = newHome()): Terminal {
  mkdirSync(join(home, "state"), { recursive: true });
  return new Terminal(["learn", "start", "exec", "--seed", "7", "--ui"], { home, columns: 100, rows: 40 });
}

/** The address that the terminal shows. */
async function addressOn(terminal: Terminal): Promise<string> {
  const screen = await terminal.shows(/token=[\w-]{22}/, true);
  return /http:\S+token=[\w-]{22}/.exec(screen)?.[0] ?? assert.fail(screen);
}

const step = (page: Page, number: number) => page.getByRole("heading", { name: `Step ${number} of 10` }).waitFor();
const button = (page: Page, name: string | RegExp) =>
  page.getByRole("region", { name: /^Lab/ }).getByRole("button", { name });
const click = (page: Page, name: string | RegExp) => button(page, name).click();

/** The right answers, by the number of their step. */
const ANSWERS: Readonly<Record<number, RegExp>> = {
  2: /In its URL/,
  4: /As the API server/,
  5: /^3 /,
  6: /^3 7/,
  8: /401 Unauthorized/,
};

browserSuite(["tmux", "kubectl", "openssl"], WORK, (suite) => {
  test("a whole lab is played with the page's buttons, and the terminal shows the same", async () => {
    await using terminal = start();
    const { page, complaints } = await suite.open(await addressOn(terminal));
    await step(page, 1);
    await page.getByText("Nothing has run yet").waitFor();
    const story = page.getByRole("region", { name: "Story", exact: true });
    assert.deepEqual([await page.locator(".left").isVisible(), await story.count()], [false, 0]);
    const headPx = await page.locator("header").evaluate((head) => head.clientHeight);
    // A wrong check, a hint with its price, then the solution.
    await click(page, "c check");
    await page.getByRole("log").locator(".bad").waitFor();
    await click(page, /h hint/);
    await page.getByRole("heading", { name: /Hint 1 of \d+ \(costs 2 points\)/ }).waitFor();
    await click(page, "d solve");
    await page.getByRole("log").locator(".good").waitFor();
    await terminal.shows(/✓ kubelab did it/, true);
    assert.equal(await page.getByText("Nothing has run yet").count(), 0);
    // The page goes to the story of the step.
    await story.getByRole("option").first().waitFor();
    assert.equal(await page.locator("header").evaluate((head) => head.clientHeight), headPx);
    for (let number = 2; number <= 10; number++) {
      await click(page, "n next");
      await step(page, number);
      // What the step before came to stays on the page, folded.
      await page.getByText(`The step before: Step ${number - 1} of 10`).waitFor();
      assert.ok((await page.locator(".lab-previous .good, .lab-previous .bad").count()) > 0);
      const answer = ANSWERS[number];
      if (answer !== undefined || number === 10) {
        // The keyboard works as well.
        if (number === 6) await page.keyboard.press("3");
        else await click(page, answer ?? /^1 /);
      } else await click(page, "d solve");
      await page
        .getByRole("log")
        .locator(answer === undefined && number === 10 ? ".bad" : ".good")
        .waitFor();
    }
    await page.getByRole("heading", { name: "Lab finished." }).waitFor();
    await page.getByText(/Your result: \d+ of \d+ points/).waitFor();
    await terminal.shows(/Your result: \d+ of \d+ points/, true);
    await page.getByText("10 of 10 steps done").click();
    const steps = page.locator(".lab-steps").getByRole("listitem");
    assert.equal(await steps.filter({ hasText: "✓" }).count(), 10);
    await button(page, "n next").waitFor();
    terminal.press("q");
    await page.getByRole("status").filter({ hasText: "ended" }).waitFor();
    await page.getByRole("heading", { name: "Lab finished." }).waitFor();
    assert.deepEqual(complaints, []);
  });

  test("a lab goes on where the other input left it, also while its terminal has a shell", async () => {
    await using terminal = start();
    const { page } = await suite.open(await addressOn(terminal));
    await terminal.shows(/^c check/m);
    terminal.press("d");
    await page.getByRole("log").locator(".good").waitFor();
    await click(page, "n next");
    await terminal.shows(/Step 2 of 10/);
    await terminal.shows(/^1-3 choose/m);
    terminal.press("2");
    await page.getByRole("log").locator(".good").filter({ hasText: "In its URL" }).waitFor();
    terminal.press("n");
    await step(page, 3);
    await terminal.shows(/^c check/m);
    terminal.press("s");
    await terminal.shows(/shell/i);
    await click(page, "d solve");
    await page.getByRole("log").locator(".good").waitFor();
    await click(page, "n next");
    await step(page, 4);
    terminal.press("exit", "Enter");
    // The terminal has what happened meanwhile, and asks the page's question.
    await terminal.shows(/Step 4 of 10[\s\S]*^1-3 choose/m);
    await click(page, /As the API server/);
    await terminal.shows(/❯ As the API server/, true);
    await page.getByRole("log").locator(".good").waitFor();
  });
});
