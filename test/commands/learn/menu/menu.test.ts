import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Chalk } from "chalk";
import stringWidth from "string-width";
import { describe, test } from "vitest";
import { menuOf } from "../../../../src/commands/learn/menu/menu.js";
import {
  chosenLine,
  entryTyped,
  type FrameOptions,
  menuFrame,
} from "../../../../src/commands/learn/menu/menu-frame.js";
import { openLibrary } from "../../../../src/lab/labs/format/open-library.js";
import { EMPTY_PROGRESS } from "../../../../src/lab/labs/progress/progress.js";
import { sayIn } from "../../../../src/util/i18n/catalogue.js";
import { LANGUAGES, type Language } from "../../../../src/util/i18n/language.js";

const library = await openLibrary();
/** all programs that labs need, in one folder */
const programs = mkdtempSync(join(tmpdir(), "kubelab-menu-"));
for (const program of library.summaries.flatMap(({ needs }) => needs)) {
  writeFileSync(join(programs, program), "", { mode: 0o755 });
}
const context = { env: { PATH: programs } };
const menuIn = (language: Language, env: Readonly<Record<string, string>> = context.env) =>
  menuOf({ library, say: sayIn(language), language, context: { env } }, EMPTY_PROGRESS);
const optionsIn = (language: Language, unicode = true): FrameOptions => ({
  chalk: new Chalk({ level: 0 }),
  say: sayIn(language),
  unicode,
});
const EN = menuIn("en");
/** how many there are */
const incidents = library.summaries.filter(({ kind }) => kind === "incident").length;
const entries = EN.groups.flatMap((group) => group.entries);
/** more than the menu's entries and the lines around them */
const TALL = entries.length + 20;
const at = (key: string) => entries.findIndex((one) => one.key === key);

describe("a frame fits its screen, whatever is pointed at", () => {
  const sizes = [
    [20, 5],
    [50, 15],
    [80, 24],
    [80, 33],
    [200, 50],
  ] as const;
  for (const language of LANGUAGES) {
    for (const [columns, rows] of sizes) {
      test(`${language}, ${columns}x${rows}`, () => {
        const menu = menuIn(language);
        menu.groups
          .flatMap((group) => group.entries)
          .forEach(({ name }, active) => {
            const frame = menuFrame(menu, active, { columns, rows }, optionsIn(language));
            assert.ok(frame.length < rows, `${frame.length} rows`);
            for (const line of frame) assert.ok(stringWidth(line) < columns, line);
            const pointed = frame.find((line) => line.startsWith("❯ ")) ?? "";
            assert.ok(`❯   ${name}`.startsWith(pointed.replace("…", "")), `${pointed} for ${name}`);
            assert.equal(frame.filter((line) => line.startsWith("❯")).length, 1);
          });
      });
    }
  }
});

describe("the menu counts the rows that do not fit", () => {
  const table: readonly (readonly [columns: number, rows: number, key: string, line: RegExp | undefined])[] = [
    [80, 24, "0", new RegExp(`^ ↓ below: Chapters \\d+, Incidents ${incidents}, Free play 5$`)],
    [80, 24, "journey", /^ ↑ above: Chapters \d+, Incidents \d+$/],
    [80, 24, "3e", /^ ↑ above: Chapters \d+ {3}↓ below: (Chapters \d+, )?Incidents \d+, Free play 5$/],
    [60, 15, "3e", new RegExp(`^ ↑ Chapters \\d+ {3}↓ Chapters \\d+, Incidents ${incidents}, Free play 5$`)],
    [200, TALL, "0", undefined],
  ];
  for (const [columns, rows, key, wanted] of table) {
    test(`${columns}x${rows} at ${key}`, () => {
      const frame = menuFrame(EN, at(key), { columns, rows }, optionsIn("en"));
      const line = frame.find((one) => /[↑↓]/.test(one));
      if (wanted === undefined) assert.equal(line, undefined);
      else assert.match(line ?? "", wanted);
    });
  }

  test("in Chinese", () => {
    const frame = menuFrame(menuIn("zh"), 0, { columns: 80, rows: 24 }, optionsIn("zh"));
    assert.match(frame.join("\n"), new RegExp(`↓ 下面还有：章节 \\d+、故障卡片 ${incidents}、自由探索 5`));
  });
});

test("a locale without Unicode sees ASCII only", () => {
  const size = { columns: 40, rows: 20 };
  const frame = menuFrame(EN, at("3e"), size, optionsIn("en", false));
  // biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII has them
  assert.match([...frame, chosenLine(EN, at("3c"), size, optionsIn("en", false))].join("\n"), /^[\u0000-\u007f]*$/);
  assert.match(frame.join("\n"), /\.\.\.$/m);
});

test("a typed word that begins no entry is named, in place of the keys", () => {
  for (const [language, want] of [
    ["en", "nothing begins with z: up, down"],
    ["zh", "没有以 z 开头的条目"],
  ] as const) {
    const size = { columns: 80, rows: 24 };
    const last = (options: FrameOptions) => menuFrame(menuIn(language), 0, size, options).at(-1) ?? "";
    const options = optionsIn(language);
    assert.notEqual(last(options), last({ ...options, unknown: "z" }));
    const line = last({ ...options, unknown: "z" });
    assert.ok(line.startsWith(want) && stringWidth(line) < 80, line);
  }
});

