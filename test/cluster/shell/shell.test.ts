import assert from "node:assert/strict";
import { afterAll, beforeAll, test } from "vitest";
import { execSync } from "../../../src/cluster/runtime/calls/exec.js";
import type { Container } from "../../../src/cluster/runtime/state/container.js";
import { never, RuntimeLab } from "../runtime/lab.js";

const lab = new RuntimeLab();
let container: Container;
beforeAll(() => {
  container = lab.run({ command: ["sleep", "infinity"], envs: [{ key: "WHO", value: "the lab" }] });
});
afterAll(() => lab.stop());

// biome-ignore-start lint/suspicious/noTemplateCurlyInString: these are scripts of a shell
/** script, its stdout, its exit code if it is not 0 */
const SCRIPTS: readonly (readonly [string, string, number?])[] = [
  // words and quotes
  ["echo a  'b  c' \"d  $WHO\" \\$x", "a b  c d  the lab $x\n"],
  ['x="a b"; printf "[%s]" $x "$x"', "[a][b][a b]"],
  ['set -- "1 2" 3; printf "[%s]" "$@"; printf "[%s]" "$*"; printf "[%s]" $@; echo $#', "[1 2][3][1 2 3][1][2][3]2\n"],
  ['set --; printf "[%s]" "$@" x', "[x]"],
  ["IFS=:; x=a::b; printf '[%s]' $x", "[a][][b]"],
  ["echo {a,b}c {1..3} x={01..10..3} {*,$WHO}", "{a,b}c {1..3} x={01..10..3} {*,the lab}\n"],
  ["echo ~", "/root\n"],
  [
    "mkdir -p /tmp/g && cd /tmp/g && touch b.txt a.txt .h c.md && echo *.txt ? [ab]* nothing*",
    "a.txt b.txt ? a.txt b.txt nothing*\n",
  ],
  // parameters
  [
    "x=hello; echo ${x:-no} ${y:-yes} ${#x} ${x#he} ${x%lo} ${x##*l} ${x%%l*} ${x/l/L} ${x:1:3}",
    "hello yes 5 llo hel o he heLlo ell\n",
  ],
  ["echo ${y:=set} $y ${y:+alt} ${z:+none}", "set set alt\n"],
  ["(: ${nope:?is missing}) 2>&1; echo $?", "sh: nope: is missing\n2\n"],
  ["set -u; echo $nope", "", 2],
  ["readonly r=1; r=2; echo not here", "", 2],
  // arithmetic
  [
    "echo $((1 + 2 * 3)) $((7 / 2)) $((-7 % 3)) $((2 ** 10)) $((1 << 4 | 1)) $((3 > 2 && 0)) $((0x1f)) $((010))",
    "7 3 -1 1024 17 0 31 8\n",
  ],
  ["i=5; echo $((i++)) $i $((--i)) $((i += 2)) $((i > 3 ? 10 : 20))", "5 6 5 7 10\n"],
  ["x=9223372036854775807; echo $((x + 1))", "-9223372036854775808\n"],
  ["echo $((1 / 0))", "", 2],
  // numbers of 64 bits, as busybox 1.35 has them
  [
    "echo $((9007199254740993)) $((9223372036854775807 + 1)) $((9223372036854775808)) $((18446744073709551615))",
    "9007199254740993 -9223372036854775808 -9223372036854775808 -1\n",
  ],
  [
    "echo $((18446744073709551616)) $((0xffffffffffffffff)) $((0x1ffffffffffffffff)) $((01777777777777777777777))",
    "0 -1 0 -1\n",
  ],
  [
    "echo $((-9223372036854775808)) $((-9223372036854775808 / -1)) $((10#9007199254740993))",
    "-9223372036854775808 -9223372036854775808 9007199254740993\n",
  ],
  [
    "x=9007199254740993; y=99999999999999999999; z=-9223372036854775809; echo $((x)) $((y)) $((z)) $(($x+1))",
    "9007199254740993 0 9223372036854775807 9007199254740994\n",
  ],
  [
    "((i = 9007199254740993)); let j=9007199254740993+1; echo $i $j $(( $(echo 9007199254740993) + 9007199254740993 ))",
    "9007199254740993 9007199254740994 18014398509481986\n",
  ],
  ["for ((i=9007199254740993; i<9007199254740995; i++)); do echo $i; done", "9007199254740993\n9007199254740994\n"],
  ["a9007199254740993=7; echo $((a9007199254740993)) ${WHO:9007199254740993}.", "7 .\n"],
  ["[[ 9007199254740993 -gt 9007199254740992 ]] && [ 9007199254740993 -gt 9007199254740992 ] && echo yes", "yes\n"],
  ["[ 9223372036854775808 -gt 1 ]", "", 2],
  ["printf '%d %x\\n' 99999999999999999999 0xffffffffffffffff", "0 ffffffffffffffff\n", 1],
  ["seq 9007199254740991 9007199254740994", "9007199254740991\n9007199254740992\n9007199254740993\n9007199254740994\n"],
  [
    "seq 99999999999999999999 -1 99999999999999999998; seq 0.8 0.1 1; seq 3 1",
    "99999999999999999999\n99999999999999999998\n0.8\n0.9\n1.0\n",
  ],
  ["seq 1e17 1e17; seq nan", "100000000000000000\n", 1],
  // what only bash has
  ["a=(1 2)", "", 2],
  ["a[0]=1", "", 2],
  ["echo ${a[0]}", "", 2],
  ["echo ${!WHO}", "", 2],
  ["echo $((a[0]))", "", 2],
  ["cat <(echo substituted)", "substituted\n"],
  // control flow
  ["if false; then echo a; elif [ 1 -lt 2 ]; then echo b; else echo c; fi", "b\n"],
  ["for i in 1 2 3; do [ $i = 2 ] && continue; echo $i; done", "1\n3\n"],
  // words that look like assignments
  ['for i in a=1 "b" c+=$WHO \\\n  d[0]=x; do printf "[%s]" $i; done', "[a=1][b][c+=the][lab][d[0]=x]"],
  [
    'echo "$(x=1; for i in a=b c=d; do echo $i$x; done)" `for i in q=1; do echo $i; done` $(echo $(case a=b in (a=b) echo y;; esac))',
    "a=b1\nc=d1 q=1 y\n",
  ],
  ["case a=b in x|a=*) echo yes;; esac; cd /tmp; echo 1 > n=1; cat < n=1; x=2 sh -c 'echo $x'", "yes\n1\n2\n"],
  [
    "i=0; while :; do i=$((i+1)); [ $i -gt 3 ] && break; echo $i; done; until [ $i -eq 0 ]; do i=$((i-1)); done; echo $i",
    "1\n2\n3\n0\n",
  ],
  ["for ((i=0; i<3; i++)); do echo $i; done", "0\n1\n2\n"],
  ["for a in 1 2; do for b in 1 2; do [ $b = 2 ] && continue 2; echo $a$b; done; done", "11\n21\n"],
  ["case foo.txt in *.md) echo md;; f*|g*) echo match;; *) echo other;; esac", "match\n"],
  ["f() { local x=2; echo $1 $x; return 3; }; x=1; f arg; echo $? $x", "arg 2\n3 1\n"],
  ["f() { [ $1 -le 1 ] && echo 1 && return; echo $(( $1 * $(f $(( $1 - 1 ))) )); }; f 5", "120\n"],
  ["true && echo yes || echo no; false && echo yes || echo no; ! true; echo $?", "yes\nno\n1\n"],
  ["set -e; false; echo not here", "", 1],
  ["set -e; if false; then :; fi; false || true; ! true; echo here", "here\n"],
  ["exit 7; echo not here", "", 7],
  ["x=1; (x=2; echo $x); echo $x; { x=3; }; echo $x", "2\n1\n3\n"],
  ["[[ abc == a* && 3 -gt 2 ]] && echo yes; [[ abc =~ ^a.c$ ]] && echo re", "yes\nre\n"],
  // redirections and pipes
  ["echo out > /tmp/f; echo more >> /tmp/f; cat < /tmp/f; wc -l < /tmp/f", "out\nmore\n2\n"],
  ["{ echo o; echo e >&2; } 2>&1 | sort", "e\no\n"],
  ["cat <<EOF\nhi $WHO\nEOF\ncat <<'EOF'\nhi $WHO\nEOF\ncat <<< here", "hi the lab\nhi $WHO\nhere\n"],
  ["echo a > /dev/null; echo b > /dev/stdout; cat /dev/null; head -c 3 /dev/zero | wc -c", "b\n3\n"],
  ["exec 3> /tmp/fd; echo three >&3; exec 3>&-; cat /tmp/fd", "three\n"],
  ["echo x > /no/such/file; echo $?", "1\n"],
  ["seq 1000000 | head -n 2", "1\n2\n"],
  ["yes | head -n 3 | tr y n", "n\nn\nn\n"],
  ["false | true; echo $?; set -o pipefail; false | true; echo $?", "0\n1\n"],
  ["printf 'a b c\\nd e f\\n' | while read x y; do echo $y; done", "b c\ne f\n"],
  ["echo $(echo a; echo b) `echo c`", "a b c\n"],
  ["x=$(false); echo $?", "1\n"],
  // commands
  ["nosuchcommand; echo $?", "127\n"],
  ["touch /tmp/plain; /tmp/plain; echo $?", "126\n"],
  ["printf '#!/bin/sh\\necho script $1\\n' > /tmp/s.sh; chmod +x /tmp/s.sh; /tmp/s.sh arg", "script arg\n"],
  ["printf '%5d|%-5s|%05.1f|%x|%c|%b|%%\\n' 42 ab 3.14159 255 xyz 'a\\tb'", "   42|ab   |003.1|ff|x|a\tb|%\n"],
  ["printf '%s-%s\\n' 1 2 3", "1-2\n3-\n"],
  [
    "printf '\\303\\251\\xc3\\xa9\\n'; echo -e 'caf\\0303\\0251 \\xf0\\x9f\\x98\\x80'; printf '%b\\n' '\\303\\251'",
    "éé\ncafé 😀\né\n",
  ],
  ["printf '\\377' | wc -c; printf 'é😀\\200' | wc -c; echo -e '\\0377' | wc -c", "1\n7\n2\n"],
  ["test -f /etc/hosts && [ -d /etc ] && [ ! -e /nope ] && [ -n x -a -z '' ] && echo ok", "ok\n"],
  ["env -i A=1 env; A=2 sh -c 'echo $A'; echo ${A:-unset}", "A=1\n2\nunset\n"],
  ["type cd echo; command -v ls", "cd is a shell builtin\necho is a shell builtin\n/bin/ls\n"],
  ["while getopts ab:c o -a -b val -c; do echo $o$OPTARG; done", "a\nbval\ncval\n"],
  ["eval 'x=5; echo $x'; echo 'echo sourced $1' > /tmp/l.sh; . /tmp/l.sh yes", "5\nsourced yes\n"],
  ["cd /etc && pwd && cd - > /dev/null && pwd", "/etc\n/\n"],
  ["trap 'echo bye' EXIT; echo hi", "hi\nbye\n"],
  ["sh -c 'kill -TERM $$; echo not here'; echo $?", "143\n"],
  ["trap 'echo got it' USR1; kill -USR1 $$; echo after", "got it\nafter\n"],
  // just-bash's commands
  ["printf 'b\\na\\nb\\n' | sort | uniq -c | sed 's/^ *//'", "1 a\n2 b\n"],
  [
    "echo 1.2.3 | awk -F. '{print $2}'; echo '1|2|3' | awk -F '|' '{print $3}'; echo 1aa2 | awk -Faa '{print $2}'",
    "2\n3\n2\n",
  ],
  ["echo 'a,b,c' | cut -d, -f2; echo abc | awk '{print toupper($0)}'; echo foobar | grep -o 'o*b'", "b\nABC\noob\n"],
  [
    "echo hi > /tmp/x1; cp /tmp/x1 /tmp/x2; mv /tmp/x2 /tmp/x3; cat /tmp/x3; find /tmp -name 'x*' | sort",
    "hi\n/tmp/x1\n/tmp/x3\n",
  ],
  // jobs
  ["sleep 9 & jobs -p | wc -l; kill $(jobs -p); wait $!; echo $?", "1\n143\n"],
  ["sleep 9 & (jobs -p); kill $!", ""],
  // errors
  ["if true", "", 2],
  ["echo 'open", "", 2],
  // the parser loops forever on these
  ["echo $(( $x", "", 2],
  ['echo "${x:-$(( $x}"', "", 2],
];

