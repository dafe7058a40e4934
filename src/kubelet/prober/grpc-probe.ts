import { type ClientHttp2Session, connect } from "node:http2";
import type { Duplex } from "node:stream";
import { goDuration } from "../../staging/apimachinery/time.js";
import {
  GRPC_FRAME_HEADER_BYTES,
  grpcFrame,
  HEALTH_CHECK_PATH,
  HealthCheckRequest,
  HealthCheckResponse,
  ServingStatus,
} from "../../staging/server/grpc-health.js";
import { onAbort } from "../../util/async/abort.js";
import { messageOf } from "../../util/errors.js";
import { type GrpcCode, grpcCode } from "../../util/net/grpc-codes.js";
import type { HttpProbeDeps, ProbeOutcome } from "./http-probe.js";
import { joinHostPort, type ProbeTarget } from "./probe-dialer.js";
import { ProbeTimeout, withTimeout } from "./timeout.js";

/** The size limit of an answer, which normally has a few bytes. */
const MAX_RESPONSE_BYTES = 64 * 1024;

export interface GrpcProbeOptions {
  readonly target: ProbeTarget;
  /** empty: the server as a whole */
  readonly service: string;
  readonly timeoutMs: number;
  /** `1.25` */
  readonly kubeVersion: string;
}

/** The result of a call. */
interface CallEnd {
  readonly code: GrpcCode;
  readonly message: string;
  readonly response: Buffer;
}

/**
 * Calls a gRPC server's health service.
 *
 * Mirrors pkg/probe/grpc/grpc.go (Probe).
 * Differs: speaks gRPC over node:http2, because grpc-js opens its connections itself and the pod may be reachable only
 * through its runtime.
 * @throws the signal's reason
 */
export async function probeGrpc(
  deps: HttpProbeDeps,
  options: GrpcProbeOptions,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  const { target, timeoutMs } = options;
  const address = joinHostPort(target.host, target.port);
  const timeout = goDuration(timeoutMs);
  let isConnected = false;
  try {
    return await withTimeout(deps.clock, timeoutMs, signal, async (inner) => {
      const stream = await dialUntil(deps, target, inner);
      isConnected = true;
      return outcomeOf(await check(stream, options, inner));
    });
  } catch (error) {
    if (!(error instanceof ProbeTimeout)) throw error;
    const output = isConnected
      ? `timeout: health rpc did not complete within ${timeout}`
      : `timeout: failed to connect service "${address}" within ${timeout}: context deadline exceeded`;
    return { result: "failure", output };
  }
}

/** Keeps connecting until the timeout, as gRPC does: a refused connection is not a result. */
async function dialUntil(deps: HttpProbeDeps, target: ProbeTarget, signal: AbortSignal): Promise<Duplex> {
  for (;;) {
    try {
      return await deps.dialer.dial(target, signal);
    } catch {
      signal.throwIfAborted();
      await deps.clock.sleep(RETRY_MS, signal);
    }
  }
}

/** grpc's first back-off: connection-backoff.md. */
const RETRY_MS = 1_000;

function outcomeOf({ code, message: said, response }: CallEnd): ProbeOutcome {
  const fail = (output: string): ProbeOutcome => ({ result: "failure", output });
  if (code === "Unimplemented") {
    const what = "this server does not implement the grpc health protocol (grpc.health.v1.Health)";
    return fail(`error: ${what}: ${said}`);
  }
  if (code !== "OK") return fail(`error: health rpc probe failed: rpc error: code = ${code} desc = ${said}`);
  const { status } = HealthCheckResponse.decode(response);
  if (status === ServingStatus.SERVING) return { result: "success", output: "service healthy" };
  const name = Object.entries(ServingStatus).find(([, number]) => number === status)?.[0] ?? String(status);
  return fail(`service unhealthy (responded with ${JSON.stringify(name)})`);
}

async function check(stream: Duplex, options: GrpcProbeOptions, signal: AbortSignal): Promise<CallEnd> {
  const { target, service, kubeVersion } = options;
  const authority = joinHostPort(target.host, target.port);
  const session = connect(`http://${authority}`, { createConnection: () => stream });
  // An error of the connection also fails its call, which reports it.
  for (const one of [session, stream]) one.on("error", () => {});
  using _ = onAbort(signal, () => session.destroy());
  try {
    const body = HealthCheckRequest.encode({ service });
    const end = await unaryCall(session, authority, `kube-probe/${kubeVersion}`, body);
    // A call that was cut off here has ended without an answer.
    signal.throwIfAborted();
    return end;
  } finally {
    session.destroy();
    stream.destroy();
  }
}

async function unaryCall(
  session: ClientHttp2Session,
  authority: string,
  userAgent: string,
  body: Buffer,
): Promise<CallEnd> {
  const call = session.request({
    ":method": "POST",
    ":path": HEALTH_CHECK_PATH,
    ":authority": authority,
    "content-type": "application/grpc",
    "user-agent": userAgent,
    te: "trailers",
  });
  const headers: Record<string, unknown> = {};
  call.on("response", (fields) => Object.assign(headers, fields));
  call.on("trailers", (fields) => Object.assign(headers, fields));
  call.end(grpcFrame(body));
  const pieces: Buffer[] = [];
  let size = 0;
  try {
    for await (const piece of call as AsyncIterable<Buffer>) {
      size += piece.length;
      if (size > MAX_RESPONSE_BYTES) return { code: "ResourceExhausted", message: "answer too long", response: NONE };
      pieces.push(piece);
    }
  } catch (error) {
    const why = messageOf(error);
    return { code: "Unavailable", message: `connection error: ${why}`, response: NONE };
  }
  const status = headers["grpc-status"];
  if (typeof status !== "string") {
    const message = `unexpected HTTP status code received from server: ${String(headers[":status"] ?? "none")}`;
    return { code: "Unavailable", message, response: NONE };
  }
  const response = Buffer.concat(pieces).subarray(GRPC_FRAME_HEADER_BYTES);
  return { code: grpcCode(Number(status)), message: decodeMessage(headers["grpc-message"]), response };
}

const NONE = Buffer.alloc(0);

/** grpc-message is percent-encoded; a malformed one is shown as it came. */
function decodeMessage(text: unknown): string {
  const raw = typeof text === "string" ? text : "";
  try {
    return decodeURIComponent(raw);
  } catch {
    return raw;
  }
}
