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

/** Files `bin`, with bytes that are no text, and `abc`, a text; then a script and its output, as busybox 1.35 prints it. */
const FILES = "printf '\\377\\376\\000\\001\\200binary\\r\\n\\377' > bin; printf 'a b c\\nd e f\\ng h i\\n' > abc; ";
const BIN_MD5 = "d2902ed9e911c068e632bcfda02e2041  -\n";
const ROWS: readonly (readonly [script: string, stdout: string])[] = [
  ["gzip -c bin | gunzip | md5sum", BIN_MD5],
  ["gzip -9 bin; zcat bin.gz | md5sum; ls bin*", `${BIN_MD5}bin.gz\n`],
  ["gzip bin; gunzip bin.gz; md5sum < bin; ls bin*", `${BIN_MD5}bin\n`],
  ["head -c 300000 /dev/urandom > x; gzip -c x | gunzip | cmp - x && echo same", "same\n"],
  ["tar cz abc bin | tar tz", "abc\nbin\n"],
  ["tar cf - bin | gzip | gunzip | tar xOf - | md5sum", BIN_MD5],
  ["cat bin | md5sum; dd if=bin bs=3 2>/dev/null | md5sum; cat bin | tee y > z; md5sum < y", BIN_MD5.repeat(3)],
  ["base64 bin; base64 bin | base64 -d | md5sum; echo YWJjZGU | base64 -d", `//4AAYBiaW5hcnkNCv8=\n${BIN_MD5}abc`],
  ["base64 -w 8 bin", "//4AAYBi\naW5hcnkN\nCv8=\n"],
  [
    "wc bin; wc -c < bin; head -c 5 bin | wc -c; tail -c 5 bin | wc -c",
    "        1         1        14 bin\n14\n5\n5\n",
  ],
  [
    "cmp abc abc; cmp abc bin; cmp -s abc bin; echo $?; cmp -n 0 abc bin; echo $?; cmp -l abc bin | head -n 1",
    "abc bin differ: char 1, line 1\n1\n0\n1 141 377\n",
  ],
  ["printf x > x; cmp x empty; cmp x nope; echo $?", "2\n"],
  [
    "sha512sum bin | wc -c; md5sum bin > s; md5sum -c s; echo x >> bin; md5sum -c s; echo $?",
    "134\nbin: OK\nbin: FAILED\n1\n",
  ],
  ["od -c bin", "0000000 377 376  \\0 001 200   b   i   n   a   r   y  \\r  \\n 377\n0000016\n"],
  [
    "od -An -tx1 bin; od -A d -j 2 -N 4 -t d1 bin",
    " ff fe 00 01 80 62 69 6e 61 72 79 0d 0a ff\n0000002    0    1 -128   98\n0000006\n",
  ],
  ["od bin", "0000000 177377 000400 061200 067151 071141 006571 177412\n0000016\n"],
  ["od -An -N8 -tx8 /dev/zero; od -An -N4 -tu4 /dev/urandom | wc -w", " 0000000000000000\n1\n"],
  ["hexdump bin", "0000000 feff 0100 6280 6e69 7261 0d79 ff0a     \n000000e\n"],
  [
    "head -c 40 /dev/zero | hexdump -C | cat",
    `00000000  ${"00 ".repeat(8)} ${"00 ".repeat(8)} |................|\n*\n00000020  ${"00 ".repeat(8)}${" ".repeat(26)}|........|\n00000028\n`,
  ],
  [
    "cat -A bin; cat -n abc | head -n 1; printf '\\n\\tb\\n' | cat -bt",
    "M-^?M-~^@^AM-^@binary^M$\nM-^?     1\ta b c\n\n     1\t^Ib\n",
  ],
  [
    'x=$(printf \'\\377a\\303\'); printf %s "$x" | od -An -tx1; echo "$x" | od -An -tx1; echo -e "$x" | od -An -tx1; printf %s "$x" | wc -c',
    " ff 61 c3\n ff 61 c3 0a\n ff 61 c3 0a\n3\n",
  ],
  [
    'x=$(cat bin | tr -d \'\\r\\n\'); y=$(cat bin); printf %s "$x" | od -An -tx1; printf %s "$y" | wc -c; export x; printenv x | wc -c',
    " ff fe 01 80 62 69 6e 61 72 79 ff\n13\n12\n",
  ],
  [
    "read -r x < bin; printf '%s|' \"$x\" | od -An -tx1; printf 'x\\200\\n' > s; cat << e | od -An -tx1\n$(cat s)\ne\n",
    " ff fe 01 80 62 69 6e 61 72 79 0d 7c\n 78 80 0a\n",
  ],
  [
    "x=$(printf '\\377'); grep -c \"$x\" bin; env x=\"$x\" printenv x | od -An -tx1; printf '\\377 b' | xargs echo | od -An -tx1",
    "2\n ff 0a\n ff 20 62 0a\n",
  ],
  [
    "x=$(printf '\\377'); touch \"$x\"; ls | tr -d 'a-z\\n' | od -An -tx1; case $x in ?) echo one; esac; [ $x = $(printf '\\376') ] || echo differ",
    " ff\none\ndiffer\n",
  ],
  [
    "x=$(printf '\\303\\251\\355\\240\\200\\364\\220\\200'); printf %s \"$x\" | od -An -tx1; a=$(printf '\\303'); b=$(printf '\\251'); echo $a$b | od -An -tx1",
    " c3 a9 ed a0 80 f4 90 80\n c3 a9 0a\n",
  ],
  // Options may come after other words.
  ["head abc -n 1; ls abc -1; md5sum abc -b | wc -l", "a b c\nabc\n1\n"],
  ["head -c 100000 /dev/urandom | tr -dc a-z | head -c 10 | wc -c", "10\n"],
];
for (const [script, stdout] of ROWS) {
  test(`bytes: ${script}`, async () => {
    const result = await lab.sh(`cd /tmp; : > empty; ${FILES}${script}`);
    assert.equal(result.stdout.toString("latin1"), stdout, result.stderr.toString());
  });
}

const ERRORS: readonly (readonly [script: string, stderr: string])[] = [
  ["gzip -k abc; gzip abc", "gzip: can't open 'abc.gz': File exists\n"],
  ["gunzip -c abc", "gunzip: invalid magic\n"],
  ["gunzip abc", "gunzip: abc: unknown suffix - ignored\n"],
  ["gzip -c abc | head -c 10 | gunzip", "gunzip: unexpected end of file\n"],
  ["gunzip nope", "gunzip: nope: No such file or directory\n"],
  ["cmp abc empty", "cmp: EOF on empty\n"],
  ["base64 -w", "base64: option requires an argument -- 'w'\n<usage base64>\n"],
  ["md5sum nope", "md5sum: can't open 'nope': No such file or directory\n"],
];
for (const [script, stderr] of ERRORS) {
  test(`bytes: the error of ${script}`, async () => {
    const result = await lab.sh(`cd /tmp; : > empty; ${FILES}${script}`);
    assert.deepEqual([shortUsage(result.stderr.toString()), result.exitCode], [stderr, 1]);
  });
}
