import assert from "node:assert/strict";
import { afterEach, beforeAll, test } from "vitest";
import { utilityArguments } from "../../../src/cluster/shell/utility/arguments.js";
import { shortUsage } from "../../support/short-usage.js";
import { loadPrograms, RuntimeLab } from "../runtime/lab.js";

let lab = new RuntimeLab();
beforeAll(loadPrograms);
afterEach(() => {
  lab.stop();
  lab = new RuntimeLab();
});

/** A script, and what busybox 1.35 prints on both streams. */
const ROWS: readonly (readonly [script: string, output: string])[] = [
  ["echo 1 2 3 | xargs -n 2 echo x", "x 1 2\nx 3\n"],
  ["printf 'a b\\nc\\n' | xargs -I% echo '<%>'", "<a b>\n<c>\n"],
  ["printf '1\\n2\\n3\\n' | xargs -P2 -n1 echo | tr '\\n' ' ' | wc -c", "6\n"],
  ["echo \"a 'b c' d\" | xargs -n1", "a\nb c\nd\n"],
  ["printf 'a\\0b' | xargs -0 -n1 echo", "a\nb\n"],
  ["xargs < /dev/null; xargs -r echo x < /dev/null", "\n"],
  ["echo x | xargs -t echo", "echo x\nx\n"],
  ["echo x | xargs nope; echo $?", "xargs: nope: No such file or directory\n127\n"],
  ["echo x | xargs false; echo $?", "123\n"],
  ["echo a b | xargs sh -c 'echo $0 $1'", "a b\n"],
  ["echo x | xargs -Z", "xargs: invalid option -- 'Z'\n<usage xargs>\n"],
  ["date -u -d @0", "Thu Jan  1 00:00:00 UTC 1970\n"],
  ["date -u -d '2020-01-31 10:20' +%s; date -d 202001311020.30 -u", "1580466000\nFri Jan 31 10:20:30 UTC 2020\n"],
  ["date -d 10:20 +%F,%R", "2026-01-01,10:20\n"],
  [
    "date -d @1600000000 -Iseconds; date -d @1600000000 -I; date -d @1600000000 -R",
    "2020-09-13T12:26:40+00:00\n2020-09-13\nSun, 13 Sep 2020 12:26:40 +0000\n",
  ],
  ["touch -d 2020-02-03 f; date -r f +%F; date -r nope", "2020-02-03\ndate: nope: No such file or directory\n"],
  ["date -d nonsense; date -Z", "date: invalid date 'nonsense'\ndate: invalid option -- 'Z'\n<usage date>\n"],
  ["date -s 2020-01-01", "date: can't set date: Operation not permitted\n"],
  ["seq -w 8 10; seq -s, 3; seq 3 -1 1; seq -s ' ' -1 1", "08\n09\n10\n1,2,3\n3\n2\n1\n-1 0 1\n"],
  [
    "timeout 5 true; echo $?; timeout 1 nope; echo $?",
    "0\ntimeout: can't execute 'nope': No such file or directory\n127\n",
  ],
  ["vi f", "vi: kubelab has no screen editor: use sed -i, or kubectl cp\n"],
  ["env nope", "env: can't execute 'nope': No such file or directory\n"],
  ["echo 1 > a; echo 2 > b; head -q a b; head a b; head -v a", "1\n2\n==> a <==\n1\n\n==> b <==\n2\n==> a <==\n1\n"],
  ["echo 1 > a; echo 2 > b; tail -n1 a b; tail -q -n1 a b", "==> a <==\n1\n\n==> b <==\n2\n1\n2\n"],
  ["echo 1 > a; wc -l a a", "        1 a\n        1 a\n        2 total\n"],
  ["printf 'a\\nb\\nc\\n' > f; head -n -1 f; head -n -9 f; head -c -3 f; printf 'a\\nb' | head -n -1", "a\nb\na\nba\n"],
  ["printf 1 > a; printf 333 > b; printf 22 > c; ls -S; ls -rS; ls -S a b", "b\nc\na\na\nc\nb\nb\na\n"],
  ["touch -d 2020-01-01 a; touch -d 2021-01-01 b; touch -d 2019-01-01 c; ls -t; ls -tr", "b\na\nc\nc\na\nb\n"],
  [
    "mkdir d; touch f x; chmod +x x; ln -s f l; ls -F; ls -p; ls -Fd d; ls -F l",
    "d/\nf\nl@\nx*\nd/\nf\nl\nx\nd/\nl@\n",
  ],
  ["mkdir d; ls -lF | cut -c1-10,57-; ls -lp d", "total 4\ndrwxr-xr-x d/\ntotal 0\n"],
  ["touch f g; ln -s f l; [ f -ef l ] && echo same; test f -ef g || test f -ef nope || echo other", "same\nother\n"],
  ["grep -s a nope; echo $?; grep -sh a nope; echo $?", "2\n2\n"],
  ["printf 'x\\0a\\nb\\0' | sort -z | tr '\\0\\n' '|/'; printf 'a\\0b\\0' | sort -rz | tr '\\0' '|'", "a/b|x|b|a|"],
  ["echo a > f; cp f g; sed -i.bak s/a/b/ f g; cat f g f.bak g.bak; ls", "b\nb\na\na\nf\nf.bak\ng\ng.bak\n"],
  ["echo a > f; sed -n -i.o -e s/a/b/p f; cat f f.o", "b\na\n"],
  [
    "echo a > f; mkdir -p d/x; echo b > d/x/g; du -k f; du -m f; du d; du -s d f; du -ah d/x",
    "4\tf\n1\tf\n8\td/x\n12\td\n12\td\n4\tf\n4.0K\td/x/g\n8.0K\td/x\n",
  ],
  ["du nope; echo $?; touch f g; du -c f g", "du: nope: No such file or directory\n1\n0\tf\n0\tg\n0\ttotal\n"],
  [
    "printf 'ab1\\nab2\\nac3\\n' > u; uniq -w2 u; uniq -cw2 u; uniq -w1 -d u; uniq -w 2 -u u",
    "ab1\nac3\n      2 ab1\n      1 ac3\nab1\nac3\n",
  ],
  [
    "printf 'a x\\nb x\\nc y\\n' | uniq -f 1; printf 'a\\nA\\nb' | uniq -i; printf 'x1\\ny1\\n' | uniq -s1 - o; cat o",
    "a x\nc y\na\nb\nx1\n",
  ],
  [
    "ln -s f l; touch -d 2020-02-03 f; chmod 600 f; chown 33:33 f; cp -a f l g 2>&1; mkdir d; cp -a f l d; stat -c %a:%u:%g:%y d/f; readlink d/l",
    "cp: can't create 'g/f': No such file or directory\ncp: can't create 'g/l': No such file or directory\n600:33:33:2020-02-03 00:00:00.000000000 +0000\nf\n",
  ],
  [
    "mkdir d e; echo 1 > d/f; cp -a d/. e; cp -r d e; find e | sort; cp d x; cp -r d d/z",
    "e\ne/d\ne/d/f\ne/f\ncp: omitting directory 'd'\ncp: recursion detected, omitting directory 'd/z'\n",
  ],
  [
    "echo 1 > f; cp f f; cp f nope/x; cp nope f; echo $?; echo 2 > g; cp -n f g; cp -u f g; cat g; cp -fv f g",
    "cp: 'f' and 'f' are the same file\ncp: can't create 'nope/x': No such file or directory\ncp: can't stat 'nope': No such file or directory\n1\n2\n'f' -> 'g'\n",
  ],
  [
    "touch f; ln -s f l; mkdir d; find . -type l; find . ! -type l -name l; find . -type d -o -type l | sort",
    "./l\n.\n./d\n./l\n",
  ],
  [
    "touch f; touch -d '2025-12-31 23:50' g; find . -type f -mmin -5; find . -mmin +9; find . -mmin 10; find . -mtime 0 -name g; find . -mtime +0 -type f",
    "./f\n./g\n./g\n./g\n",
  ],
  [
    "touch a b; chown 1000:3000 a; ln -s a l; chown -h 5:6 l; mkdir d; find . -user 1000; find . -user 5; find . -group 3000; find . -group root | sort; find . ! -user root -o -name d | sort",
    "./a\n./l\n./a\n.\n./b\n./d\n./a\n./d\n./l\n",
  ],
  [
    "touch a b; chown 1000:0 a; chown 0:3000 b; find . -nouser; find . -nogroup; find . -nouser -o -nogroup | sort; find . -user root -group 3000",
    "./a\n./b\n./a\n./b\n./b\n",
  ],
  [
    "touch a b; chmod 4755 b; mkdir d; for p in -4000 /6000 +6000 -u+x 4755 755 -0 /0; do echo $p $(find a b d -perm $p); done; find a b -perm u=rw,go=r",
    "-4000 b\n/6000 b\n+6000 b\n-u+x b d\n4755 b\n755 d\n-0 a b d\n/0\na\n",
  ],
  [
    "find . -user nope; echo $?; find . -group nope; find . -user +5; find . -user; find . -perm zz; find . -perm -99; find . -perm; find . -user 0 -exec ls",
    "find: unknown user nope\n1\nfind: unknown group nope\nfind: unknown user +5\nfind: -user requires an argument\nfind: invalid mode 'zz'\nfind: invalid mode '99'\nfind: -perm requires an argument\nfind: -exec requires an argument\n",
  ],
  [
    "touch a b; chmod 640 a; find . -type f -exec chown 5 {} ';' -exec echo 'x{}y{}' {} ';' -print0 | tr '\\0' '|'; find . -user 5 -perm 640 -exec stat -c %u:%a {} +; find b -exec nope ';'; echo $?; find a b -exec false {} +; echo $?",
    "x./ay./a ./a\n./a|x./by./b ./b\n./b|5:640\nfind: nope: No such file or directory\n0\n1\n",
  ],
  [
    "printf '1\\n2\\n' | while read n; do find . -exec echo $n {} ';'; done; echo in | find . -exec cat ';'",
    "1 .\n2 .\nin\n",
  ],
  [
    "printf 'a\\nb\\n' > f; less f; cat f | more; more f nope; less -Z",
    "a\nb\na\nb\na\nb\nmore: can't open 'nope': No such file or directory\nless: invalid option -- 'Z'\n<usage less>\n",
  ],
  ["watch", "<usage watch>\n"],
  [
    "mkdir -p d/x e/x; echo 1 > d/f; echo 2 > e/f; echo 3 > e/x/g; echo 4 > d/o; diff -r d e; echo $?; diff -rq d e; diff -rN d/x e/x; diff -r d d; echo $?; diff -q d/ e",
    "--- d/f\n+++ e/f\n@@ -1 +1 @@\n-1\n+2\nOnly in d: o\nOnly in e: x/g\n1\nFiles d/f and e/f differ\nOnly in d: o\nOnly in e: x/g\n--- /dev/null\n+++ e/x/g\n@@ -0,0 +1 @@\n+3\n0\nFiles d/f and e/f differ\nOnly in d/: o\nCommon subdirectories: d/x and e/x\n",
  ],
  ["printf '%e\\n' 1.5", "1.500000e+00\n"],
];
for (const [script, output] of ROWS) {
  test(`flags: ${script}`, async () => {
    const result = await lab.sh(`mkdir /tmp/w; cd /tmp/w; { ${script}; } 2>&1`);
    assert.equal(shortUsage(result.stdout.toString()), output);
  });
}

