import { expect, test } from "vitest";
import { parseDuration } from "../../../src/commands/cli/options.js";

const VALID: readonly (readonly [text: string, ms: number])[] = [
  ["0", 0],
  ["90s", 90_000],
  ["1h30m", 5_400_000],
  ["1.5s", 1500],
  ["2d", 172_800_000],
];

test.each(VALID)("%s", (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

test.each(["", "5", "1x", "-1s", "1s ", "300y", `${"9".repeat(400)}h`, "9000000000000h"])("refused: %s", (text) => {
  expect(() => parseDuration(text)).toThrow("expected a duration");
});
