import assert from "node:assert/strict";
import { afterEach, beforeAll, test } from "vitest";
import type { RunningContainer } from "../../../../src/cluster/runtime/state/running.js";
import { serveExec } from "../../../../src/cluster/runtime/streaming/exec.js";
import { Pipe } from "../../../../src/cluster/shell/process/pipe.js";
import type { RemoteCommandOptions } from "../../../../src/staging/streaming/remote-command/session.js";
import { loadPrograms, RuntimeLab } from "../lab.js";
import { FakeSession } from "./fake-session.js";

let lab = new RuntimeLab();
beforeAll(loadPrograms);
afterEach(() => {
  lab.stop();
  lab = new RuntimeLab();
});

function running(): RunningContainer {
  const container = lab.run({ command: ["sleep", "infinity"] });
  assert.ok(container.running !== undefined);
  return container.running;
}

function start(cmd: readonly string[], options: Partial<RemoteCommandOptions> = {}, home = running()) {
  const session = new FakeSession(options);
  return { session, home, done: serveExec(session, home, cmd, "0123abcd") };
}

const start1 = "error executing command in container: failed to exec in container: failed to start exec";
const runc = "OCI runtime exec failed: exec failed: unable to start container process";

/** command; the client's stdout and stderr; the status message, "" for success */
const COMMANDS: readonly (readonly [readonly string[], string, string, string])[] = [
  [["echo", "hi"], "hi\n", "", ""],
  [["sh", "-c", "echo out; echo err >&2"], "out\n", "err\n", ""],
  [
    ["sh", "-c", "echo hi; exit 3"],
    "hi\n",
    "",
    "command terminated with non-zero exit code: error executing command [sh -c echo hi; exit 3], exit code 3",
  ],
  [
    ["sh", "-c", "kill -9 $$"],
    "",
    "",
    "command terminated with non-zero exit code: error executing command [sh -c kill -9 $$], exit code 137",
  ],
  [
    ["nosuch"],
    "",
    "",
    `Internal error occurred: ${start1} "0123abcd": ${runc}: exec: "nosuch": executable file not found in $PATH: unknown`,
  ],
  [
    ["/no/such"],
    "",
    "",
    `Internal error occurred: ${start1} "0123abcd": ${runc}: exec: "/no/such": stat /no/such: no such file or directory: unknown`,
  ],
  [
    ["/tmp"],
    "",
    "",
    `Internal error occurred: ${start1} "0123abcd": ${runc}: exec: "/tmp": permission denied: unknown`,
  ],
];

for (const [cmd, stdout, stderr, message] of COMMANDS) {
  test(`exec ${cmd.join(" ")}: ${message === "" ? "Success" : message.slice(0, 60)}`, async () => {
    const { session, done } = start(cmd);
    await done;
    assert.equal(session.stdout?.text, stdout);
    assert.equal(session.stderr?.text, stderr);
    assert.equal(session.status?.message ?? "", message);
    assert.ok(session.isClosed);
  });
}

test("exec: an exit code becomes the cause ExitCode, a failed start InternalError with code 500", async () => {
  const ended = start(["sh", "-c", "exit 42"]);
  await ended.done;
  assert.equal(ended.session.status?.reason, "NonZeroExitCode");
  assert.deepEqual(ended.session.status?.details, { causes: [{ reason: "ExitCode", message: "42" }] });
  const refused = start(["nosuch"]);
  await refused.done;
  assert.equal(refused.session.status?.reason, "InternalError");
  assert.equal(refused.session.status?.code, 500);
});

test("exec: a file that is not a program ends with 1, because runc notices it too late", async () => {
  const home = running();
  home.machine.fs.write("/tmp/data", Buffer.from("no program"), { mode: 0o755 });
  const { session, done } = start(["/tmp/data"], {}, home);
  await done;
  assert.equal(session.stderr?.text, "exec /tmp/data: exec format error\n");
  assert.equal(session.status?.details?.causes?.[0]?.message, "1");
});

test("exec: the end of stdin reaches the command", async () => {
  const { session, done } = start(["sh", "-c", "cat; echo end"], { stdin: true });
  session.type("one\n");
  await lab.settle();
  assert.equal(session.stdout?.text, "one\n");
  session.stdin?.end();
  await done;
  assert.equal(session.stdout?.text, "one\nend\n");
});