/** the same for bash */
const BASH_SCRIPTS: typeof SCRIPTS = [
  ["echo {a,b}c {1..3} {10..1..-4}; x={1,2}; echo $x", "ac bc 1 2 3 10 6 2\n{1,2}\n"],
  ["echo {01..03} {-1..001}", "01 02 03 -01 000 001\n"],
  ["echo $((99999999999999999999)) $((0x1ffffffffffffffff))", "7766279631452241919 -1\n"],
  [
    "[[ pod-12 =~ -([0-9]+)$ ]] && echo ${BASH_REMATCH[1]} ${BASH_REMATCH[0]}; [[ a =~ b ]]; echo .${BASH_REMATCH[1]}.",
    "12 -12\n..\n",
  ],
  ["[[ `hostname` =~ ^(.*)$ ]]; [ ${BASH_REMATCH[1]} = $(hostname) ]; echo $?; env | grep -c MATCH", "0\n0\n"],
  // runs in just-bash as a whole
  ["a=(`hostname`); sh -c 'echo $1' - ${a[0]} >/dev/null; [ ${a[0]} = $HOSTNAME ]; echo $?", "0\n"],
  ["a=(x y z); echo ${a[1]} ${#a[@]}", "y 3\n"],
  ["a=(jq yq xan rg sqlite3 python3 html-to-markdown); for c in ${a[@]}; do $c; echo $?; done | sort -u", "127\n"],
  ["a=(b a); printf '%s\\n' ${a[@]} | sort | tr a-z A-Z | tee /tmp/s | wc -l; cat /tmp/s", "2\nA\nB\n"],
  ["bash -c 'echo {1..2}'; sh -c 'echo {1..2}'", "1 2\n{1..2}\n"],
];
// biome-ignore-end lint/suspicious/noTemplateCurlyInString: see above

