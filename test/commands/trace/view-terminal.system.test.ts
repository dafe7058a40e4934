import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
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
