import { describe, expect, test } from "vitest";
import { parseYaml, parseYamlDocuments, YamlError } from "../../../src/staging/apimachinery/yaml.js";

function errorOf(text: string): YamlError {
  try {
    parseYaml(text);
  } catch (error) {
    if (error instanceof YamlError) return error;
  }
  throw new Error("the text was accepted");
}

describe("scalars resolve as in go-yaml v2", () => {
  const table: readonly (readonly [text: string, value: unknown])[] = [
    ["yes", true],
    ["Off", false],
    ["y", true],
    ["TRUE", true],
    ["tRUE", "tRUE"],
    ["~", null],
    ["", null],
    ["Null", null],
    ["0644", 420],
    ["0o17", 15],
    ["089", 89],
    ["0x1F", 31],
    ["-0b11", -3],
    ["1_000", 1000],
    [".5", 0.5],
    ["+.5", 0.5],
    ["1e3", 1000],
    ["-1.5e-3", -0.0015],
    [".", "."],
    ["1:30", "1:30"],
    ["2020-01-01", "2020-01-01"],
    ["2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z"],
    ["'12'", "12"],
    ["!!str 12", "12"],
    ["!!int '12'", 12],
    ["!!binary aGk=", "hi"],
    ["!!timestamp 2020-01-01", "2020-01-01"],
    ["!unknown x", "x"],
    ["!unknown 12", "12"],
    ["!unknown [1]", [1]],
    ["!!unknown {a: 1}", { a: 1 }],
    ["1e400", "1e400"],
    ["9".repeat(400), "9".repeat(400)],
  ];
  for (const [text, value] of table) {
    test(`${text.slice(0, 30)} -> ${String(JSON.stringify(value)).slice(0, 30)}`, () => {
      expect(parseYaml(`a: ${text}`)).toEqual({ a: value });
    });
  }

  test("keys are their JSON: numbers and booleans become text", () => {
    expect(parseYaml("1: a\n0x10: b\nyes: c")).toEqual({ 1: "a", 16: "b", true: "c" });
  });
});

describe("documents", () => {
  test("of a stream, and the first of them", () => {
    expect(parseYamlDocuments("---\na: 1\n---\nb: 2\n")).toEqual([{ a: 1 }, { b: 2 }]);
    expect(parseYaml("a: 1\n---\nb: 2\n")).toEqual({ a: 1 });
    expect(parseYamlDocuments("")).toEqual([]);
  });

  test("a key that appears twice is refused, or the last one counts", () => {
    const text = "b:\n  key: 1\n  key: 2\n";
    expect(errorOf(text)).toMatchObject({ message: 'line 3: key "key" already set in map', isDuplicateKey: true });
    expect(errorOf('{"a": 1, "a": 2}').message).toBe('line 1: key "a" already set in map');
    expect(parseYaml(text, { duplicates: "last-wins" })).toEqual({ b: { key: 2 } });
  });

  test("keys of Object.prototype are keys like any other", () => {
    const value = parseYaml("__proto__: 1\nconstructor: 2") as object;
    expect(Object.entries(value)).toEqual([
      ["__proto__", 1],
      ["constructor", 2],
    ]);
  });
});

/** Each level refers nine times to the level below. */
function bomb(levels: number): string {
  const level = (i: number) =>
    `a${i}: &a${i} [${Array(9)
      .fill(`*a${i - 1}`)
      .join(",")}]\n`;
  return `a0: &a0 [${Array(9).fill("x").join(",")}]\n${Array.from({ length: levels }, (_, i) => level(i + 1)).join("")}`;
}

describe("limits", () => {
  const table: readonly (readonly [what: string, text: string, message: string])[] = [
    ["brackets without an end", "[".repeat(100_000), "line 1: exceeded max depth of 500"],
    ["lists in lists", `${"- ".repeat(100_000)}a`, "line 1: exceeded max depth of 500"],
    ["questions in questions", "? ".repeat(100_000), "line 1: exceeded max depth of 500"],
    [
      "maps in maps",
      Array.from({ length: 600 }, (_, i) => `${" ".repeat(i)}a:`).join("\n"),
      "line 500: exceeded max depth of 500",
    ],
    ["depth by aliases", `a: &a ${"[".repeat(300)}${"]".repeat(300)}\nb: ${"[".repeat(300)}*a${"]".repeat(300)}`, ""],
    ["aliases of aliases", bomb(30), "document contains excessive aliasing"],
    [
      "copies of a long text",
      `a: &a ${"x".repeat(100_000)}\nb: [${"*a,".repeat(1000)}]`,
      "document contains excessive aliasing",
    ],
    ["an anchor in itself", "a: &a [*a]", "anchor value contains itself"],
    ["an unknown alias of 1 MB", `a: *${"x".repeat(1_000_000)}`, ""],
    [
      "merged keys",
      `a: &a {${Array.from({ length: 1000 }, (_, i) => `k${i}: v`)}}\nb:\n${"- {<<: *a}\n".repeat(1000)}`,
      "",
    ],
  ];
  for (const [what, text, message] of table) {
    test(`${what}: refused in a short message`, () => {
      const error = errorOf(text);
      if (message !== "") expect(error.message).toBe(message);
      expect(error.message.length).toBeLessThan(300);
    });
  }

  test("a few aliases are fine, and so is a large document without any", () => {
    expect(parseYaml("a: &a {x: 1}\nb: [*a, *a]\nc: {<<: *a, z: 2}")).toEqual({
      a: { x: 1 },
      b: [{ x: 1 }, { x: 1 }],
      c: { x: 1, z: 2 },
    });
    expect(
      Object.keys(parseYaml(Array.from({ length: 40_000 }, (_, i) => `k${i}: v`).join("\n")) as object),
    ).toHaveLength(40_000);
  });
});
