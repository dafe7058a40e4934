import { defined } from "../../util/defined.js";
import type { PodLogOptions } from "../kuberuntime/logs/options.js";

/** An invalid query, and the status of the response. */
export interface BadLogQuery {
  readonly status: 400 | 422;
  readonly text: string;
}

const CANNOT_DECODE: BadLogQuery = { status: 400, text: '{"message": "Unable to decode query."}' };
const INVALID: BadLogQuery = { status: 422, text: '{"message": "Invalid request."}' };

const MAX_INT64 = 2n ** 63n - 1n;
const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

/**
 * Parses the query of /containerLogs. Pure.
 *
 * Mirrors getContainerLogs in pkg/kubelet/server/server.go, the conversion of k8s.io/api/core/v1 (PodLogOptions) and
 * ValidatePodLogOptions in pkg/apis/core/v1/validation/validation.go.
 */
export function decodeLogQuery(query: URLSearchParams): PodLogOptions | BadLogQuery {
  // The older name of tailLines.
  const tail = query.get("tail");
  const tailText = tail === null || tail === "" ? query.get("tailLines") : tail === "all" ? null : tail;
  const tailLines = integer(tailText);
  const limitBytes = integer(query.get("limitBytes"));
  const sinceSeconds = integer(query.get("sinceSeconds"));
  const sinceTimeMs = time(query.get("sinceTime"));
  if (tailLines === "bad" || limitBytes === "bad" || sinceSeconds === "bad" || sinceTimeMs === "bad") {
    return CANNOT_DECODE;
  }
  const isInvalid =
    (tailLines ?? 0) < 0 ||
    (limitBytes ?? 1) < 1 ||
    (sinceSeconds !== undefined && query.has("sinceTime")) ||
    (sinceSeconds ?? 1) < 1;
  if (isInvalid) return INVALID;
  return {
    follow: flag(query.get("follow")),
    previous: flag(query.get("previous")),
    timestamps: flag(query.get("timestamps")),
    ...defined({ tailLines, limitBytes, sinceSeconds, sinceTimeMs }),
  };
}

/** Mirrors Convert_Slice_string_To_bool: any present value except `false` and `0` is true. */
function flag(text: string | null): boolean {
  return text !== null && text.toLowerCase() !== "false" && text !== "0";
}

function integer(text: string | null): number | undefined | "bad" {
  if (text === null) return undefined;
  if (!/^[+-]?\d+$/.test(text)) return "bad";
  const value = BigInt(text.replace(/^\+/, ""));
  return value > MAX_INT64 || value < -MAX_INT64 - 1n ? "bad" : Number(value);
}

/** An empty time, or `null`, means the zero time. */
function time(text: string | null): number | undefined | "bad" {
  if (text === null || text === "" || text === "null") return undefined;
  const ms = RFC3339.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) ? "bad" : ms;
}