test("timeout ends with the code of the program's signal", async () => {
  for (const [signal, code] of [
    ["TERM", 143],
    ["KILL", 137],
    ["INT", 130],
  ] as const) {
    const running = lab.sh(`timeout -s ${signal} 1 sleep 5; echo $?`);
    await lab.settle();
    await lab.clock.advance(1000);
    assert.equal((await running).stdout.toString(), `${code}\n`);
  }
});

const ARGUMENTS: readonly (readonly [name: string, given: string, want: string])[] = [
  ["awk", "-F. {print}", "-F\\. {print}"],
  ["cut", "-b1-3 f", "-c1-3 f"],
  ["sed", "1i\\hello f", "1i\\\nhello f"],
  ["sed", "s/a\\b/c/ f", "s/a\\b/c/ f"],
  ["grep", "-H a f", "a f /dev/null"],
  ["grep", "-Hn a f", "-n a f /dev/null"],
  ["grep", "-a -s a f", "a f"],
  ["grep", "-e a -e b f", "-e a\\|b f"],
  ["grep", "-E -e a -e b f", "-e a|b -E f"],
  ["sort", "-s a", "-s a"],
];
for (const [name, given, want] of ARGUMENTS) {
  test(`arguments for just-bash: ${name} ${given}`, () => {
    assert.equal(utilityArguments(name, given.split(" ")).join(" "), want);
  });
}
