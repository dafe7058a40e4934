import assert from "node:assert/strict";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, test } from "vitest";
import { openPage, startChromium, type WatchedPage } from "./chromium.js";
import { CliProcess, newHome } from "./cli-process.js";
import { CONTRASTS, FITS } from "./page-scripts.js";
import { suiteNeeding } from "./requirements.js";

/** One browser for all tests of a suite. Pages and commands of a test end with the test. */
export class BrowserSuite {
  #browser: Browser | undefined;
  readonly #running: CliProcess[] = [];

  /** Starts a command with a page. @returns the page's address, once it is served */
  async start(...argv: string[]): Promise<{ readonly command: CliProcess; readonly url: string }> {
    const command = new CliProcess(newHome(), [...argv, "--http", "127.0.0.1:0"]);
    this.#running.push(command);
    return { command, url: await command.says(/Page: (http:\S+\/)\s/) };
  }

  /** Starts a command with --ui. @returns the live page's address */
  async startLive(...argv: string[]): Promise<{ readonly command: CliProcess; readonly url: string }> {
    const command = new CliProcess(newHome(), [...argv, "--ui"]);
    this.#running.push(command);
    return { command, url: await command.says(/live page: (http:\S+)\s/) };
  }

  open(url: string, size?: { width: number; height: number }): Promise<WatchedPage> {
    return openPage(this.#chromium, url, size);
  }

  /** A page of another origin. */
  newPage(): Promise<Page> {
    return this.#chromium.newPage();
  }

  /** Checks in both colour schemes that a page needs no horizontal scrolling on a phone, and has enough contrast. */
  testOnPhone(
    selectors: readonly string[],
    begin: () => Promise<{ url: string; shown: (page: Page) => Promise<void> }>,
  ) {
    for (const colorScheme of ["light", "dark"] as const) {
      test(`fits a phone, and can be read there: ${colorScheme}`, async () => {
        const { url, shown } = await begin();
        const { page, complaints } = await this.open(url, { width: 360, height: 640 });
        await page.emulateMedia({ colorScheme });
        await shown(page);
        assert.deepEqual(await page.evaluate(`(${FITS})()`), { isScrolled: false, outside: [] });
        const contrasts = await page.evaluate(`(${CONTRASTS})(${JSON.stringify(selectors)})`);
        for (const [what, contrast] of contrasts as [string, number][])
          assert.ok(contrast >= 4.5, `${what}: contrast ${contrast.toFixed(1)}`);
        assert.deepEqual(complaints, []);
      });
    }
  }

  get #chromium(): Browser {
    return this.#browser ?? assert.fail("a browser is there while tests run");
  }

  async begin(): Promise<void> {
    this.#browser = await startChromium();
  }

  async clear(): Promise<void> {
    for (const page of this.#chromium.contexts().flatMap((context) => context.pages())) await page.close();
    for (const one of this.#running.splice(0)) await one.kill("SIGINT");
  }

  async end(): Promise<void> {
    await this.#browser?.close();
  }
}

/** A suite whose tests open a command's page in a browser. */
export function browserSuite(needs: readonly string[], title: string, body: (suite: BrowserSuite) => void): void {
  suiteNeeding(["chromium", ...needs], title, () => {
    const suite = new BrowserSuite();
    beforeAll(() => suite.begin());
    afterEach(() => suite.clear());
    afterAll(() => suite.end());
    body(suite);
  });
}
