import { expect, test } from "vitest";
import { LastLines } from "../../../src/lab/grade/last-lines.js";

function linesOf(...pieces: readonly string[]): readonly string[] {
  const last = new LastLines();
  const take = last.stream();
  for (const piece of pieces) take(piece);
  return last.lines;
}

test("lines are put together from pieces; what has no end yet is one, too", () => {
  expect(linesOf("on", "e\ntwo\nth", "ree")).toEqual(["one", "two", "three"]);
});

test("a line that is repeated is folded, and counted also beyond what is kept", () => {
  expect(linesOf("start\n", "refused\n".repeat(5_000), "end\n")).toEqual(["start", "refused … 5000 times", "end"]);
  expect(linesOf("a\nb\na\n")).toEqual(["a", "b", "a"]);
});

test("only the last 200 lines are kept, and of a line 1000 characters", () => {
  const numbers = Array.from({ length: 1_000 }, (_, i) => `${i}\n`).join("");
  const kept = linesOf(numbers);
  expect([kept.length, kept[0], kept.at(-1)]).toEqual([200, "800", "999"]);
  expect(linesOf("x".repeat(5_000)).map((line) => line.length)).toEqual([1_000]);
});

test("two streams do not mix within a line", () => {
  const last = new LastLines();
  const [out, err] = [last.stream(), last.stream()];
  out("out");
  err("err\n");
  out("put\n");
  expect(last.lines).toEqual(["err", "output"]);
});
