import assert from "node:assert/strict";
import { afterEach, beforeAll, beforeEach, test } from "vitest";
import type { RunningContainer } from "../../../src/cluster/runtime/state/running.js";
import { PIDS_LIMIT } from "../../../src/cluster/shell/container-machine.js";
import { DEFAULT_HELD_BYTES } from "../../../src/cluster/shell/process/memory-account.js";
import { settle } from "../../support/fake-clock.js";
import { loadPrograms, never, RuntimeLab, stateOf } from "./lab.js";

/**
 * How a script ends: a container's state; `busy` or `idle`: it runs until it is signalled.
 * The second column is the script, the fourth what it prints, the fifth its shell if that is not sh.
 */
type Row = readonly [string, string, string, (RegExp | undefined)?, ("sh" | "bash")?];

const OOM = "exited (137, OOMKilled)";
const FORK = /can't fork: Resource temporarily unavailable/;

// biome-ignore-start lint/suspicious/noTemplateCurlyInString: these are scripts of a shell
const SCRIPTS: readonly Row[] = [
  // processes
  ["a fork bomb", ":(){ :|:& };:; sleep 100", "busy", FORK],
  ["a fork bomb of functions", "f() { f | f; }; f", "busy", FORK],
  ["endless background jobs", "while :; do sleep 1000 & done", "exited (2, Error)", FORK],
  ["a function in its own substitution", "f() { x=$(f); }; f", "exited (2, Error)", FORK],
  ["a subshell in a subshell", "f() { (f); }; f; echo $?", "exited (0, Completed)", FORK],
  ["jobs that end at once", "while :; do true & done", "busy"],
  ["exec of itself", "exec sh -c 'exec sh -c \"while :; do :; done\"'", "busy"],
  ["two busy subshells", "(while :; do :; done) & (while :; do :; done) & wait", "busy"],
  // loops
  ["while", "while :; do :; done", "busy"],
  ["until", "until false; do true; done", "busy"],
  ["for ((;;))", "for ((;;)); do :; done", "busy"],
  ["arithmetic", "while ((1)); do ((i++)); done", "busy"],
  ["a loop that ignores signals", "trap '' TERM INT; while :; do :; done", "busy"],
  [
    "a loop over many words",
    "for i in {1..100000}; do :; done; echo $i",
    "exited (0, Completed)",
    /^100000\n$/,
    "bash",
  ],
  ["sleep without end", "sleep 99999999999999999999999999", "idle"],
  ["sleep with a huge number", `sleep ${"9".repeat(1000)}`, "idle"],
  // recursion
  ["a function of itself", "f() { f; }; f", "exited (139, Error)"],
  ["eval of itself", `e='eval "$e"'; eval "$e"`, "exited (139, Error)"],
  ["a script that sources itself", "echo '. /tmp/s' > /tmp/s; . /tmp/s", "exited (139, Error)"],
  ["a variable that names itself", "x=y; y=x; echo $((x))", "exited (2, Error)", /recursion level exceeded/],
  ["locals of a recursion", "x=a; f() { local x=$x$x$x$x; f; }; f", OOM],
  // memory
  ["a variable that doubles", "x=a; while :; do x=$x$x; done", OOM],
  ["an empty variable that doubles", "while :; do x=$x$x; done", "busy"],
  ["a variable that grows", "x=aaaaaaaa; while :; do y=$y$x; x=$y; done", OOM],
  ["parameters that double", 'set -- a; while :; do set -- "$@" "$@"; done', OOM],
  ["many variables", "i=0; x=$(printf %04000d); while :; do i=$((i+1)); export v$i=$x; done", OOM],
  ["a line without end", "read x < /dev/zero", "busy"],
  ["a long line", "yes | tr -d '\\n' | while read x; do :; done", OOM],
  ["output without end", "x=$(yes)", OOM],
  ["zeros without end", "x=$(cat /dev/zero)", "busy"],
  ["a wide number", "printf '%0*d' 500000000 1 > /dev/null", "exited (0, Completed)"],
  ["a wide number in a variable", "x=$(printf '%0*d' 500000000 1)", OOM],
  ["a precise number", "printf '%.500000000d' 1", OOM],
  ["a range of a billion", "echo {1..1000000000}", OOM, undefined, "bash"],
  ["braces that double", `echo ${"{a,b}".repeat(24)}`, OOM, undefined, "bash"],
  ["a here document of variables", `x=$(printf %0500000d); cat <<EOF\n${"$x".repeat(20)}\nEOF`, OOM],
  ["replacements that grow", "x=$(printf %02000d); y=${x//0/$x}; z=${y//0/$x}", OOM],
  ["sort of ten gigabytes", "head -c 10G /dev/zero | sort", "exited (137, OOMKilled)"],
  // patterns
  ["a regular expression with nested repeats", `[[ ${"a".repeat(50)}b =~ ^(a+)+$ ]]`, "exited (1, Error)"],
  ["a regular expression of many states", "x=$(printf %01000000d); [[ $x =~ ([a0]{1,30}){1,30}[1-9] ]]", "idle"],
  [
    "a regular expression and a long text",
    "x=$(printf %0100000d)1; [[ $x =~ 0+1$ ]] && echo yes",
    "exited (0, Completed)",
    /yes/,
  ],
  ["a regular expression that is too large", "[[ x =~ (((x{1,100}){1,100}){1,100}){1,100} ]]", "exited (2, Error)"],
  [
    "case with many *",
    `case ${"a".repeat(50)} in *${"a*".repeat(30)}c) ;; *) echo no;; esac`,
    "exited (0, Completed)",
    /no/,
  ],
  [
    "a prefix with many *",
    `x=$(printf %0100000d); echo \${x##${"*0".repeat(30)}1} | wc -c`,
    "exited (0, Completed)",
    /100001/,
  ],
  ["a file name with many *", "cd /bin; echo *a*a*a*a*a*a*a*a*a*a*a*a*b", "exited (0, Completed)", /^\*a/],
  ["folders that contain themselves", `ln -s . a; ln -s . b; cd /; echo a${"/*".repeat(30)}`, "busy"],
  // commands of just-bash
  ["grep with nested repeats", `echo ${"a".repeat(50)}b | grep -E '^(a+)+$'`, "exited (1, Error)"],
  ["sed with nested repeats", `echo ${"a".repeat(50)} | sed 's/\\(a*\\)*b/x/'`, "exited (0, Completed)", /^a{50}$/m],
  ["awk without end", "awk 'BEGIN { while (1) {} }'", "idle"],
  ["awk with a hundred million fields", "awk 'BEGIN { $100000000 = 1 }'", OOM],
  ["awk with a hundred million fields by NF", "echo x | awk '{ NF = 100000000 }'", OOM],
  ["awk with a text that doubles", "awk 'BEGIN { x = \"a\"; while (1) x = x x }'", OOM],
  ["sed with a jump to itself", "echo x | sed ':a;ba'", "idle"],
  ["sed with a text that grows", "echo x | sed ':a;s/x/xx/;ta'", "idle"],
  ["a text that is too long for sort", "head -c 20000000 /dev/urandom | sort", OOM],
  ["a long text for sort", "seq 500000 | sort | wc -c", "exited (0, Completed)", /^3388895$/m],
  ["endless commands side by side", "for i in 1 2 3 4; do awk 'BEGIN { while (1) {} }' & done; wait", "idle"],
  ["an array that grows", "a=(); while :; do a+=(x); done", "idle", undefined, "bash"],
  ["an array with the largest index", "a[9007199254740992]=1; echo ${#a[@]}", "exited (0, Completed)", /^1$/m, "bash"],
  // scripts
  [
    "scripts that the parser never finishes",
    "for i in 1 2 3; do sh -c 'echo $(( $x'; done",
    "exited (2, Error)",
    /syntax error/,
  ],
  [
    "a script that is too long for an argument",
    'sh -c "$(printf %0200000d)"',
    "exited (126, Error)",
    /Argument list too/,
  ],
  [
    "a long script",
    "yes 'echo a | cat' | head -n 5000 > /tmp/s; sh /tmp/s | wc -l",
    "exited (0, Completed)",
    /^5000$/m,
  ],
  // numbers and sizes
  ["a power", "echo $((3 ** 99999999999))", "exited (0, Completed)", /^-?\d+\n$/],
  [
    "a number of many digits",
    `x=${"9".repeat(50_000)}; echo $((x)); printf '%d\\n' $x`,
    "exited (1, Error)",
    /^0\n0\nsh: invalid number '9{50000}'\n$/,
  ],
  ["a descriptor out of range", "exec 5000> /tmp/x", "exited (2, Error)", /5000: Bad file descriptor/],
  ["an argument that is too long", "/bin/echo $(printf %0200000d)", "exited (126, Error)", /Argument list too long/],
  // files and streams
  ["a file without end", "cat /dev/zero > /tmp/f", "exited (1, Error)", /ENOSPC|No space left/],
  [
    "files without end",
    "cd /tmp; i=0; while :; do i=$((i+1)); : > f$i || exit 7; done",
    "exited (1, Error)",
    /No space left on device/,
  ],
  ["a folder without bottom", "while :; do mkdir d || exit 5; cd d; done", "exited (5, Error)", /File name too long/],
  ["dd without end", "dd if=/dev/zero of=/dev/null", "busy"],
  ["dd of a huge block", "dd if=/dev/zero of=/tmp/f bs=100G count=1", "exited (1, Error)", /No space left on device/],
  ["links in a circle", "ln -s /x /y; ln -s /y /x; cat /x", "exited (1, Error)", /Too many levels of symbolic links/],
  ["servers on one port", "nc -l -p 80 & nc -l -p 80 & nc -l -p 80 & wait", "idle", /Address already in use/],
  ["seq to the log", "seq 1 1000000000", "busy"],
  ["yes to /dev/null", "yes | tr y n > /dev/null", "busy"],
  ["tee of zeros", "tee < /dev/zero > /dev/null", "busy"],
  ["wc of zeros", "wc -c < /dev/zero", "busy"],
  ["tail of zeros", "tail -c 100 /dev/zero", "busy"],
];
// biome-ignore-end lint/suspicious/noTemplateCurlyInString: see above

