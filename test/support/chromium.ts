import { type Browser, chromium, type Page } from "playwright-core";

const CHROMIUM = "/usr/bin/chromium";
/** Only a test's pages are loaded; background requests are switched off. */
const ARGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Debian's headless chromium, with a temporary profile. */
export function startChromium(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM, headless: true, args: ARGS });
}

/** A page and all errors on it. */
export interface WatchedPage {
  readonly page: Page;
  readonly complaints: string[];
  /** with which the page has talked */
  readonly hosts: ReadonlySet<string>;
}

export async function openPage(
  browser: Browser,
  url: string,
  size = { width: 1280, height: 800 },
): Promise<WatchedPage> {
  const page = await browser.newPage({ viewport: size });
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => complaints.push(`thrown: ${error.message}`));
  const hosts = new Set<string>();
  page.on("request", (request) => hosts.add(new URL(request.url()).host));
  page.on("requestfailed", (request) => {
    // The event stream ends with the page.
    if (!new URL(request.url()).pathname.endsWith("/events")) complaints.push(`failed: ${request.url()}`);
  });
  page.on("response", (response) => {
    if (response.status() >= 400) complaints.push(`${response.status()}: ${response.url()}`);
  });
  await page.goto(url);
  return { page, complaints, hosts };
}
