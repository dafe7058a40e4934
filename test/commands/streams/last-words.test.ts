import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "vitest";
import { runRemote } from "../../../src/commands/streams/remote.js";
import type { Status } from "../../../src/staging/apimachinery/api/meta.js";
import { acceptSpdy } from "../../../src/staging/streaming/spdy/accept.js";
import { SpdyConnection } from "../../../src/staging/streaming/spdy/connection.js";
import { SystemClock } from "../../../src/util/clock.js";
import { LabError } from "../../../src/util/errors.js";
import { SystemRandom } from "../../../src/util/random.js";
import { startUpgradeServer } from "../../staging/streaming/support/upgrade-server.js";
import { FakeClock, untilTrue } from "../../support/fake-clock.js";
import { only, recordingTrace } from "../../support/trace.js";

const clock = new SystemClock();
const EXIT_7: Status = {
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Failure",
  reason: "NonZeroExitCode",
  message: "command terminated with non-zero exit code: exit status 7",
  details: { causes: [{ reason: "ExitCode", message: "7" }] },
};

/** A command whose server sends `status`, or nothing, and resets the connection with its outputs open and its input unread. */
async function run(status: Status | undefined) {
  await using server = await startUpgradeServer(async (request, socket, head) => {
    acceptSpdy(request, socket, ["v4.channel.k8s.io"]);
    const connection = new SpdyConnection(socket, "server", { clock }, { head });
    let count = 0;
    for await (const stream of connection.streams) {
      stream.accept();
      const type = stream.headers["streamtype"];
      if (type === "stdout") await stream.write(Buffer.from("y\n"));
      if (type === "error" && status !== undefined) {
        await stream.write(Buffer.from(JSON.stringify(status)));
        await stream.end();
      }
      if (++count === 4) break;
    }
    await new Promise<void>((resolve) => setImmediate(resolve));
    socket.destroy();
  });
  const { trace } = recordingTrace(clock);
  const client = { config: { server: server.url }, clock, random: new SystemRandom(), trace, story: undefined };
  const options = { stdin: true, stdout: true, stderr: true, tty: false };
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
  streams.stdin.write(Buffer.alloc(1 << 20));
  const request = { path: "/exec", options, protocols: ["spdy"], showsFrames: false } as const;
  const end = await runRemote(client, request, streams, new AbortController().signal);
  return { end, stdout: String(streams.stdout.read()) };
}

test("a status that has come is how the command ended, whatever becomes of the connection", async () => {
  const { end, stdout } = await run(EXIT_7);
  assert.equal(end.exitCode, 7);
  assert.equal(stdout, "y\n");
});

test("a connection that breaks without a status is a failure", async () => {
  await assert.rejects(run(undefined), (error) => error instanceof LabError && error.code === "FAILED");
});

test("outputs that end without a status: the reason is printed after five seconds, and the wait can be interrupted", async () => {
  await using server = await startUpgradeServer(async (request, socket, head) => {
    acceptSpdy(request, socket, ["v4.channel.k8s.io"]);
    for await (const stream of new SpdyConnection(socket, "server", { clock }, { head }).streams) {
      stream.accept();
      if (/^std(out|err)$/.test(stream.headers["streamtype"] ?? "")) await stream.end();
    }
  });
  const fake = new FakeClock();
  const { trace, events } = recordingTrace(fake);
  const client = { config: { server: server.url }, clock: fake, random: new SystemRandom(), trace, story: undefined };
  const options = { stdin: true, stdout: true, stderr: true, tty: false };
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
  const stop = new AbortController();
  const request = { path: "/exec", options, protocols: ["spdy"], showsFrames: false } as const;
  const running = runRemote(client, request, streams, stop.signal);
  const isBroken = assert.rejects(running, { name: "AbortError" });
  const told = () => only(events, "note").some(({ text }) => /but not how the command ended/.test(text));
  // Before it is connected, the time limit of its streams' answers applies.
  await untilTrue(() => only(events, "request").length === 1 && fake.sleeping === 1);
  await fake.advance(4_999);
  assert.equal(told(), false);
  await fake.advance(1);
  assert.equal(told(), true);
  stop.abort();
  await untilTrue(() => fake.sleeping === 1);
  await fake.advance(1_000);
  await isBroken;
});
