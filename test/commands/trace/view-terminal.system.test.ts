import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { test } from "vitest";
import { untilTrue } from "../../support/fake-clock.js";
import { Terminal } from "../../support/terminal.js";
import { note } from "../../trace/facts.js";

const home = mkdtempSync(join(tmpdir(), "kubelab-view-"));
const path = join(home, "t.ndjson");
const id = (n: number) => n.toString(16).padStart(16, "0");
const facts = Array.from({ length: 60 }, (_, i) => note(id(i + 1), { atMs: i, text: `fact ${i}` } as object));
writeFileSync(path, facts.map((event) => `${JSON.stringify(event)}\n`).join(""));

for (const [key, end] of [
  ["q", /ended with 0\n icanon\n echo/],
  ["C-c", /interrupted\nended with 130\n icanon\n echo/],
] as const) {
  test(`trace view: keys, another size of the terminal, and ${key} gives the terminal back`, async () => {
    await using terminal = new Terminal(["trace", "view", path], { home });
    await terminal.shows(/fact 0 *\n[\s\S]*q quit/);
    terminal.press("End");
    await terminal.shows(/line 60 of 60[\s\S]*fact 59/);
    terminal.press("/", "fact 7", "Enter");
    await terminal.shows(/line 8 of 60/);
    terminal.resize(40, 10);
    await terminal.shows(/^60 facts in 60 trees, line 8 of 60\n(.*\n){8}.*$/);
    terminal.press(key);
    await terminal.shows(end);
  });
}

/** A folder with an `xdg-open` that shows its argument, or fails. */
function browserFolder(script: string): string {
  const folder = mkdtempSync(join(home, "bin-"));
  writeFileSync(join(folder, "xdg-open"), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return folder;
}

test("trace view --page: at a terminal with a display a browser opens the page", async () => {
  const opened = join(home, "opened");
  const PATH = `${browserFolder(`echo "$1" > ${opened}`)}:/usr/bin:/bin`;
  await using terminal = new Terminal(["trace", "view", path, "--page"], { home, env: { PATH, DISPLAY: ":0" } });
  await terminal.shows(/file:\/\/\S*\/t\.html\n[\s\S]*ended with 0/);
  await untilTrue(() => existsSync(opened) && readFileSync(opened, "utf8") !== "");
  assert.equal(readFileSync(opened, "utf8"), `${pathToFileURL(join(home, "t.html")).href}\n`);
});

for (const [title, script, env] of [
  ["a browser that fails", "exit 3", { DISPLAY: ":0" }],
  ["no display", `touch ${join(home, "no-display")}`, {}],
] as const) {
  test(`trace view of a page: ${title} leaves the address`, async () => {
    writeFileSync(join(home, "p.html"), "");
    const PATH = `${browserFolder(script)}:/usr/bin:/bin`;
    await using terminal = new Terminal(["trace", "view", join(home, "p.html")], { home, env: { PATH, ...env } });
    await terminal.shows(/file:\/\/\S*\/p\.html\n[\s\S]*ended with 0/);
    assert(!existsSync(join(home, "no-display")));
  });
}
