import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { test } from "vitest";
import { spdyRemoteCommand } from "../../../src/staging/client-go/remotecommand/spdy.js";
import type { RemoteCommandOptions } from "../../../src/staging/streaming/remote-command/session.js";
import { acceptSpdyRemoteCommand } from "../../../src/staging/streaming/remote-command/spdy-server.js";
import { parseErrorStream } from "../../../src/staging/streaming/remote-command/status-text.js";
import { type ControlFrame, encodeDataHead } from "../../../src/staging/streaming/spdy/frames.js";
import { FakeClock } from "../../support/fake-clock.js";
import { MISSING_RECORDINGS } from "../../support/recordings.js";
import { type RawFrame, RawPeer, socketPair, textOf } from "./spdy-support.js";

/** A decoded frame of a recording. */
interface RecordedFrame {
  readonly from: "client" | "server";
  readonly frame: string;
  readonly stream?: number;
  readonly flags: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly status?: number;
  readonly lastStream?: number;
  readonly data?: string;
}

interface RecordedSession {
  readonly title: string;
  readonly path: string;
  readonly frames: readonly RecordedFrame[];
}

/** The recorded remote commands over SPDY that contain every frame up to the server's GOAWAY. */
function recordedCommands(topic: string): RecordedSession[] {
  const file = `../shared/recordings/apiserver-v1.25/${topic}.json`;
  if (!existsSync(file)) return [];
  const { items } = JSON.parse(readFileSync(file, "utf8")) as { items: unknown[] };
  return items.flatMap((item) => {
    const { name, requests = [] } = item as { name?: string; requests?: { path?: string; frames?: RecordedFrame[] }[] };
    if (!Array.isArray(requests)) return [];
    return requests.flatMap(({ path = "", frames = [] }) => {
      const isCommand = /\/(exec|attach)\?/.test(path);
      const isWhole = frames.some(({ frame, from }) => frame === "GOAWAY" && from === "server");
      // Longer payloads were recorded only in part.
      const isText = frames.every(({ data = "" }) => data.length < 300 && !data.startsWith("hex:"));
      return isCommand && isWhole && isText ? [{ title: `${topic}: ${name}`, path, frames }] : [];
    });
  });
}

const SESSIONS = ["kubectl-1.27-streams", "kubectl-1.32", "kubectl-1.33-streams"].flatMap(recordedCommands);

test.skipIf(MISSING_RECORDINGS !== undefined)("there are recordings to replay", () => {
  assert.ok(SESSIONS.length >= 17, `${SESSIONS.length}`);
});

function optionsOf(path: string): RemoteCommandOptions {
  const query = new URL(path, "http://x").searchParams;
  const has = (name: string) => query.get(name) === "true";
  return { stdin: has("stdin"), stdout: has("stdout"), stderr: has("stderr"), tty: has("tty") };
}

/** The bytes of a recorded frame; header blocks are compressed with the peer's compressor. */
function wireOf({
  frame,
  stream = 0,
  flags,
  headers = {},
  status = 0,
  lastStream = 0,
  data = "",
}: RecordedFrame): ControlFrame | Buffer {
  const fin = (flags & 1) !== 0;
  switch (frame) {
    case "SYN_STREAM":
      return { type: frame, streamId: stream, headers, fin, unidirectional: false };
    case "SYN_REPLY":
      return { type: frame, streamId: stream, headers, fin };
    case "RST_STREAM":
      return { type: frame, streamId: stream, status };
    case "GOAWAY":
      return { type: frame, lastStreamId: lastStream, status };
    case "DATA":
      return Buffer.concat([encodeDataHead(stream, Buffer.byteLength(data), fin), Buffer.from(data)]);
    default:
      throw new Error(`no ${frame} was expected`);
  }
}

const dataOf = (frames: readonly RecordedFrame[], stream: number | undefined) =>
  frames.map((one) => (one.frame === "DATA" && one.stream === stream ? (one.data ?? "") : "")).join("");

/** One line per frame; consecutive bytes of a stream are joined. */
function linesOf(frames: readonly RawFrame[]): string[] {
  const lines: string[] = [];
  for (const frame of frames) {
    if (frame.type === "SYN_STREAM") lines.push(`SYN_STREAM ${frame.streamId} ${JSON.stringify({ ...frame.headers })}`);
    else if (frame.type === "RST_STREAM") lines.push(`RST_STREAM ${frame.streamId} ${frame.status}`);
    else if (frame.type === "GOAWAY") lines.push(`GOAWAY ${frame.lastStreamId} ${frame.status}`);
    else if (frame.type === "DATA")
      lines.push(`DATA ${frame.streamId} ${frame.fin ? "FIN " : ""}${frame.bytes.toString()}`);
    else if ("streamId" in frame) lines.push(`${frame.type} ${frame.streamId}`);
  }
  return lines;
}

