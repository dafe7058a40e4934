import assert from "node:assert/strict";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished, test } from "vitest";
import { followClock, RemoteFollower } from "../../../src/testbed/time/follower.js";
import { readLines } from "../../../src/testbed/time/lines.js";
import { askTime } from "../../../src/testbed/time/serve.js";
import { SystemClock } from "../../../src/util/clock.js";

const { signal } = new AbortController();
const socketPath = (name: string) => join(tmpdir(), `kubelab-${name}-${process.pid}.sock`);

test("nobody at the socket: a command goes on with its own clock, and a question has no answer", async () => {
  const path = socketPath("nobody");
  using _following = await followClock(new SystemClock(), path);
  assert.equal(await askTime(path, { op: "timers" }, signal), undefined);
});

test("a process that follows shows the time, settles as often as it is asked, and may leave", async () => {
  const path = socketPath("follow");
  const clock = new SystemClock();
  clock.pause();
  let listeners = 0;
  const server = createServer((socket) => {
    void RemoteFollower.serve(clock, socket, skipFirst(readLines(socket)));
    listeners = socket.listenerCount("close");
    server.once("count", () => {
      listeners = socket.listenerCount("close") - listeners;
    });
  }).listen(path);
  onTestFinished(() => void server.close());
  const own = new SystemClock();
  const following = await followClock(own, path);
  assert.deepEqual([own.now(), own.isPaused], [clock.now(), true]);
  own.timer(500, () => {}, { what: "look", setBy: "a test" });
  const [follower] = clock.followers;
  for (let i = 0; i < 20; i++) assert.equal((await follower?.settle())?.timers[0]?.wait?.what, "look");
  server.emit("count");
  assert.ok(listeners <= 1, `${listeners} more listeners`);
  following[Symbol.dispose]();
  assert.deepEqual((await follower?.settle())?.timers, []);
});

/** The server of a clock reads the word `follow` itself. */
async function* skipFirst(lines: AsyncGenerator<unknown>): AsyncGenerator<unknown> {
  await lines.next();
  yield* lines;
}
