import { createConnection, createServer, type Socket } from "node:net";
import { Mutex } from "../../util/async/mutex.js";
import { LabError, type LabErrorCode } from "../../util/errors.js";
import { listenPrivately } from "../../util/net/private-socket.js";
import { RemoteFollower } from "./follower.js";
import { readLines, writeLine } from "./lines.js";
import { performTime, TIME_OPERATIONS, type TimeAnswer, type TimeDeps, type TimeOperation } from "./operation.js";

type Reply =
  | { readonly kind: "answer"; readonly answer: TimeAnswer }
  | { readonly kind: "failed"; readonly code: LabErrorCode; readonly message: string; readonly hint: string };

/**
 * Serves a cluster's clock on a socket that only its owner can open, until the result is disposed of. Operations of several
 * clients take effect one after the other; one whose client has gone stops. A client that sends `follow` is a process that
 * runs on the clock.
 */
export async function serveTime(deps: TimeDeps, socket: string, signal: AbortSignal): Promise<AsyncDisposable> {
  const turns = new Mutex();
  const server = createServer((client) => {
    serveClient(deps, client, turns, signal).catch(() => void client.destroy());
  });
  return listenPrivately(server, socket);
}

async function serveClient(deps: TimeDeps, client: Socket, turns: Mutex, signal: AbortSignal): Promise<void> {
  const gone = new AbortController();
  client.once("close", () => gone.abort());
  const either = AbortSignal.any([signal, gone.signal]);
  const lines = readLines(client);
  const operation = (await lines.next()).value as TimeOperation | { readonly op: "follow" } | undefined;
  if (operation?.op === "follow") return RemoteFollower.serve(deps.time.clock, client, lines);
  if (operation === undefined || !TIME_OPERATIONS.includes(operation.op)) throw new Error("no such operation");
  writeLine(client, await turns.run(() => replyTo(deps, operation, either)));
  client.end();
}

async function replyTo(deps: TimeDeps, operation: TimeOperation, signal: AbortSignal): Promise<Reply> {
  try {
    return { kind: "answer", answer: await performTime(deps, operation, signal) };
  } catch (error) {
    if (!(error instanceof LabError)) throw error;
    const { code, message, hint } = error;
    return { kind: "failed", code, message, hint };
  }
}

/**
 * Asks the process that has the clock.
 * @returns undefined if nobody serves at the socket
 * @throws LabError as `performTime`; the signal's reason
 */
export async function askTime(
  path: string,
  operation: TimeOperation,
  signal: AbortSignal,
): Promise<TimeAnswer | undefined> {
  const socket = createConnection({ path, signal });
  writeLine(socket, operation);
  for await (const line of readLines(socket)) {
    const reply = line as Reply;
    if (reply.kind === "failed") throw new LabError(reply.code, reply.message, reply.hint);
    return reply.answer;
  }
  signal.throwIfAborted();
  return undefined;
}
