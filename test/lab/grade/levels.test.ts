import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { allLevels } from "../../../src/lab/grade/levels.js";
import { zh } from "../../../src/util/i18n/sentences/zh.js";

const LEVELS = await allLevels();
const requirements = LEVELS.flatMap((level) => level.requirements);
const catalogue: Readonly<Record<string, string>> = zh;

test("each level has 100 points, and each requirement a name of its own", () => {
  for (const level of LEVELS) {
    expect([level.number, level.requirements.reduce((sum, { points }) => sum + points, 0)]).toEqual([
      level.number,
      100,
    ]);
  }
  expect(new Set(requirements.map(({ id }) => id)).size).toBe(requirements.length);
});

test("titles have their Chinese", () => {
  const titles = [...LEVELS, ...requirements].map(({ title }) => title);
  expect(titles.filter((title) => !catalogue[title])).toEqual([]);
});

test("docs/grade.zh.md has each requirement in Chinese", () => {
  const page = readFileSync("docs/grade.zh.md", "utf8");
  const row = ({ id, title, points }: (typeof requirements)[number]) =>
    `| \`${id}\` | ${catalogue[title]} | ${points} | `;
  expect(requirements.map(row).filter((one) => !page.includes(one))).toEqual([]);
});

test("docs/grade.md has each requirement with its points and its source", () => {
  const page = readFileSync("docs/grade.md", "utf8");
  const row = ({ id, title, points, upstream }: (typeof requirements)[number]) =>
    `| \`${id}\` | ${title} | ${points} | \`${upstream.file}\` (${upstream.func}) |`;
  expect(requirements.map(row).filter((one) => !page.includes(one))).toEqual([]);
});