test("the numbers of chapters and of incidents have no gaps", () => {
  const byNumber = new Map<string, string[]>();
  for (const { number } of library.summaries) {
    const [, digits = number, letter = ""] = /^(\d+)([a-z]?)$/.exec(number) ?? [];
    byNumber.set(digits, [...(byNumber.get(digits) ?? []), letter]);
  }
  const chapters = [...byNumber.keys()].filter((number) => !number.startsWith("i"));
  assert.deepEqual(
    [...byNumber.keys()],
    [...chapters.map((_, i) => String(i)), ...Array.from({ length: incidents }, (_, i) => `i${i + 1}`)],
  );
  for (const [number, letters] of byNumber) {
    assert.equal(letters.map((letter) => letter || "a").join(""), "abcdefghij".slice(0, letters.length), number);
  }
});

test("a row that is too long ends in …; a wide character is not halved", () => {
  const title = "心跳心跳";
  const entry = { key: "1", value: "x", name: title, description: "" };
  const menu = { about: "", title: "?", done: 0, count: 1, groups: [{ entries: [entry] }] };
  const lineAt = (columns: number) => menuFrame(menu, 0, { columns, rows: 10 }, optionsIn("zh"))[1];
  assert.equal(lineAt(13), "❯   心跳心跳");
  assert.equal(lineAt(12), "❯   心跳心…");
  assert.equal(lineAt(11), "❯   心跳…");
});

const typed: readonly (readonly [string, string | undefined])[] = [
  ["1", "1"],
  ["3E", "3e"],
  ["i1", "i1"],
  ["i12", "i12"],
  ["3", "3a"],
  ["q", ""],
  [" ", undefined],
  ["zz", undefined],
];
for (const [text, key] of typed) {
  test(`typed ${JSON.stringify(text)}: ${key ?? "nowhere"}`, () => {
    const index = entryTyped(EN, text);
    assert.equal(index === undefined ? undefined : entries[index]?.key, key);
  });
}

test("a lab whose program is not installed does not count, and says which one it needs", () => {
  const menu = menuIn("en", { PATH: "" });
  assert.equal(menu.count, library.summaries.filter(({ needs }) => needs.length === 0).length);
  assert.equal(EN.count, library.summaries.length);
  const entry = menu.groups.flatMap(({ entries }) => entries).find(({ value }) => value === "pleg-containerd");
  assert.match(entry?.description ?? "", /\(needs containerd, which is not installed here\)$/);
});

describe("the learner sees how far he is", () => {
  const [first, second, third] = library.summaries;
  assert.ok(first !== undefined && second !== undefined);
  const run = { seed: 1, hints: 0, rightPredictions: 0, wrongPredictions: 0, startedAtMs: 1 };
  const progress = {
    version: 1,
    labs: {
      [first.id]: { ...run, revision: first.revision, done: first.steps, finishedAtMs: 2 },
      [second.id]: { ...run, revision: second.revision, done: second.steps.slice(0, 1) },
    },
  } as const;
  const menu = menuOf({ library, say: sayIn("en"), language: "en", context }, progress);
  const frameAt = (columns: number, rows: number, unicode = true) =>
    menuFrame(menu, 0, { columns, rows }, optionsIn("en", unicode));

  test("one line says what the program is; a bar and ticks show what is done", () => {
    const [about = "", title = "", heading, done = "", begun = "", open = ""] = frameAt(80, 24);
    assert.match(about, /^kubelab: /);
    assert.equal(title, `? Which lab?  █${"░".repeat(19)} 1 of ${library.summaries.length} done`);
    assert.equal(heading, " Chapters");
    assert.match(done, /^❯ ✓ 0 /);
    const description = menu.groups[0]?.entries[1]?.description ?? "";
    assert.match(description, new RegExp(`about \\d+ min left, 1/${second.steps.length} steps\\)$`));
    assert.match(begun, /^ {2}~ 1 /);
    assert.equal(open.startsWith(`    ${third?.number} `), true, open);
  });
  test("a small screen has the list instead, a narrow one no bar", () => {
    assert.match(frameAt(80, 12)[0] ?? "", /^\? Which lab\? /);
    assert.equal(frameAt(30, 12)[0], "? Which lab?");
  });
  test("in ASCII", () => {
    const [, title = "", , done = ""] = frameAt(80, 24, false);
    assert.match(title, /#\.{19} 1 of/);
    assert.match(done, /^> \+ 0 /);
  });
});

test("the chosen lab is printed on one line", () => {
  const line = chosenLine(EN, at("3c"), { columns: 60, rows: 24 }, optionsIn("en"));
  assert.match(line, /^✔ Which lab\? 3c {2}The pod manager.*…$/);
  assert.ok(stringWidth(line) < 60);
});
