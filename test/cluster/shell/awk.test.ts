import assert from "node:assert/strict";
import { afterEach, beforeAll, test } from "vitest";
import { loadPrograms, RuntimeLab } from "../runtime/lab.js";

let lab = new RuntimeLab();
beforeAll(loadPrograms);
afterEach(() => {
  lab.stop();
  lab = new RuntimeLab();
});

/** A script, and what busybox 1.35 prints on both streams. */
const ROWS: readonly (readonly [script: string, output: string])[] = [
  [`echo a:b:c | awk '{n=split($0,p,":"); print n,p[2]}'`, "3 b\n"],
  [
    `echo 'a|b.c' | awk '{n=split($0,p,"|"); print n,p[2]; n=split("",p,":"); print n; n=split(" x  y ",p); print n,p[2]; n=split("aXXb",p,"XX"); print n,p[2]; n=split("a1b2",p,/[0-9]/); print n}'`,
    "2 b.c\n0\n2 y\n2 b\n3\n",
  ],
  [`echo 'a|b' | awk 'BEGIN{FS="|"} {print $2; n=split($0,p); print n}'`, "b\n2\n"],
  [`echo 'a-b_c' | awk 'BEGIN{FS="[-_]"} {n=split($0,p); print n}'`, "3\n"],
  [`echo 'a b' | awk -v OFS=- -v FS='|' '{$1=$1; print $0 OFS}'`, "a b-\n"],
  [`echo 'k v' | awk '{print $2 > "o_" $1}'; cat o_k`, "v\n"],
  [`printf 'a,b,c' | awk 'BEGIN{RS=","}{print NR": "$0}'`, "1: a\n2: b\n3: c\n"],
  [String.raw`printf 'a b\nc\n\n\nd\n' | awk -v RS= '{print NR": "$1"-"$NF}'`, "1: a-c\n2: d-d\n"],
  [String.raw`printf 'h\n1\n2\n' | awk 'BEGIN{getline; print "head " $0} {print NR, $0}'`, "head h\n2 1\n3 2\n"],
  [String.raw`printf 'h\n1\n2\n' > f; awk 'BEGIN{while ((getline l) > 0) n++; print n}' f`, "3\n"],
  [String.raw`printf 'ab\nabcd\n' | awk 'length > 3'`, "abcd\n"],
  [String.raw`printf 'ab\nabcd\n' | awk '{print length, length*2; if (length == 2) print "two"}'`, "2 4\ntwo\n4 8\n"],
  [
    `awk 'BEGIN{if ("a" "b" == "ab") print "same"; print ("a" "b" == "ab"); x = 1 " " 2 < 3; print x; print 1 " " 2, 3 " " (4 > 3)}'`,
    "same\n1\n1\n1 2 3 1\n",
  ],
  [
    `echo 'BEGIN { print "from file" }' > p.awk; awk -f p.awk; echo 'x y' | awk -F' ' -f - -v z=1 f < p.awk; awk -f nope`,
    "from file\nfrom file\nawk: can't open 'nope': No such file or directory\n",
  ],
  [String.raw`printf 'b\na\n' | awk '{print | "sort"} END {print "end"}'`, "end\na\nb\n"],
  [String.raw`printf 'b\na\n' | awk '{print | "sort"} END {close("sort"); print "end"}'`, "a\nb\nend\n"],
  [String.raw`printf 'b\na\n' | awk '{printf "%s\n", $1 | "sort -r"}'`, "b\na\n"],
  [`awk 'BEGIN{r=system("echo hi"); print r; r=system("exit 3"); print r}'`, "hi\n0\n3\n"],
  [`awk 'BEGIN{"echo x" | getline v; print v; close("echo x"); "echo x" | getline v; print v}'`, "x\nx\n"],
  [`awk 'BEGIN{nosuch(1)}'`, "awk: cmd. line:1: Call to undefined function\n"],
  [`awk 'BEGIN{print length("abc") length()}' </dev/null`, "30\n"],
  [
    String.raw`echo 'k=v' | grep -o '[^=]*$'; echo 'ab1' | grep -o '[0-9]*'; echo rc $?; echo abc | grep -o 'x*'; echo rc $?; printf 'a1\nb22\n' > t; grep -o '[0-9]*' t; grep -on '[0-9]*' t; grep -c '[0-9]*' t`,
    "v\n1\nrc 0\nrc 0\n1\n22\n1:1\n2:22\n2\n",
  ],
  [
    `awk 'BEGIN{print substr("hello",0,2), substr("hello",-1), substr("hello",2,100), index("abc","c"), toupper("a")}'`,
    "he hello ello 3 A\n",
  ],
  [String.raw`awk 'BEGIN { printf "%s %d\n", "a", 3 > "/dev/stdout" }'`, "a 3\n"],
  [`awk 'BEGIN { print "err" > "/dev/stderr" }'`, "err\n"],
  [String.raw`printf '3 a\n1 b\n' | awk '{a[$2]=$1} END{for (k in a) print k, a[k] | "sort"}'`, "a 3\nb 1\n"],
  [`awk 'BEGIN { print 1 > 2 }'; cat 2`, "1\n"],
  [
    `awk 'BEGIN{print strftime("%Y-%m-%d %H:%M:%S %j %a %b %p", 0), strftime("%F %T", 1e9), mktime("1970 01 02 00 00 00"), mktime("x")}'`,
    "1970-01-01 00:00:00 001 Thu Jan AM 2001-09-09 01:46:40 86400 -1\n",
  ],
  [
    `test "$(awk 'BEGIN{print systime()}')" = "$(date +%s)" && awk 'BEGIN{print strftime()}'`,
    "Thu Jan  1 00:00:00 UTC 2026\n",
  ],
  [
    `echo 2 10 | awk '{print ($1<$2), ("2"<"10"), ($1<"10"), ("2"<10), $1=="2.0", $1==2.0, substr("10",1)<9}'`,
    "1 0 0 0 0 1 1\n",
  ],
  [String.raw`printf 'a\nb\n' > f; awk '{print x, $0}' x=1 f x=2 f`, "1 a\n1 b\n2 a\n2 b\n"],
  [
    `echo a | awk 'BEGIN{print x} {print x} END{print x}' x=5 -; awk -vx=3 'END{print x y}' y=4 < /dev/null`,
    "\n5\n5\n34\n",
  ],
  [
    `awk 'function n(b){return length(b)} BEGIN{a["k"]; if ("k" in a) print "in"; print length(a), n(a), and(6,3), lshift(1,3)}'`,
    "in\n1 1 2 8\n",
  ],
  [`echo x | awk '{ print "a" }; END { print NR }'`, "a\n1\n"],
  [
    'awk \'BEGIN{x=0.1234567 ""; print x; CONVFMT="%.2g"; x=0.777 ""; print x; x = 17 ""; print x}\'; awk \'BEGIN{print 1==1.0, "a"<"b", 2<10, 100000000, 1/3}\'',
    "0.123457\n0.78\n17\n1 1 1 100000000 0.333333\n",
  ],
];
for (const [script, output] of ROWS) {
  test(`awk and grep: ${script}`, async () => {
    const result = await lab.sh(`mkdir /tmp/w; cd /tmp/w; { ${script}\n} 2>&1`);
    assert.equal(result.stdout.toString(), output);
  });
}
