import { expect, test } from "vitest";
import { KNOWN_DIFFERENCES, type KnownDifference } from "./differences.js";
import { complaints, isGood, judge } from "./judge.js";

const STATUS = "/response/status: recorded 500, here 501";
const TEXT = "/response/body/message: recorded a, here b";

const rows: [what: string, lines: readonly string[], known: Partial<KnownDifference> | undefined, complaint: string][] =
  [
    ["no difference", [], undefined, ""],
    ["not listed", [TEXT], undefined, `i\n    ${TEXT}`],
    ["listed", [TEXT], {}, ""],
    ["listed, in a status code", [STATUS], {}, `i\n    ${STATUS}`],
    ["listed as not served, in a status code", [STATUS], { notServed: true }, ""],
    ["listed, and gone", [], {}, "i: is listed, and no longer differs"],
    ["listed as a race, and gone", [], { sometimes: true }, ""],
    ["listed for every item", [TEXT], { topic: "*", item: "*" }, ""],
    ["listed for every item, and gone", [], { topic: "*", item: "*" }, ""],
    ["listed where it differs", [TEXT], { where: /message$/ }, ""],
    [
      "listed where it differs, and differs elsewhere",
      [TEXT, "/note: x"],
      { where: /message$/ },
      `i\n    ${TEXT}\n    /note: x`,
    ],
    ["listed for another topic", [TEXT], { topic: "other" }, `i\n    ${TEXT}`],
  ];

test.each(rows)("%s", (_what, lines, known, complaint) => {
  const differences = lines.length === 0 ? [] : [{ item: "i", lines }];
  const all = known === undefined ? [] : [{ topic: "t", item: "i", reason: "r", ...known }];
  const verdict = judge({ topic: "t", itemCount: 1, differences, proseOnly: 0 }, all);
  expect([complaints(verdict), isGood(verdict)]).toEqual([complaint, complaint === ""]);
});

test("every listed difference has a reason and is listed once", () => {
  expect(KNOWN_DIFFERENCES.filter(({ reason }) => reason.length < 20)).toEqual([]);
  const names = KNOWN_DIFFERENCES.map(({ topic, item }) => `${topic}: ${item}`);
  expect(new Set(names).size).toBe(names.length);
});
