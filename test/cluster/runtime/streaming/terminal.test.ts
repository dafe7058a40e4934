import assert from "node:assert/strict";
import { afterEach, beforeAll, test } from "vitest";
import { serveExec } from "../../../../src/cluster/runtime/streaming/exec.js";
import { loadPrograms, RuntimeLab } from "../lab.js";
import { FakeSession } from "./fake-session.js";

let lab = new RuntimeLab();
beforeAll(async () => {
  await loadPrograms();
  await import("../../../../src/cluster/shell/language/interactive/interactive.js");
  await import("../../../../src/cluster/shell/programs/stty.js");
});
afterEach(() => {
  lab.stop();
  lab = new RuntimeLab();
});

/** A user at a terminal: types, and sees new output since the last call. */
class Person {
  readonly session = new FakeSession({ stdin: true, tty: true });
  readonly container = lab.run({ command: ["sleep", "infinity"] });
  readonly done: Promise<void>;
  #seen = 0;

  constructor(cmd: readonly string[]) {
    const { running } = this.container;
    assert.ok(running !== undefined);
    this.session.sizes.push({ width: 40, height: 10 });
    this.done = serveExec(this.session, running, cmd, "0123");
  }

  async sees(): Promise<string> {
    await lab.settle();
    const text = this.session.stdout?.text ?? "";
    const fresh = text.slice(this.#seen);
    this.#seen = text.length;
    return fresh;
  }

  async types(text: string): Promise<string> {
    this.session.type(text);
    return this.sees();
  }
}

test("a shell on a terminal: prompt, command, exit code", async () => {
  const person = new Person(["sh"]);
  assert.equal(await person.sees(), "/ # ");
  assert.equal(await person.types("echo hi\r"), "echo hi\r\nhi\r\n/ # ");
  assert.equal(await person.types("cd /tmp\r"), "cd /tmp\r\n/tmp # ");
  assert.equal(await person.types("cd; pwd\r"), "cd; pwd\r\n/root\r\n~ # ");
  assert.equal(await person.types("exit 3\r"), "exit 3\r\n");
  await person.done;
  assert.equal(person.session.status?.details?.causes?.[0]?.message, "3");
});

/** keys after the prompt; the resulting command, which prints itself */
const EDITS: readonly (readonly [string, string, string])[] = [
  ["backspace", "echo abx\x7fc\r", "abc"],
  ["left and insert", "echo ac\x1b[Db\r", "abc"],
  ["an application's arrows", "echo ac\x1bODb\r", "abc"],
  ["home and end", "cho abc\x1b[He\x1b[F!\r", "abc!"],
  ["^A and ^E", "cho abc\x01e\x05!\r", "abc!"],
  ["delete", "echo xabc\x1b[D\x1b[D\x1b[D\x1b[D\x1b[3~\r", "abc"],
  ["^D in a line deletes", "echo xabc\x1b[D\x1b[D\x1b[D\x1b[D\x04\r", "abc"],
  ["^U kills to the beginning", "nonsense\x15echo abc\r", "abc"],
  ["^K kills to the end", "echo abcdef\x1b[D\x1b[D\x1b[D\x0b\r", "abc"],
  ["^W kills a word", "echo abc def \x17\r", "abc"],
  ["a word to the left", "echo b c\x1b[1;5D\x1b[1;5Da \r", "a b c"],
  ["history, one up", "echo abc\r\x1b[A\r", "abc"],
  ["history, up and down again to what was typed", "echo xxx\recho abc\x1b[A\x1b[B\r", "abc"],
  ["history, two up", "echo abc\recho xxx\r\x1b[A\x1b[A\r", "abc"],
  ["a command is completed", "ech\tabc\r", "abc"],
  ["a file is completed", "echo /etc/host\t\r", "/etc/host"],
  ["a folder gets a slash", "echo /et\t\r", "/etc/"],
  ["wide characters", "echo 漢字x\x7f\r", "漢字"],
  ["two lines for one command", "echo a\\\rbc\r", "abc"],
  ["a pasted pair of lines", "echo xxx\necho abc\n", "abc"],
  ["a character in two pieces", "echo \u00e9\r", "é"],
];

for (const [what, keys, want] of EDITS) {
  test(`line editor: ${what}`, async () => {
    const person = new Person(["sh"]);
    await person.sees();
    // Byte by byte: escape sequences and characters arrive in pieces.
    for (const byte of Buffer.from(keys)) {
      person.session.stdin?.push(Uint8Array.of(byte));
      if (byte === 0x0d) await lab.settle();
    }
    const shown = await person.sees();
    const lines = shown.split("\r\n");
    assert.equal(lines.at(-2), want, JSON.stringify(shown));
    assert.equal(lines.at(-1), "/ # ");
  });
}

test("line editor: the bytes that it draws in the middle of a line", async () => {
  const person = new Person(["sh"]);
  await person.sees();
  assert.equal(await person.types("echo ac"), "echo ac");
  assert.equal(await person.types("\x1b[D"), "\b");
  assert.equal(await person.types("b"), "\x1b[6D\x1b[Jecho abc\b");
});

test("line editor: a line wider than the terminal continues below", async () => {
  const person = new Person(["sh"]);
  await person.sees();
  // 4 columns of prompt and 36 of text fill the terminal's 40.
  assert.equal(await person.types("a".repeat(36)), `${"a".repeat(36)} \b`);
  assert.equal(await person.types("b"), "b");
  // Back to the line above: up a line, and 39 to the right.
  assert.equal(await person.types("\x1b[D\x1b[D"), "\b\x1b[1A\x1b[39C");
});

test("two tabs list the choices", async () => {
  const person = new Person(["sh"]);
  await person.sees();
  const shown = await person.types("ls /etc/host\t\t");
  assert.match(shown, /hostname {2}hosts\r\n\/ # /);
});

test("^C: discards a line, ends a command, and the shell continues", async () => {
  const person = new Person(["sh"]);
  await person.sees();
  assert.equal(await person.types("rm -rf\x03"), "rm -rf^C\r\n/ # ");
  assert.equal(await person.types("echo $?\r"), "echo $?\r\n130\r\n/ # ");
  assert.equal(await person.types("sleep 100\r"), "sleep 100\r\n");
  assert.equal(await person.types("\x03"), "^C\r\n/ # ");
  assert.equal(await person.types("echo $?\r"), "echo $?\r\n130\r\n/ # ");
  assert.equal(lab.clock.sleeping, 0);
});

/** ^C must end all of it, not only the running command */
const LOOPS = [
  "while true; do sleep 1; done",
  "while :; do :; done",
  "for i in 1 2 3; do sleep 100; echo $i; done",
  "sleep 100; echo not this",
  "(sleep 100; echo nor this)",
  "sleep 100 | cat",
  "f() { sleep 100; echo nor this; }; f",
  "read x",
  "x=$(sleep 100)",
];

for (const loop of LOOPS) {
  test(`^C ends: ${loop}`, async () => {
    const person = new Person(["sh"]);
    await person.sees();
    await person.types(`${loop}\r`);
    assert.equal(await person.types("\x03"), "^C\r\n/ # ");
    assert.equal(await person.types("echo on\r"), "echo on\r\non\r\n/ # ");
  });
}

test("^C does not reach background commands", async () => {
  const person = new Person(["sh"]);
  await person.sees();
  await person.types("sleep 50 &\r");
  await person.types("sleep 100\r");
  await person.types("\x03");
  assert.equal(lab.clock.sleeping, 1);
});

test("^D at the beginning of a line ends the shell", async () => {
  const person = new Person(["sh"]);
  await person.sees();
  assert.equal(await person.types("false\r"), "false\r\n/ # ");
  assert.equal(await person.types("\x04"), "\r\n");
  await person.done;
  assert.equal(person.session.status?.details?.causes?.[0]?.message, "1");
});

test("a program that is not a shell gets lines, which the terminal edits", async () => {
  const person = new Person(["cat"]);
  await person.sees();
  assert.equal(await person.types("abx\x7fc\r"), "abx\b \bc\r\nabc\r\n");
  await person.types("\x04");
  await person.done;
  assert.equal(person.session.status?.status, "Success");
});

test("^C ends a program, and everything in a script's process group", async () => {
  const person = new Person(["sh", "-c", "sleep 100; echo not this"]);
  await person.sees();
  assert.equal(await person.types("\x03"), "^C");
  await person.done;
  assert.equal(person.session.status?.details?.causes?.[0]?.message, "130");
  assert.equal(lab.clock.sleeping, 0);
});

test("^C at a program with endless output: no more output appears", async () => {
  const person = new Person(["yes"]);
  person.session.stdout?.limit(20_000);
  await person.sees();
  await person.types("\x03");
  person.session.stdout?.limit(Number.POSITIVE_INFINITY);
  await person.done;
  assert.equal(person.session.status?.details?.causes?.[0]?.message, "130");
});

test("a terminal's size: stty, COLUMNS, and SIGWINCH", async () => {
  const person = new Person(["sh"]);
  await person.sees();
  assert.equal(await person.types("stty size\r"), "stty size\r\n10 40\r\n/ # ");
  assert.equal(await person.types("echo $COLUMNS $LINES\r"), "echo $COLUMNS $LINES\r\n40 10\r\n/ # ");
  await person.types("trap 'echo changed' WINCH\r");
  person.session.sizes.push({ width: 100, height: 30 });
  await lab.settle();
  assert.match(await person.types("stty size\r"), /30 100/);
});

/** scripts that print the terminal's size, on a terminal of 10 rows and 40 columns */
const SIZES: readonly (readonly [string, string])[] = [
  ["a substitution", "echo $(stty size)"],
  ["backquotes", "echo `stty size`"],
  ["words of it", 'set -- $(stty size); echo "$1 $2"'],
  ["quoted, with what follows", 'x="$(stty size 2>&1)"; echo "$x"'],
  ["the end of a pipe", "echo $(stty size | cat)"],
  ["a function's", "f() { stty size; }; echo $(f)"],
  ["of /dev/tty, behind a pipe", "echo | stty size < /dev/tty"],
  ["of /dev/tty, in a substitution", "echo $(echo | stty size < /dev/tty)"],
  ["written to /dev/tty", "echo $(stty size > /dev/tty) | cat > /dev/null"],
  ["in a subshell of a shell", "(sh -c 'echo $(stty size)')"],
];

for (const [name, script] of SIZES) {
  test(`a terminal's size in a script: ${name}`, async () => {
    const person = new Person(["sh", "-c", script]);
    await person.done;
    assert.equal(person.session.stdout?.text, "10 40\r\n");
  });
  test(`a terminal's size in a typed command: ${name}`, async () => {
    const person = new Person(["sh"]);
    await person.sees();
    assert.equal(await person.types(`${script}\r`).then((seen) => seen.includes("\r\n10 40\r\n")), true);
  });
}

test("/dev/tty cannot be opened without a terminal", async () => {
  const { running } = lab.run({ command: ["sleep", "infinity"] });
  assert.ok(running !== undefined);
  const session = new FakeSession({ stdin: false, tty: false });
  await serveExec(session, running, ["sh", "-c", "stty size < /dev/tty; echo $?"], "0123");
  assert.equal(session.stdout?.text, "1\n");
  assert.match(session.stderr?.text ?? "", /can't open \/dev\/tty: No such device or address/);
});

test("ls prints columns on a terminal, and lines elsewhere", async () => {
  const person = new Person(["sh"]);
  await person.sees();
  await person.types("mkdir /d; cd /d; touch a b c dddd eeeeeeeeeeeeee ffffffff\r");
  assert.equal(
    await person.types("ls\r"),
    "ls\r\na               dddd\r\nb               eeeeeeeeeeeeee\r\nc               ffffffff\r\n/d # ",
  );
  assert.equal(await person.types("ls | wc -l\r"), "ls | wc -l\r\n6\r\n/d # ");
});

test("stty turns the echo off and on, and tty names the terminal", async () => {
  const person = new Person(["sh", "-c", "stty -echo; read a; stty echo; read b; echo $a $b; tty"]);
  await person.sees();
  assert.equal(await person.types("secret\r"), "");
  assert.equal(await person.types("seen\r"), "seen\r\nsecret seen\r\n/dev/pts/0\r\n");
  await person.done;
});

test("read -s shows no echo", async () => {
  const person = new Person(["sh", "-c", "read -s a; read b; echo $a $b"]);
  await person.sees();
  assert.equal(await person.types("secret\r"), "");
  assert.equal(await person.types("seen\r"), "seen\r\nsecret seen\r\n");
});

test("programs that outlive their shell see the terminal hang up", async () => {
  const person = new Person(["sh"]);
  await person.sees();
  await person.types("sleep 60 &\r");
  await person.types("cat < /dev/zero > /dev/null &\r");
  await person.types("exit\r");
  await person.done;
  assert.equal(person.session.status?.status, "Success");
});

test("TERM is set on a terminal only", async () => {
  const person = new Person(["printenv", "TERM"]);
  await person.done;
  assert.equal(person.session.stdout?.text, "xterm\r\n");
});
