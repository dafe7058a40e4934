import { describe, expect, test } from "vitest";
import { warningHeaders } from "../../../../../src/cluster/apiserver/endpoints/responsewriters/warnings.js";

describe("Warning headers", () => {
  test("each text once, quoted, as the bytes of UTF-8, without control characters", () => {
    const utf8 = Buffer.from("日本").toString("latin1");
    expect(warningHeaders(['unknown field "a\\b"', 'unknown field "a\\b"', "日本\u0001\n!"])).toEqual([
      '299 - "unknown field \\"a\\\\b\\""',
      `299 - "${utf8} !"`,
    ]);
  });

  test("within the limit texts stay whole", () => {
    expect(warningHeaders(["x".repeat(4096)])[0]).toHaveLength(4096 + '299 - ""'.length);
  });

  test("beyond it each is cut to 256 characters, and the last ones are dropped", () => {
    const headers = warningHeaders(Array.from({ length: 100 }, (_, i) => `${i}`.padEnd(300, "x")));
    expect(headers).toHaveLength(16);
    expect(new Set(headers.map((one) => one.length))).toEqual(new Set([256 + '299 - ""'.length]));
    expect(warningHeaders(Array.from({ length: 1000 }, (_, i) => `field ${i}`)).join("").length).toBeLessThan(9000);
  });
});