function recordedLines(frames: readonly RecordedFrame[], from: "client" | "server"): string[] {
  return frames.flatMap((one) => {
    if (one.from !== from) return [];
    const { stream, headers, status, lastStream, flags, data = "" } = one;
    if (one.frame === "SYN_STREAM") return [`SYN_STREAM ${stream} ${JSON.stringify(headers)}`];
    if (one.frame === "RST_STREAM") return [`RST_STREAM ${stream} ${status}`];
    if (one.frame === "GOAWAY") return [`GOAWAY ${lastStream} ${status}`];
    if (one.frame === "DATA") return [`DATA ${stream} ${flags === 1 ? "FIN " : ""}${data}`];
    return [`${one.frame} ${stream}`];
  });
}

/** Frames are ordered within a stream; the order between streams is random. */
const byStream = (lines: readonly string[]) =>
  [...lines].sort((a, b) => Number(a.split(" ")[1] ?? 0) - Number(b.split(" ")[1] ?? 0) || 0);

for (const { title, path, frames } of SESSIONS) {
  const streamOf = (type: string) =>
    frames.find(({ frame, headers }) => frame === "SYN_STREAM" && headers?.["streamtype"] === type)?.stream;
  const options = optionsOf(path);
  const sent = frames.filter(({ from }) => from === "server");

  test(`${title}: our server sends the frames that the kubelet sent`, async () => {
    const { near, far } = await socketPair();
    const clock = new FakeClock();
    const request = {
      headers: { connection: "Upgrade", upgrade: "SPDY/3.1", "x-stream-protocol-version": "v4.channel.k8s.io" },
      rawHeaders: [],
    };
    const accepting = acceptSpdyRemoteCommand(request as never, near, Buffer.alloc(0), { options, clock });
    const [answer] = (await once(far, "data")) as [Buffer];
    assert.match(answer.toString(), /^HTTP\/1\.1 101 .*\r\n\r\n$/s);
    const peer = new RawPeer(far);
    const received: RawFrame[] = [];
    for (const frame of frames.filter(({ from }) => from === "client")) {
      if (frame.frame === "SYN_STREAM") {
        peer.send(wireOf(frame));
        received.push((await peer.next()) as RawFrame);
      }
    }
    const session = await accepting;
    for (const frame of frames) if (frame.from === "client" && frame.frame === "DATA") peer.send(wireOf(frame));
    const wasStdinClosed = frames.some(
      ({ from, stream, flags }) => from === "client" && stream === streamOf("stdin") && flags === 1,
    );
    if (wasStdinClosed)
      assert.equal(
        await textOf(session.stdin),
        dataOf(
          frames.filter(({ from }) => from === "client"),
          streamOf("stdin"),
        ),
      );
    for (const one of sent) {
      const writer =
        one.stream === streamOf("stdout")
          ? session.stdout
          : one.stream === streamOf("stderr")
            ? session.stderr
            : undefined;
      if (one.frame === "DATA" && one.data) await writer?.write(Buffer.from(one.data));
    }
    const status = parseErrorStream(dataOf(sent, streamOf("error")), "v4.channel.k8s.io");
    assert.ok(status !== undefined);
    const finishing = session.finish(status);
    received.push(...(await peer.rest()));
    await finishing;
    assert.deepEqual(byStream(linesOf(received)), byStream(recordedLines(frames, "server")));
    assert.equal(received.at(-1)?.type, "GOAWAY");
  });

  test(`${title}: our client understands the frames, and sends what kubectl sent`, async () => {
    const { near, far } = await socketPair();
    const clock = new FakeClock();
    const peer = new RawPeer(far);
    const headers = { upgrade: "SPDY/3.1", "x-stream-protocol-version": "v4.channel.k8s.io" };
    const opening = spdyRemoteCommand(
      { socket: near, head: Buffer.alloc(0), headers },
      { options, clock },
      new AbortController().signal,
    );
    const received: RawFrame[] = [];
    for (const { frame } of frames) if (frame === "SYN_STREAM") received.push((await peer.next()) as RawFrame);
    for (const one of sent) if (one.frame === "SYN_REPLY") peer.send(wireOf(one));
    await using session = await opening;
    const typed = frames.filter(({ from, frame }) => from === "client" && frame === "DATA");
    for (const { data = "", flags } of typed) {
      if (data !== "") await session.stdin?.write(Buffer.from(data));
      if (flags === 1) await session.stdin?.end();
      received.push((await peer.next()) as RawFrame);
    }
    for (const one of sent) if (one.frame !== "SYN_REPLY") peer.send(wireOf(one));
    peer.socket.end();
    assert.equal(await textOf(session.stdout), dataOf(sent, streamOf("stdout")));
    assert.equal(await textOf(session.stderr), dataOf(sent, streamOf("stderr")));
    const said = JSON.parse(dataOf(sent, streamOf("error")));
    const status = await session.status;
    assert.equal(status.status, said.status);
    assert.equal(status.message, said.message);
    assert.deepEqual(status.details?.causes, said.details?.causes);
    const fromKubectl = recordedLines(frames, "client").filter((line) => /^(SYN_STREAM|DATA)/.test(line));
    assert.deepEqual(byStream(linesOf(received)), byStream(fromKubectl));
  });
}
