import { PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { execUrl } from "../../../staging/client-go/remotecommand/exec-url.js";
import { streamRemoteCommand } from "../../../staging/client-go/remotecommand/executor.js";
import { connectSpdyRemoteCommand } from "../../../staging/client-go/remotecommand/spdy.js";
import { type Attempt, connectStreams, type StreamClient } from "../../../staging/client-go/transport/fallback.js";
import { StreamError } from "../../../staging/streaming/bytes.js";
import type { RemoteCommandClientSession } from "../../../staging/streaming/remote-command/session.js";
import { streamTypes } from "../../../staging/streaming/remote-command/spdy-protocols.js";
import { exitCodeOf } from "../../../staging/streaming/remote-command/status-text.js";
import { LabError } from "../../../util/errors.js";
import type { RunParts, Stage } from "../../chaos/stage.js";
import type { Judgement } from "../../chaos/verdict.js";
import { call, type Written } from "./part.js";

const POD = { namespace: "default", pod: "web", container: "main" };
/** Blanks and signs that a query must escape. */
const COMMAND = ["sh", "-c", 'read line; echo "got $line & more"; exit 3'];
const STREAMS = { stdin: true, stdout: true, stderr: false, tty: false };
const PRINTS = "got hello & more\n";

/** A command in a container, through the API server and the kubelet. */
export function exec(written: Written): RunParts {
  const path =
    written === undefined
      ? execUrl({ ...POD, name: POD.pod, subresource: "exec", words: COMMAND }, STREAMS)
      : call<string>(written, "execUrl", POD, COMMAND, STREAMS);
  const types =
    written === undefined
      ? streamTypes(STREAMS, "v4.channel.k8s.io")
      : call<readonly string[]>(written, "streamsToOpen", STREAMS);
  return { after: async (stage, signal) => [await executed(path, types, stage, signal)] };
}

async function executed(
  path: string,
  types: readonly string[],
  { client, clock, random, facts }: Stage,
  signal: AbortSignal,
): Promise<Judgement> {
  const condition = `exec ${COMMAND.join(" ")}`;
  const startMs = clock.now();
  try {
    const deps = { clock, random, trace: facts.reads, config: client.config };
    const { output, exitCode } = await run(deps, path, types, signal);
    const holds = output === PRINTS && exitCode === 3;
    const wanted = `it printed ${JSON.stringify(output)}, exit code ${exitCode}`;
    return { condition, holds, wanted, atMs: clock.now() - startMs };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof LabError || error instanceof StreamError)) throw error;
    return { condition, holds: false, wanted: error.message };
  }
}

async function run(client: StreamClient, path: string, types: readonly string[], signal: AbortSignal) {
  const { clock } = client;
  const attempt: Attempt<RemoteCommandClientSession> = {
    ...{ method: "POST", name: "SPDY", agreed: () => "SPDY" },
    connect: ({ url, ...dial }) => connectSpdyRemoteCommand(url, { ...dial, options: STREAMS, clock, types }, signal),
  };
  const { session } = await connectStreams(client, path, [attempt], signal);
  await using _ = session;
  const [stdout, stderr] = [new PassThrough(), new PassThrough().resume()];
  const counts = { stdin: { bytes: 0 }, stdout: { bytes: 0 }, stderr: { bytes: 0 } };
  const streams = { stdin: Readable.from("hello\n"), stdout, stderr, terminalSizes: undefined, counts };
  const output = text(stdout);
  const status = await streamRemoteCommand(client, session, streams, signal);
  stdout.end();
  return { output: await output, exitCode: exitCodeOf(status) ?? 0 };
}
