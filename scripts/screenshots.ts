// `npm run screenshots`: draws the page of a trace, light and dark, wide and narrow, as docs/images/*.png.
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { startChromium } from "../test/support/chromium.js";

const FOLDER = "docs/images";
const SHOTS = [
  { name: "trace-page", colorScheme: "light", viewport: { width: 1200, height: 760 } },
  { name: "trace-page-narrow", colorScheme: "dark", viewport: { width: 400, height: 760 } },
] as const;
/** The step that is selected: its chain leads back to the request that created the pod. */
const SELECTED = "container created → running";

const home = await mkdtemp(join(tmpdir(), "k-"));
const file = join(home, "run.html");
const child = spawn(process.execPath, [resolve("dist/cli.js"), "journey", "--trace", file], {
  cwd: home,
  env: { PATH: process.env["PATH"], HOME: home },
  stdio: "ignore",
});
const code = await new Promise((ended) => child.once("close", ended));
if (code !== 0) throw new Error(`kubelab journey exited with ${code}`);

await mkdir(FOLDER, { recursive: true });
const browser = await startChromium();
for (const { name, colorScheme, viewport } of SHOTS) {
  const page = await browser.newPage({ colorScheme, viewport });
  await page.goto(pathToFileURL(file).href);
  await page.getByLabel("Detail", { exact: true }).selectOption("everything");
  await page.getByLabel("Search").fill("container running");
  await page.locator(".row", { hasText: SELECTED }).first().click();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Only this chain" }).click();
  await page.screenshot({ path: `${FOLDER}/${name}.png` });
  await page.close();
}
await browser.close();
await rm(home, { recursive: true, force: true });