/** what a shell prints on stderr before it ends */
const ERRORS: readonly (readonly [string, RegExp])[] = [
  ["echo $(( $x", /^sh: syntax error: not parsed in \d+ ms: a quote, an expansion or a command may be unterminated\n$/],
  ["a=(1 2)", /^sh: syntax error: unexpected "\("\n$/],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell substitutes it
  ["[[ a =~ a ]]; echo ${BASH_REMATCH[0]}", /^sh: syntax error: bad substitution\n$/],
  [
    "yes : | head -n 600000 > /tmp/long; sh /tmp/long",
    /^\/tmp\/long: script too large: 1200000 characters, this shell reads up to 1000000\n$/,
  ],
];

for (const [script, stderr] of ERRORS) {
  test(`sh -c ${JSON.stringify(script)}: ${stderr}`, async () => {
    const result = await lab.sh(script, container);
    assert.match(result.stderr.toString(), stderr);
    assert.equal(result.exitCode, 2);
  });
}

for (const [script, stdout] of BASH_SCRIPTS) {
  test(`bash -c ${JSON.stringify(script)}`, async () => {
    const { running } = lab.run({ image: { image: "nginx" }, command: ["sleep", "infinity"] });
    assert.ok(running !== undefined);
    const result = await execSync(running, { cmd: ["bash", "-c", script], timeout: 0n }, lab.clock, never);
    assert.equal(result.stdout.toString(), stdout, result.stderr.toString());
  });
}

for (const [script, stdout, exitCode = 0] of SCRIPTS) {
  test(`sh -c ${JSON.stringify(script)}`, async () => {
    const result = await lab.sh(script, container);
    assert.deepEqual(
      { stdout: result.stdout.toString(), exitCode: result.exitCode },
      { stdout, exitCode },
      result.stderr.toString(),
    );
  });
}