test("exec: without stdin the command's input is empty", async () => {
  const { session, done } = start(["cat"]);
  await done;
  assert.equal(session.status?.status, "Success");
});

test("exec: unread stdin does not block the command", async () => {
  const { session, done } = start(["sh", "-c", "exec 0<&-; echo done"], { stdin: true });
  for (let count = 0; count < 100; count++) session.stdin?.push(Buffer.alloc(65_536));
  await done;
  assert.equal(session.stdout?.text, "done\n");
});

test("exec: output ends when all its holders have closed it, not with the command", async () => {
  const { session, done } = start(["sh", "-c", "(sleep 5; echo late) & echo early"]);
  await lab.settle();
  assert.equal(session.stdout?.text, "early\n");
  assert.equal(session.status, undefined);
  await lab.clock.advance(5_000);
  await done;
  assert.equal(session.stdout?.text, "early\nlate\n");
});

const LEFT: readonly (readonly [readonly string[], boolean, Partial<RemoteCommandOptions>])[] = [
  // remaining processes, as with containerd 1.6 and runc
  [["sleep", "77"], true, {}],
  [["sleep", "77"], true, { stdin: true, tty: true }],
  [["sh"], true, { stdin: true, tty: true }],
  [["yes"], false, {}],
  [["cat"], false, { stdin: true }],
];

for (const [cmd, isLeft, options] of LEFT) {
  test(`exec: ${cmd.join(" ")}${options.tty === true ? " on a terminal" : ""} ${isLeft ? "goes on" : "ends"} when its client is gone`, async () => {
    const { session, home, done } = start(cmd, options);
    await lab.settle();
    assert.equal(home.machine.own.size, 2);
    session.leave();
    await done;
    await lab.settle();
    assert.equal(home.machine.own.size, isLeft ? 2 : 1);
    assert.equal(session.status, undefined);
    assert.ok(session.isClosed);
  });
}

test("exec: no timer and no process is left at the end", async () => {
  const home = running();
  const all = Array.from({ length: 200 }, (_, index) =>
    start(["sh", "-c", `echo ${index}; exit ${index % 3}`], {}, home),
  );
  await Promise.all(all.map(({ done }) => done));
  for (const [index, { session }] of all.entries()) {
    assert.equal(session.stdout?.text, `${index}\n`);
    assert.equal(session.status?.details?.causes?.[0]?.message, index % 3 === 0 ? undefined : String(index % 3));
  }
  assert.equal(home.machine.own.size, 1);
  assert.equal(lab.clock.sleeping, 0);
});

test("exec: a slow reader makes the command wait, and memory does not grow", async () => {
  const { session, done } = start(["head", "-c", "16777216", "/dev/zero"]);
  const client = session.stdout;
  assert.ok(client !== undefined);
  client.limit(1);
  for (let taken = 0; taken < 20; taken++) {
    await lab.settle();
    assert.equal(client.waitingWrites, 1, "one write waits, and nothing is read ahead for the next");
    client.limit(1);
  }
  assert.ok(client.length <= 21 * 65_536, `no more than was let through: ${client.length}`);
  client.limit(Number.POSITIVE_INFINITY);
  await done;
  assert.equal(client.length, 16_777_216);
});

test("exec: a command that reads slowly makes its client wait", async () => {
  const { session, home } = start(["sleep", "77"], { stdin: true });
  let taken = 0;
  const source = session.stdin;
  assert.ok(source !== undefined);
  for (let count = 0; count < 64; count++) source.push(Buffer.alloc(65_536));
  await lab.settle();
  taken = 64 * 65_536 - source.waitingBytes;
  assert.ok(taken <= 2 * 65_536, `${taken} bytes were taken for a command that reads none`);
  home.machine.processes.killAll();
});

test("a pipe holds little more than its capacity", async () => {
  const pipe = new Pipe();
  const never = new AbortController().signal;
  const waits = pipe.writer.write(Buffer.alloc(65_536), never);
  assert.ok(waits instanceof Promise);
  assert.equal((await pipe.reader.read(never))?.length, 65_536);
  await waits;
  for (const text of ["a", "b", "c"]) await pipe.writer.write(Buffer.from(text), never);
  assert.equal((await pipe.reader.read(never))?.toString(), "abc", "small pieces come at once");
});
