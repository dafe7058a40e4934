/**
 * The requested part of a container's log, as in the API.
 *
 * Mirrors k8s.io/api/core/v1/types.go (PodLogOptions).
 */
export interface PodLogOptions {
  readonly follow?: boolean;
  /** of the container's last terminated instance */
  readonly previous?: boolean;
  readonly sinceSeconds?: number;
  /** Unix ms */
  readonly sinceTimeMs?: number;
  readonly timestamps?: boolean;
  readonly tailLines?: number;
  readonly limitBytes?: number;
}

/** Mirrors LogOptions in pkg/kubelet/kuberuntime/logs/logs.go. */
export interface LogOptions {
  readonly follow: boolean;
  readonly timestamps: boolean;
  /** lines from the end; undefined: all */
  readonly tail: number | undefined;
  /** bytes of output; undefined: all */
  readonly bytes: number | undefined;
  /** Unix ms; undefined: from the beginning */
  readonly sinceMs: number | undefined;
}

/**
 * Mirrors NewLogOptions in pkg/kubelet/kuberuntime/logs/logs.go: if two start times are given, the later one counts.
 * Pure.
 * @param nowMs Unix ms
 */
export function newLogOptions(asked: PodLogOptions, nowMs: number): LogOptions {
  const { follow = false, timestamps = false, tailLines, limitBytes, sinceSeconds, sinceTimeMs } = asked;
  const beginnings = [sinceSeconds === undefined ? undefined : nowMs - sinceSeconds * 1000, sinceTimeMs];
  const known = beginnings.filter((one) => one !== undefined);
  return {
    follow,
    timestamps,
    tail: tailLines,
    bytes: limitBytes,
    sinceMs: known.length === 0 ? undefined : Math.max(...known),
  };
}

/** Some output of a container, in the order of its log. */
export interface LogPiece {
  readonly stream: "stdout" | "stderr";
  readonly bytes: Uint8Array;
}

/** Why a log is missing or ends early, in the kubelet's words; the client sees this text. */
export class LogError extends Error {
  override readonly name = "LogError";
}
