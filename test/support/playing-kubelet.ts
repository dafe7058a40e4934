import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { Status } from "../../src/staging/apimachinery/api/meta.js";
import { acceptPortForward } from "../../src/staging/streaming/port-forward/accept.js";
import type { ForwardedConnection } from "../../src/staging/streaming/port-forward/session.js";
import { acceptRemoteCommand } from "../../src/staging/streaming/remote-command/accept.js";
import type { RemoteCommandServerSession } from "../../src/staging/streaming/remote-command/session.js";
import { SUCCESS } from "../../src/staging/streaming/remote-command/status-text.js";
import { portForwardPorts } from "../../src/staging/streaming/stream-options.js";
import { isWebSocketRequest } from "../../src/staging/streaming/websocket/subprotocols.js";
import { SystemClock } from "../../src/util/clock.js";
import type { FakeKubeletOptions } from "./fake-kubelet.js";

/** Runs a command and returns its result. */
export type Play = (session: RemoteCommandServerSession, argv: readonly string[]) => Promise<Status>;

export interface Plays {
  readonly exec?: Play;
  readonly attach?: Play;
  readonly log?: string;
  /** serves one connection to a port; default: echo */
  readonly forward?: (connection: ForwardedConnection) => Promise<void>;
}

const clock = new SystemClock();

/** A kubelet (and the runtime below it) whose containers are scripted by a test. */
export function playing(plays: Plays): FakeKubeletOptions {
  return {
    respond(request: IncomingMessage, response: ServerResponse) {
      if (plays.log !== undefined && request.url?.startsWith("/containerLogs/")) response.end(plays.log);
      else response.writeHead(404).end("404 page not found\n");
    },
    async upgrade(request, socket, head) {
      const { pathname, searchParams: query } = new URL(request.url ?? "", "https://kubelet");
      try {
        if (pathname.startsWith("/portForward/")) await forward(plays, request, socket, head, query);
        else await run(plays, request, socket, head, pathname.startsWith("/exec/") ? "exec" : "attach", query);
      } catch {
        // Refused, or closed by the client: the client has its answer.
      }
    },
  };
}

async function run(
  plays: Plays,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  verb: "exec" | "attach",
  query: URLSearchParams,
): Promise<void> {
  const has = (name: string) => query.get(name) === "1";
  const tty = has("tty");
  const options = { stdin: has("input"), stdout: has("output"), stderr: has("error") && !tty, tty };
  await using session = await acceptRemoteCommand(request, socket, head, { options, clock });
  const play = plays[verb] ?? (async () => SUCCESS);
  const status = await play(session, query.getAll("command"));
  if (!session.signal.aborted) await session.finish(status);
}

async function forward(
  { forward: serve = giveBack }: Plays,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  query: URLSearchParams,
): Promise<void> {
  const ports = portForwardPorts(query, isWebSocketRequest(request));
  if ("problem" in ports) {
    const headers = `Content-Type: text/plain; charset=utf-8\r\nContent-Length: ${ports.problem.length}`;
    socket.end(`HTTP/1.1 400 Bad Request\r\n${headers}\r\n\r\n${ports.problem}`);
    return;
  }
  await using session = await acceptPortForward(request, socket, head, { ports, clock });
  const running: Promise<void>[] = [];
  for await (const connection of session.connections) running.push(serve(connection).catch(() => {}));
  await Promise.all(running);
}

async function giveBack(connection: ForwardedConnection): Promise<void> {
  for await (const bytes of connection.incoming) await connection.write(bytes);
  await connection.end();
}

/** `NonZeroExitCode`, in the runtimes' words. */
export function exited(code: number, message = `command terminated with exit code ${code}`): Status {
  if (code === 0) return SUCCESS;
  const details = { causes: [{ reason: "ExitCode", message: String(code) }] };
  const failure = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure" } as const;
  return { ...failure, message, reason: "NonZeroExitCode", details };
}
