import assert from "node:assert/strict";
import { afterAll, test } from "vitest";
import { RuntimeLab } from "../runtime/lab.js";

const lab = new RuntimeLab();
afterAll(() => lab.stop());

/** Shell command, its stderr, its stdout: as of busybox 1.35, which prints no third line. */
const TABLE: readonly (readonly [command: string, stderr: string, stdout?: string])[] = [
  ["dd if=/dev/zero of=/tmp/z bs=1k count=3; wc -c < /tmp/z", "3+0 records in\n3+0 records out\n", "3072\n"],
  ["dd if=/dev/zero of=/tmp/z bs=1M count=2; wc -c < /tmp/z", "2+0 records in\n2+0 records out\n", "2097152\n"],
  ["printf abcdefg | dd", "0+1 records in\n0+1 records out\n", "abcdefg"],
  ["printf abcdefg | dd bs=4", "1+1 records in\n1+1 records out\n", "abcdefg"],
  ["printf abcdefg | dd bs=2 skip=1 count=2", "2+0 records in\n2+0 records out\n", "cdef"],
  ["printf abc > /tmp/s; dd if=/tmp/s bs=2 skip=10", "0+0 records in\n0+0 records out\n", ""],
  [
    "printf abcdefg > /tmp/s; printf xy | dd of=/tmp/s bs=1 seek=2; cat /tmp/s",
    "2+0 records in\n2+0 records out\n",
    "abxy",
  ],
  [
    "printf abcdefg > /tmp/s; printf xy | dd of=/tmp/s bs=1 seek=2 conv=notrunc; cat /tmp/s",
    "2+0 records in\n2+0 records out\n",
    "abxyefg",
  ],
  ["dd if=/dev/zero of=/dev/null bs=2kB count=1w", "2+0 records in\n2+0 records out\n"],
  [
    "dd if=/dev/zero of=/dev/full bs=1k count=2; echo $?",
    "dd: error writing '/dev/full': No space left on device\n1+0 records in\n0+0 records out\n",
    "1\n",
  ],
  ["dd if=/nope; echo $?", "dd: can't open '/nope': No such file or directory\n", "1\n"],
  ["dd of=/nope/x < /dev/null; echo $?", "dd: can't open '/nope/x': No such file or directory\n", "1\n"],
  ["dd bs=abc; echo $?", "dd: invalid number 'abc'\n", "1\n"],
  ["dd bs=0; echo $?", "dd: number 0 is not in 1..9223372036854775807 range\n", "1\n"],
  ["dd status=none if=/dev/zero of=/dev/null count=1", ""],
];

for (const [command, stderr, stdout = ""] of TABLE) {
  test(command, async () => {
    const result = await lab.sh(command);
    const records = result.stderr.toString().replace(/^\d+ bytes .* copied, .*\n/m, "");
    assert.deepEqual([records, result.stdout.toString()], [stderr, stdout]);
  });
}

test("dd reports bytes, seconds and speed", async () => {
  const { stderr } = await lab.sh("dd if=/dev/zero of=/dev/null bs=1k count=3");
  assert.equal(stderr.toString().split("\n")[2], "3072 bytes (3.0KB) copied, 0.001000 seconds, 2.9MB/s");
});
