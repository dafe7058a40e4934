import assert from "node:assert/strict";
import { afterEach, beforeAll, test } from "vitest";
import { serveAttach } from "../../../../src/cluster/runtime/streaming/attach.js";
import type { Init } from "../../../../src/staging/apimachinery/protobuf/fields.js";
import type { ContainerConfig } from "../../../../src/staging/cri/messages/container.js";
import type { RemoteCommandOptions } from "../../../../src/staging/streaming/remote-command/session.js";
import { loadPrograms, RuntimeLab, stateOf } from "../lab.js";
import { FakeSession } from "./fake-session.js";

let lab = new RuntimeLab();
beforeAll(async () => {
  await loadPrograms();
  await import("../../../../src/cluster/shell/language/interactive/interactive.js");
});
afterEach(() => {
  lab.stop();
  lab = new RuntimeLab();
});

function attach(config: Init<typeof ContainerConfig>, options: Partial<RemoteCommandOptions> = {}) {
  const container = lab.run(config);
  assert.ok(container.running !== undefined);
  const session = new FakeSession(options);
  return { container, session, done: serveAttach(session, container, container.running) };
}

const script = (text: string) => ({ command: ["sh", "-c", text] });

test("attach: both outputs from now on, and Success at the container's end, whatever its exit code", async () => {
  const { container, session, done } = attach(script("sleep 1; echo out; echo err >&2; exit 4"));
  await lab.settle();
  await lab.clock.advance(1_000);
  await done;
  assert.equal(session.stdout?.text, "out\n");
  assert.equal(session.stderr?.text, "err\n");
  assert.equal(session.status?.status, "Success");
  assert.equal(stateOf(container), "exited (4, Error)");
});

test("attach: with stdinOnce the end of the client's input ends the container's input", async () => {
  const { session, done } = attach({ ...script("cat; echo end"), stdin: true, stdinOnce: true }, { stdin: true });
  session.type("one\n");
  await lab.settle();
  session.stdin?.end();
  await done;
  assert.equal(session.stdout?.text, "one\nend\n");
  assert.equal(session.status?.status, "Success");
});

test("attach: without stdinOnce the end of the client's input detaches it, and the container keeps running", async () => {
  const { container, session, done } = attach({ ...script("cat; echo end"), stdin: true }, { stdin: true });
  session.type("one\n");
  await lab.settle();
  session.stdin?.end();
  await done;
  assert.equal(session.stdout?.text, "one\n");
  assert.equal(session.status?.status, "Success");
  assert.equal(stateOf(container), "running");
});

test("attach: a container without stdin ignores the client's input, and keeps it attached", async () => {
  const { session, done } = attach(script("sleep 1; echo out"), { stdin: true });
  session.type("ignored\n");
  session.stdin?.end();
  await lab.settle();
  assert.equal(session.status, undefined);
  await lab.clock.advance(1_000);
  await done;
  assert.equal(session.stdout?.text, "out\n");
});

test("attach: a client that disconnects leaves nothing behind, and the container keeps running", async () => {
  const { container, session, done } = attach(script("while :; do echo tick; sleep 1; done"));
  await lab.settle();
  session.leave();
  await done;
  assert.equal(session.status, undefined);
  await lab.clock.advance(5_000);
  assert.equal(stateOf(container), "running");
});

test("attach: a client that disconnects ends the input of a container with stdinOnce", async () => {
  const { container, session, done } = attach({ ...script("cat"), stdin: true, stdinOnce: true }, { stdin: true });
  await lab.settle();
  session.leave();
  await done;
  await lab.settle();
  assert.equal(stateOf(container), "exited (0, Completed)");
});

test("attach: a slow client slows the container down, until it disconnects", async () => {
  const { container, session, done } = attach({ command: ["sh", "-c", "head -c 10000000 /dev/zero; sleep 9"] });
  const { running } = container;
  assert.ok(running !== undefined);
  session.stdout?.limit(1);
  let written = 0;
  running.listen((_stream, bytes) => {
    written += bytes.length;
  });
  await lab.settle();
  await lab.clock.advance(1_000);
  assert.ok(written <= 4 * 65_536, `${written} bytes were written while the client took none`);
  session.leave();
  await done;
  await lab.clock.advance(5_000);
  assert.equal(written, 10_000_000);
});

test("attach: a shell on the container's own terminal, with its output in the log", async () => {
  const { container, session, done } = attach(
    { command: ["sh"], stdin: true, tty: true, stdinOnce: true },
    { stdin: true, tty: true },
  );
  session.sizes.push({ width: 90, height: 20 });
  await lab.settle();
  assert.equal(session.stdout?.text, "/ # ");
  session.type("stty size; exit 5\r");
  await done;
  assert.equal(session.stdout?.text, "/ # stty size; exit 5\r\n20 90\r\n");
  assert.equal(session.status?.status, "Success");
  assert.equal(stateOf(container), "exited (5, Error)");
});

test("attach: a client that disconnects from a terminal does not disturb the container and its shell", async () => {
  const { container, session, done } = attach({ command: ["sh"], stdin: true, tty: true }, { stdin: true, tty: true });
  await lab.settle();
  session.leave();
  await done;
  assert.equal(session.status, undefined);
  const { running } = container;
  assert.ok(running !== undefined);
  const next = new FakeSession({ stdin: true, tty: true });
  const again = serveAttach(next, container, running);
  next.type("echo again; exit\r");
  await again;
  assert.match(next.stdout?.text ?? "", /\r\nagain\r\n/);
});

test("attach: two clients see the same", async () => {
  const first = attach(script("sleep 1; echo out"));
  const { container } = first;
  assert.ok(container.running !== undefined);
  const second = new FakeSession();
  const done = serveAttach(second, container, container.running);
  await lab.settle();
  await lab.clock.advance(1_000);
  await Promise.all([first.done, done]);
  assert.equal(first.session.stdout?.text, "out\n");
  assert.equal(second.stdout?.text, "out\n");
});
