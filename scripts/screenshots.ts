// `npm run screenshots`: draws the pages of a trace and of a running command, light and dark, wide and narrow, as docs/images/*.png.
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { startChromium } from "../test/support/chromium.js";

const FOLDER = "docs/images";
const SHOTS = [
  { name: "trace-page", colorScheme: "light", viewport: { width: 1200, height: 840 } },
  { name: "trace-page-narrow", colorScheme: "dark", viewport: { width: 400, height: 1000 } },
] as const;
/** The step that is selected: the scheduler writes its choice. */
const SELECTED = /binding|bind pod/;

const home = await mkdtemp(join(tmpdir(), "k-"));
const options = { cwd: home, env: { PATH: process.env["PATH"], HOME: home } };
const kubelab = (...argv: string[]) =>
  spawn(process.execPath, [resolve("dist/cli.js"), ...argv], { ...options, stdio: ["ignore", "ignore", "pipe"] });
await mkdir(FOLDER, { recursive: true });
const browser = await startChromium();

/** The page of a pod's life. */
async function drawTrace(): Promise<void> {
  const file = join(home, "run.html");
  const child = kubelab("journey", "--trace", file);
  child.stderr.resume();
  const code = await new Promise((ended) => child.once("close", ended));
  if (code !== 0) throw new Error(`kubelab journey exited with ${code}`);
  for (const { name, colorScheme, viewport } of SHOTS) {
    const page = await browser.newPage({ colorScheme, viewport });
    await page.goto(pathToFileURL(file).href);
    await page.getByRole("option", { name: SELECTED }).first().click();
    await page.locator(".dot").first().waitFor({ state: "detached" });
    await page.screenshot({ path: `${FOLDER}/${name}.png` });
    await page.close();
  }
}

/** The page of running pod workers, while updates flood one of them. */
async function drawLive(): Promise<void> {
  const child = kubelab("pod-worker", "--ui", "--duration", "2m");
  try {
    const page = await browser.newPage({ colorScheme: "light", viewport: { width: 1200, height: 840 } });
    await page.goto(await addressFrom(child.stderr));
    const press = (key: string) => page.getByRole("button", { name: key }).click();
    for (const pod of ["pod-1", "pod-2"]) {
      await press("p pod");
      await page.getByRole("button", { name: new RegExp(`^pod default/${pod}, Running`) }).waitFor();
    }
    await press("f flood");
    await page
      .getByRole("listbox")
      .getByText(/merge the update/)
      .first()
      .waitFor();
    await page.locator(".dot").nth(5).waitFor();
    await page.screenshot({ path: `${FOLDER}/live-page.png` });
    await page.close();
  } finally {
    child.kill("SIGINT");
    await new Promise((ended) => child.once("close", ended));
  }
}

async function addressFrom(stderr: NodeJS.ReadableStream): Promise<string> {
  let text = "";
  for await (const chunk of stderr) {
    text += String(chunk);
    const [url] = /http:\S+token=[\w-]+/.exec(text) ?? [];
    if (url !== undefined) return url;
  }
  throw new Error(`no address of a page in: ${text}`);
}

await drawTrace();
await drawLive();
await browser.close();
await rm(home, { recursive: true, force: true });
