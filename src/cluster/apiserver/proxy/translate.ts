import type { Status } from "../../../staging/apimachinery/api/meta.js";
import { spdyRemoteCommand } from "../../../staging/client-go/remotecommand/spdy.js";
import type { ByteReader, ByteWriter } from "../../../staging/streaming/bytes.js";
import type {
  RemoteCommandClientSession,
  RemoteCommandOptions,
  RemoteCommandServerSession,
} from "../../../staging/streaming/remote-command/session.js";
import { SPDY_REMOTE_COMMAND_PROTOCOLS } from "../../../staging/streaming/remote-command/spdy-protocols.js";
import { exitCodeOf, internalErrorStatus } from "../../../staging/streaming/remote-command/status-text.js";
import { acceptWebSocketRemoteCommand } from "../../../staging/streaming/remote-command/websocket-server.js";
import { V5 } from "../../../staging/streaming/websocket/subprotocols.js";
import { onAbort } from "../../../util/async/abort.js";
import { messageOf } from "../../../util/errors.js";
import type { Exchange } from "../endpoints/exchange.js";
import { hijack } from "../endpoints/hijack.js";
import { isTrue } from "../endpoints/request-info.js";
import type { ProxyDeps } from "./deps.js";
import { askKubelet } from "./kubelet-request.js";
import { requireUpgrade } from "./offered.js";
import { refusalStatus } from "./refusal.js";
import { reportAnswered, reportAsked, reportEnded } from "./report.js";
import type { UpgradeTarget } from "./upgrade.js";

/**
 * Serves a client's WebSocket (v5), and runs its command at the kubelet over SPDY.
 *
 * Mirrors k8s.io/apiserver/pkg/util/proxy/streamtranslator.go (StreamTranslatorHandler), since 1.30. The client gets its
 * 101 before the kubelet is contacted, so a failure there reaches it as a Status on the error channel.
 */
export async function translateToSpdy(deps: ProxyDeps, exchange: Exchange, target: UpgradeTarget): Promise<void> {
  const upgrade = requireUpgrade(exchange);
  const { query, request } = exchange;
  const options: RemoteCommandOptions = {
    stdin: isTrue(query, "stdin"),
    stdout: isTrue(query, "stdout"),
    stderr: isTrue(query, "stderr"),
    tty: isTrue(query, "tty"),
  };
  const socket = hijack(exchange, upgrade);
  const { clock } = deps;
  const accept = { options, clock, subprotocols: [V5] };
  const accepted = await acceptWebSocketRemoteCommand(request, socket, upgrade.head, accept).catch(() => undefined);
  // The handshake was refused, and the client has the reason.
  if (accepted === undefined) return;
  await using client = accepted;
  // A server that closes ends its sockets; the session treats that as a disconnected client.
  const status = await run(deps, exchange, target, client, options);
  reportEnded(deps.trace, exchange, statusText(status));
  await client.finish(status);
}

/** @returns the final status for the client */
async function run(
  deps: ProxyDeps,
  exchange: Exchange,
  { info, path }: UpgradeTarget,
  client: RemoteCommandServerSession,
  options: RemoteCommandOptions,
): Promise<Status> {
  const { trace, clock, connections } = deps;
  const cause = reportAsked(trace, exchange, info, "POST", path);
  const headers = {
    "User-Agent": "Go-http-client/1.1",
    Connection: "Upgrade",
    Upgrade: "SPDY/3.1",
    "X-Stream-Protocol-Version": [...SPDY_REMOTE_COMMAND_PROTOCOLS],
  };
  try {
    const request = { method: "POST", path, headers };
    const answer = await trace.because(cause, () => askKubelet(connections, info, request, client.signal));
    if (answer.type === "response") return await refusalStatus(answer.response);
    const { socket, head, response } = answer;
    const upgraded = { socket, head, headers: response.headers };
    await using kubelet = await spdyRemoteCommand(upgraded, { options, clock }, client.signal);
    const { subprotocol } = kubelet.protocol;
    const why = `${V5} with the client, SPDY/3.1, ${subprotocol} with the kubelet`;
    reportAnswered(trace, exchange, "translate between WebSocket and SPDY", why);
    return translated(await pump(client, kubelet));
  } catch (error) {
    const why = messageOf(error);
    const isSent = why.startsWith("dial ") || why.startsWith("x509") || why === "EOF";
    const text = isSent ? `error sending request: Post "${info.scheme}://${info.address}${path}": ${why}` : why;
    return internalErrorStatus(text);
  }
}

/** Copies every stream in its direction until the command ends or the client disconnects. */
async function pump(client: RemoteCommandServerSession, kubelet: RemoteCommandClientSession): Promise<Status> {
  using _ = onAbort(client.signal, () => void kubelet.close());
  // A failure of these two must not end the command: it can continue without input.
  void copy(client.stdin, kubelet.stdin).catch(() => {});
  void resize(client, kubelet).catch(() => {});
  const outputs = [copy(kubelet.stdout, client.stdout), copy(kubelet.stderr, client.stderr)];
  // A connection that breaks after the last output breaks the output streams too; `status` decides.
  await Promise.allSettled(outputs);
  return await kubelet.status;
}

async function copy(from: ByteReader | undefined, to: ByteWriter | undefined): Promise<void> {
  if (from === undefined || to === undefined) return;
  for await (const bytes of from) await to.write(bytes);
  await to.end();
}

async function resize(client: RemoteCommandServerSession, kubelet: RemoteCommandClientSession): Promise<void> {
  for await (const size of client.resizes) await kubelet.resize(size);
}

/** Upstream reads the kubelet's Status as an error and wraps it in a new one, so the message repeats itself. */
function translated(status: Status): Status {
  if (status.status === "Success") return status;
  const code = exitCodeOf(status);
  if (code === undefined) return internalErrorStatus(status.message ?? "");
  const message = `command terminated with non-zero exit code: command terminated with exit code ${code}`;
  return { ...status, message };
}

function statusText(status: Status): string {
  const code = exitCodeOf(status);
  return code === undefined ? `failed: ${status.message ?? ""}` : `ended with exit code ${code}`;
}
