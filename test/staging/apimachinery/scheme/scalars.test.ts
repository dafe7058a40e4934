import { describe, expect, test } from "vitest";
import { base64Error, canonicalBase64 } from "../../../../src/staging/apimachinery/scheme/base64.js";
import { goFormat, goQuote } from "../../../../src/staging/apimachinery/scheme/go-text.js";
import { canonicalTime, RFC3339, RFC3339_MICRO } from "../../../../src/staging/apimachinery/scheme/go-time.js";
import { jsonSyntaxError } from "../../../../src/staging/apimachinery/scheme/json-syntax.js";

describe("times", () => {
  const good: [string, typeof RFC3339 | typeof RFC3339_MICRO, string | null][] = [
    ["2024-05-06T07:08:09Z", RFC3339, "2024-05-06T07:08:09Z"],
    ["2024-05-06T07:08:09.987654321Z", RFC3339, "2024-05-06T07:08:09Z"],
    ["2024-05-06T09:08:09+02:00", RFC3339, "2024-05-06T07:08:09Z"],
    ["2024-01-01T00:30:00+01:00", RFC3339, "2023-12-31T23:30:00Z"],
    ["2024-02-29T00:00:00Z", RFC3339, "2024-02-29T00:00:00Z"],
    ["0099-01-01T00:00:00Z", RFC3339, "0099-01-01T00:00:00Z"],
    ["0001-01-01T00:00:00Z", RFC3339, null],
    ["2024-05-06T07:08:09.500000Z", RFC3339_MICRO, "2024-05-06T07:08:09.500000Z"],
    ["2024-05-06T07:08:09.500000-01:30", RFC3339_MICRO, "2024-05-06T08:38:09.500000Z"],
    ["0001-01-01T00:00:00.000000Z", RFC3339_MICRO, null],
  ];
  for (const [text, layout, canonical] of good) {
    test(`${text} is ${canonical}`, () => expect(canonicalTime(text, layout)).toBe(canonical));
  }

  const asSeconds = 'as "2006-01-02T15:04:05Z07:00": cannot parse';
  const bad: [string, typeof RFC3339 | typeof RFC3339_MICRO, string][] = [
    ["yesterday", RFC3339, `parsing time "yesterday" ${asSeconds} "yesterday" as "2006"`],
    ["", RFC3339, `parsing time "" ${asSeconds} "" as "2006"`],
    ["2024-05-06 07:08:09", RFC3339, `parsing time "2024-05-06 07:08:09" ${asSeconds} " 07:08:09" as "T"`],
    ["2024-05-06", RFC3339, `parsing time "2024-05-06" ${asSeconds} "" as "T"`],
    ["2024-5-06T07:08:09Z", RFC3339, `parsing time "2024-5-06T07:08:09Z" ${asSeconds} "5-06T07:08:09Z" as "01"`],
    ["2024-13-06T07:08:09Z", RFC3339, 'parsing time "2024-13-06T07:08:09Z": out of range'],
    ["2023-02-29T07:08:09Z", RFC3339, 'parsing time "2023-02-29T07:08:09Z": out of range'],
    ["2024-05-06T24:08:09Z", RFC3339, 'parsing time "2024-05-06T24:08:09Z": out of range'],
    ["2024-05-06T07:08:09", RFC3339, `parsing time "2024-05-06T07:08:09" ${asSeconds} "" as "Z07:00"`],
    ["2024-05-06T07:08:09Zx", RFC3339, 'parsing time "2024-05-06T07:08:09Zx": extra text: "x"'],
    [
      "2024-05-06T07:08:09.123456789Z",
      RFC3339_MICRO,
      'parsing time "2024-05-06T07:08:09.123456789Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "789Z" as "Z07:00"',
    ],
  ];
  for (const [text, layout, message] of bad) {
    test(`refused: ${text}`, () => expect(() => canonicalTime(text, layout)).toThrow(message));
  }
});

describe("base64", () => {
  const table: [string, string | number][] = [
    ["YWJj", "YWJj"],
    ["YQ==", "YQ=="],
    ["YR==", "YQ=="],
    ["YWJj\nYWJj\n", "YWJjYWJj"],
    ["", ""],
    ["***", 0],
    ["YWJjY", 4],
    ["YWJ*", 3],
    ["YQ=", 2],
    ["YQ==YQ==", 2],
    ["=", 0],
    ["YW-_", 2],
  ];
  for (const [text, wanted] of table) {
    test(JSON.stringify(text), () => {
      if (typeof wanted === "string") expect(canonicalBase64(text)).toBe(wanted);
      else {
        expect(canonicalBase64(text)).toBeUndefined();
        expect(base64Error(text)).toBe(`illegal base64 data at input byte ${wanted}`);
      }
    });
  }
});

describe("Go's messages for invalid JSON", () => {
  const table: [string, string][] = [
    ["", "unexpected end of JSON input"],
    ["{", "unexpected end of JSON input"],
    ['{"kind": "Node", ', "unexpected end of JSON input"],
    ["{]", "invalid character ']' looking for beginning of object key string"],
    ['{"a" 1}', "invalid character '1' after object key"],
    ['{"a":1 "b":2}', "invalid character '\"' after object key:value pair"],
    ["[1 2]", "invalid character '2' after array element"],
    ["[1,]", "invalid character ']' looking for beginning of value"],
    ["{é", "invalid character 'Ã' looking for beginning of object key string"],
    ['"\\q"', "invalid character in string or numeric literal"],
    ["{}{", "invalid character '{' after top-level value"],
    ["apiVersion: v1", "invalid character 'a' looking for beginning of value"],
  ];
  for (const [text, message] of table) test(JSON.stringify(text), () => expect(jsonSyntaxError(text)).toBe(message));
});

describe("Go's texts", () => {
  test("%v of a document: maps sorted, nothing quoted", () => {
    expect(goFormat({ b: [1, "x", null], a: { c: true, d: 1.5 } })).toBe("map[a:map[c:true d:1.5] b:[1 x <nil>]]");
  });
  test("%q", () => expect(goQuote('a"b\\\n\t\u0001é')).toBe('"a\\"b\\\\\\n\\t\\x01é"'));
});
