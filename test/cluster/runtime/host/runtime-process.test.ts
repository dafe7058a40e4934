import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, test } from "vitest";
import { crashReason } from "../../../../src/cluster/runtime/host/runtime-process.js";

describe("the reason of a crash is in what Node prints", () => {
  for (const [program, expected] of [
    ["throw new TypeError('wrong')", /^TypeError: wrong$/],
    ["Promise.reject(new RangeError('late'))", /^RangeError: late$/],
    ["Promise.reject(new DOMException('has ended', 'AbortError'))", /^DOMException \[AbortError\]: has ended$/],
    ["require('node:fs').readFileSync({})", /^TypeError \[ERR_INVALID_ARG_TYPE\]: The "path" argument/],
    ["Promise.reject('a text')", /^UnhandledPromiseRejection: .*"a text"/],
  ] as const) {
    test(program, () => {
      const { stderr } = spawnSync(process.execPath, ["-e", program], { encoding: "utf8" });
      assert.match(crashReason(stderr) ?? "", expected);
    });
  }

  test("a warning is not a reason", () => {
    assert.equal(crashReason("(node:1) Warning: Error: old\n    at Error: x\n"), undefined);
  });
});
