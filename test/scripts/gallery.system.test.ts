import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, extname, join, normalize, relative } from "node:path";
import { afterAll, beforeAll, test } from "vitest";
import { browserSuite } from "../support/browser-suite.js";

/** The whole gallery takes minutes; the others are recorded and written in the same way. */
const STORIES = ["csr", "bootstrap", "lab-lease-name"];
const MAX_BYTES = 10_000_000;
/** of a gallery: the pages of its stories, in two languages */
const MAX_PAGE_BYTES = 450_000;
const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
};
const LOADS = /<(?:script|img|iframe|source|video|object|embed|link)\b[^>]*?\b(?:src|href|data)=["']([^"']*)["']/g;

const folder = mkdtempSync(join(tmpdir(), "kubelab-gallery-"));
const out = join(folder, "out");
let server: Server;

/** Writes a part of the gallery, or all of it. */
const build = (...argv: readonly string[]) =>
  spawnSync(process.execPath, ["scripts/run.mjs", "scripts/gallery.ts", ...argv], { encoding: "utf8" });

const files = (): readonly string[] =>
  readdirSync(out, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(out, join(entry.parentPath, entry.name)));
const pages = () => files().filter((name) => name.endsWith(".html"));
const textOf = (name: string) => readFileSync(join(out, name), "utf8");

/** The page without the program and the facts in it. */
const markupOf = (name: string) => textOf(name).replace(/<script type="application\/json"[\s\S]*?<\/script>/, "");

beforeAll(async () => {
  const { status, stdout, stderr } = build("--out", out, "--only", STORIES.join(","));
  assert.equal(status, 0, stdout + stderr);
  server = createServer((request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url ?? "/", "http://x").pathname));
    try {
      const body = readFileSync(join(out, path.endsWith("/") ? `${path}index.html` : path));
      response.writeHead(200, { "content-type": TYPES[extname(path)] ?? "text/html" }).end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
}, 300_000);

afterAll(() => {
  server.close();
  server.closeAllConnections();
  rmSync(folder, { recursive: true, force: true });
});

browserSuite([], "the gallery", (suite) => {
  test("every relative link leads to a page and to a heading of it, and no page loads anything from elsewhere", () => {
    const known = new Set(files());
    for (const name of pages()) {
      const markup = markupOf(name);
      for (const [, href = ""] of markup.matchAll(/\b(?:href|src)="([^"]*)"/g)) {
        if (/^(?:https?|data):/.test(href)) continue;
        const [path = "", anchor] = href.split("#");
        const target = path === "" ? name : normalize(join(dirname(name), path));
        assert.ok(!href.startsWith("/") && known.has(target), `${name}: ${href}`);
        if (anchor !== undefined) assert.ok(textOf(target).includes(`id="${anchor}"`), `${name}: ${href}`);
      }
      for (const [tag, target = ""] of markup.matchAll(LOADS))
        assert.doesNotMatch(target, /^(?:https?:)?\/\//, `${name}: ${tag}`);
      assert.doesNotMatch(markup, /url\(\s*["']?(?:https?:)?\/\/|@import/, name);
    }
  });

  test("the pages are small enough for all stories, and have nothing of this machine", () => {
    const bytes = files().reduce((sum, name) => sum + statSync(join(out, name)).size, 0);
    assert.ok(bytes < MAX_BYTES, `${bytes} bytes`);
    for (const name of pages().filter((one) => one.startsWith("stories/"))) {
      assert.ok(statSync(join(out, name)).size < MAX_PAGE_BYTES, name);
      assert.ok(!textOf(name).includes(process.cwd()), name);
    }
  });

  test("each story opens on its story, in its language, and the index leads to all of them", async () => {
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    for (const [language, index, named] of [
      ["en", "/", "Story"],
      ["zh", "/index.zh.html", "过程"],
    ] as const) {
      const { page, complaints, hosts } = await suite.open(base + index);
      assert.equal(await page.locator("html").getAttribute("lang"), language);
      assert.equal(await page.locator(".stories a").count(), STORIES.length);
      for (const id of STORIES) {
        await page.goto(base + index);
        await page.locator(`.stories a[href="stories/${id}.${language}.html"]`).click();
        const rows = page.getByRole("listbox").getByRole("option");
        await rows.first().waitFor();
        assert.equal(await rows.first().getAttribute("aria-selected"), "true", id);
        assert.match((await rows.first().getAttribute("aria-label")) ?? "", /^1\. /, named);
        assert.equal(await page.locator("html").getAttribute("lang"), language, id);
      }
      // The browser asks for an icon by itself.
      assert.deepEqual(
        complaints.filter((one) => !one.includes("favicon") && !one.includes("404")),
        [],
      );
      assert.deepEqual([...hosts], [new URL(base).host]);
    }
  });

  test("a folder with other files is not replaced", () => {
    const other = mkdtempSync(join(folder, "other-"));
    writeFileSync(join(other, "mine"), "");
    const { status, stderr } = build("--out", other, "--only", "csr");
    assert.notEqual(status, 0);
    assert.match(stderr, /is no gallery/);
    assert.deepEqual(readdirSync(other), ["mine"]);
  });
});