/** A script is busy once it has waited for its turn this often, or has waited for the log. */
const BUSY_WAITS = 20;
/** An exec elsewhere gets its turns at least every other time; loading the shell takes some. */
const MAX_TURNS_OF_EXEC = 60;

let lab = new RuntimeLab();
beforeAll(async () => {
  await loadPrograms();
  await import("re2js");
});
beforeEach(() => {
  lab = new RuntimeLab();
});
afterEach(() => lab.stop());

/** Declares one test for each script, or for each script of these names. */
export function testHostileScripts(names?: readonly string[]): void {
  for (const row of SCRIPTS.filter(([name]) => names?.includes(name) ?? true)) {
    test(`${row[0]}: ${row[2]}`, () => runHostileScript(row));
  }
}

async function runHostileScript([, script, end, printed, shell = "sh"]: Row): Promise<void> {
  const neighbour = lab.run({ command: ["sleep", "infinity"] });
  const image = { image: shell === "bash" ? "nginx" : "busybox" };
  const container = lab.run({ image, command: [shell, "-c", script] });
  const { running } = container;
  assert.ok(running !== undefined);
  const text = { out: lab.output(container), err: lab.output(container, "stderr") };
  const isEnough = () =>
    end === "busy" && isBusy(running, lab) && (printed === undefined || printed.test(text.out() + text.err()));
  for (let round = 0; container.isRunning && !isEnough() && !(end === "idle" && round > 20); round++) {
    await settle(1);
    await lab.clock.advance(10);
    assert.ok(running.machine.own.size <= PIDS_LIMIT, `${running.machine.own.size} processes`);
    assert.ok(running.machine.memory.heldBytes <= DEFAULT_HELD_BYTES, `${running.machine.memory.heldBytes} bytes`);
  }
  if (end === "busy" || end === "idle") {
    const { scheduler } = lab.core;
    const before = scheduler.turns;
    assert.equal((await lab.sh("echo here", neighbour)).stdout.toString(), "here\n");
    const turns = scheduler.turns - before;
    assert.ok(turns <= MAX_TURNS_OF_EXEC, `an exec in another container took ${turns} turns`);
    assert.equal(stateOf(container), "running", text.err());
    await lab.containers.stop(container, 0, never);
    assert.equal(stateOf(container), "exited (137, Error)");
  } else assert.equal(stateOf(container), end, text.err());
  if (printed !== undefined) assert.match(text.out() + text.err(), printed);
  await settle(5);
  assert.equal(running.machine.own.size, 0);
  assert.equal(running.machine.memory.heldBytes, 0);
}

function isBusy({ machine }: RunningContainer, { core }: RuntimeLab): boolean {
  return machine.cpu.waits >= BUSY_WAITS || (machine.cpu.usedUnits > 10_000 && core.scheduler.turns > 0);
}
