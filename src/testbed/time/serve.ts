import { createServer, type IncomingMessage } from "node:http";
import { Mutex } from "../../util/async/mutex.js";
import { LabError, type LabErrorCode } from "../../util/errors.js";
import { listenPrivately, postPrivately, readSmallJson } from "../../util/net/private-socket.js";
import { performTime, TIME_OPERATIONS, type TimeAnswer, type TimeDeps, type TimeOperation } from "./operation.js";

type Reply =
  | { readonly kind: "answer"; readonly answer: TimeAnswer }
  | { readonly kind: "failed"; readonly code: LabErrorCode; readonly message: string; readonly hint: string };

/**
 * Serves a cluster's clock on a socket that only its owner can open, until the result is disposed of. Operations of several
 * clients take effect one after the other; one whose client has gone stops.
 */
export async function serveTime(deps: TimeDeps, socket: string, signal: AbortSignal): Promise<AsyncDisposable> {
  const turns = new Mutex();
  const server = createServer((request, response) => {
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    const either = AbortSignal.any([signal, gone.signal]);
    readOperation(request)
      .then((operation) => turns.run(() => replyTo(deps, operation, either)))
      .then((reply) => void response.end(JSON.stringify(reply)))
      .catch(() => void response.destroy());
  });
  return listenPrivately(server, socket);
}

async function readOperation(request: IncomingMessage): Promise<TimeOperation> {
  const operation = (await readSmallJson(request)) as TimeOperation;
  if (!TIME_OPERATIONS.includes(operation.op)) throw new Error("no such operation");
  return operation;
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
 * @throws LabError as `performTime`
 */
export async function askTime(
  socket: string,
  operation: TimeOperation,
  signal: AbortSignal,
): Promise<TimeAnswer | undefined> {
  const stream = await postPrivately(socket, operation, signal);
  if (stream === undefined) return undefined;
  let text = "";
  for await (const chunk of stream) text += String(chunk);
  const reply = JSON.parse(text) as Reply;
  if (reply.kind === "failed") throw new LabError(reply.code, reply.message, reply.hint);
  return reply.answer;
}
