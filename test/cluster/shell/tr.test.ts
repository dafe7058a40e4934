import assert from "node:assert/strict";
import { afterEach, beforeAll, test } from "vitest";
import { shortUsage } from "../../support/short-usage.js";
import { loadPrograms, RuntimeLab } from "../runtime/lab.js";

let lab = new RuntimeLab();
beforeAll(loadPrograms);
afterEach(() => {
  lab.stop();
  lab = new RuntimeLab();
});

/** Shell command, and the output of busybox 1.35. */
const TABLE: readonly (readonly [command: string, input: string, want: string])[] = [
  ["tr '\\0' x", "0a\\0\\n", "0ax\n"],
  ["tr '\\0' '\\n'", "A=1\\000B=2\\000", "A=1\nB=2\n"],
  ["tr '\\012' ' '", "a\\nb\\n", "a b "],
  ["tr -d '\\015'", "a\\r\\n", "a\n"],
  ["tr a '\\000'", "a0", "\x000"],
  ["tr '\\0141' x", "a1\\014", "axx"],
  ["tr '\\400' x", "a 0\\n", "axx\n"],
  ["tr '\\060-\\071' x", "a09/:", "axx/:"],
  ["tr '\\x41' y", "AB", "yB"],
  ["tr '\\n\\t\\\\' xyz", "\\n\\t\\\\", "xyz"],
  ["tr -d '\\8'", "8\\\\9", "9"],
  ["tr '\\' x", "a\\\\", "ax"],
  ["tr a-c A", "abcd", "AAAd"],
  ["tr c-a x", "abc", "abc"],
  ["tr a- xy", "a-b", "xyb"],
  ["tr '[a-c]' '[A-C]'", "[abcd]", "[ABCd]"],
  ["tr '[:lower:]' '[:upper:]'", "aZ1", "AZ1"],
  ["tr '[:foo:]' x", "f]g", "xxg"],
  ["tr '[=a=]' x", "a=", "x="],
  ["tr -c '[:alnum:]' '\\n'", "a-b", "a\nb"],
  ["tr -cd 'a-z\\n'", "a1B\\nc", "a\nc"],
  ["tr -s ' '", "a  b   c", "a b c"],
  ["tr -s ' ' '\\n'", "a  b", "a\nb"],
  ["tr -s a b", "aabbb", "b"],
  ["tr -ds a b", "abbac", "bc"],
  ["tr -ds a", "abbc", "bbc"],
  ["tr a", "abc", "abc"],
];
for (const [command, input, want] of TABLE) {
  test(`${command} of ${input}`, async () => {
    const { stdout, stderr, exitCode } = await lab.sh(`printf '${input}' | ${command}`);
    assert.equal(stdout.toString(), want, stderr.toString());
    assert.equal(exitCode, 0);
  });
}

const REFUSED = [
  ["tr", "<usage tr>\n"],
  ["tr a ''", "tr: STRING2 cannot be empty\n"],
  ["tr -q a b", "tr: invalid option -- 'q'\n<usage tr>\n"],
] as const;
for (const [command, want] of REFUSED) {
  test(`${command} is refused`, async () => {
    const { stderr, exitCode } = await lab.sh(command);
    assert.equal(shortUsage(stderr.toString()), want);
    assert.equal(exitCode, 1);
  });
}

test("tr copies each part of its input as it arrives, and squeezes across parts", async () => {
  const container = lab.run({ command: ["tr", "-s", "a", "b"], stdin: true });
  const output = lab.output(container);
  for (const want of ["b\n1b", "b\n1b2\n"]) {
    const text = want.length < 5 ? "a\n1a" : "a2\n";
    await container.running?.stdin?.writer.write(Buffer.from(text), new AbortController().signal);
    await lab.settle();
    assert.equal(output(), want);
  }
});

test("tr works on bytes", async () => {
  const { stdout } = await lab.sh("printf 'é' | tr '\\251' '\\377'");
  assert.deepEqual([...stdout], [0xc3, 0xff]);
});
