import assert from "node:assert/strict";
import { afterEach, beforeAll, test } from "vitest";
import { serveExec } from "../../../src/cluster/runtime/streaming/exec.js";
import { loadPrograms, RuntimeLab } from "../runtime/lab.js";
import { FakeSession } from "../runtime/streaming/fake-session.js";

let lab = new RuntimeLab();
beforeAll(async () => {
  await loadPrograms();
  await import("../../../src/cluster/shell/programs/files/pager.js");
});
afterEach(() => {
  lab.stop();
  lab = new RuntimeLab();
});

/** A command at a terminal of 40 by 4 characters. @returns what it shows after each key */
function open(command: string) {
  const { running } = lab.run({ command: ["sleep", "infinity"] });
  assert.ok(running !== undefined);
  const session = new FakeSession({ stdin: true, tty: true });
  session.sizes.push({ width: 40, height: 4 });
  const done = serveExec(session, running, ["sh", "-c", command], "0123");
  let seen = 0;
  const types = async (key: string) => {
    session.type(key);
    await lab.settle();
    const fresh = (session.stdout?.text ?? "").slice(seen);
    seen += fresh.length;
    return fresh;
  };
  return { types, done, session };
}

const CLEARED = "\r\x1b[K";

test("more at a terminal goes on by a page or a line, back, and ends at the end", async () => {
  const { types, done } = open("seq 8 | more; echo over");
  assert.equal(await types(""), "1\r\n2\r\n3\r\n--More-- (37%)");
  assert.equal(await types("\r"), `${CLEARED}4\r\n--More-- (50%)`);
  assert.equal(await types("b"), `${CLEARED}1\r\n2\r\n3\r\n--More-- (37%)`);
  assert.equal(await types(" "), `${CLEARED}4\r\n5\r\n6\r\n--More-- (75%)`);
  assert.equal(await types(" "), `${CLEARED}7\r\n8\r\nover\r\n`);
  await done;
});

test("less ends on q, also before its next file, and on ^C", async () => {
  const { types, done } = open("seq 9 > /tmp/f; less -N /tmp/f /tmp/f; echo over");
  assert.match(await types(""), /^ {6}1 1\r\n {6}2 2\r\n {6}3 3\r\n--More-- \(33%\)$/);
  assert.equal(await types("q"), `${CLEARED}over\r\n`);
  await done;
  const other = open("seq 9 | less");
  await other.types("");
  assert.match(await other.types("\x03"), /^(\^C)?$/);
  await other.done;
});

test("watch repeats a command until ^C", async () => {
  const { types, done } = open("watch -n 5 'echo $((2 * 3))'");
  const head = "\x1b[H\x1b[JEvery 5.0s: echo $((2026-01-01 00:00:0";
  assert.equal(await types(""), `${head}0\r\n\r\n6\r\n`);
  await lab.clock.advance(5000);
  assert.equal(await types(""), `${head}5\r\n\r\n6\r\n`);
  await types("\x03");
  await done;
});
