import type { LabErrorCode } from "../../../util/errors.js";
import { LabError } from "../../../util/errors.js";
import type { GrpcCode } from "../../../util/net/grpc-codes.js";

/** The largest message that the kubelet accepts; gRPC's own default is 4 MB. pkg/kubelet/cri/remote/utils.go (maxMsgSize). */
export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/** Why a call has no response. A value, because most callers continue without one. */
export interface RpcFailure {
  /** the code, where callers branch on it; `failed` for all others */
  readonly outcome: "not-found" | "unimplemented" | "unavailable" | "timed-out" | "failed";
  readonly code: GrpcCode;
  /** the runtime's message, without the code */
  readonly message: string;
  /** as Go prints the error: `rpc error: code = NotFound desc = ...` */
  readonly text: string;
}

export type RpcResult<T> = { readonly outcome: "ok"; readonly value: T } | RpcFailure;

const OUTCOMES: Partial<Record<GrpcCode, RpcFailure["outcome"]>> = {
  NotFound: "not-found",
  Unimplemented: "unimplemented",
  Unavailable: "unavailable",
  DeadlineExceeded: "timed-out",
};

/** A failed call, with the text of Go's client. */
export function rpcFailure(code: GrpcCode, message: string): RpcFailure {
  return { outcome: OUTCOMES[code] ?? "failed", code, message, text: `rpc error: code = ${code} desc = ${message}` };
}

/** A failure that the kubelet found in a response itself: `status.Metadata is not set`. */
export function badResponse(message: string): RpcFailure {
  return { outcome: "failed", code: "Unknown", message, text: message };
}

/** A call's status as an exception: thrown by a server's handlers and by broken streams. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  constructor(
    readonly code: GrpcCode,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }

  get failure(): RpcFailure {
    return rpcFailure(this.code, this.message);
  }
}

/**
 * The value of a call that must succeed for its caller to continue.
 * @param doing `list the containers`: completes "cannot ..."
 * @throws LabError RUNTIME_UNREACHABLE, RUNTIME_FAILED
 */
export function expectOk<T>(result: RpcResult<T>, doing: string): T {
  if (result.outcome === "ok") return result.value;
  const gone = result.outcome === "unavailable" || result.outcome === "timed-out";
  const code: LabErrorCode = gone ? "RUNTIME_UNREACHABLE" : "RUNTIME_FAILED";
  throw new LabError(
    code,
    `cannot ${doing}: ${result.text}`,
    gone
      ? "Check that the container runtime is still running, and check its log."
      : "Check the runtime's log; -v 4 shows the call.",
  );
}
