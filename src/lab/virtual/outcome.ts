import { inspect } from "node:util";

/** How a handler's work ended. It decides the pod's phase. */
export interface HandlerOutcome {
  readonly phase: "Succeeded" | "Failed";
  /** one word: `Completed`, or the reason of the failure */
  readonly reason: string;
  readonly message: string;
  /** exit code of the pod's containers */
  readonly exitCode: number;
}

/** What a running handler reports. */
export interface HandlerProgress {
  /** 0 to 100 */
  readonly percent?: number;
  readonly message?: string;
}

/** MaxContainerTerminationMessageLength in pkg/kubelet/container/runtime.go. */
const MAX_MESSAGE_BYTES = 4096;
const MAX_SHOWN = 200;
/** The format of Kubernetes' reasons. */
const REASON = /^[A-Za-z][A-Za-z0-9_.:-]{0,127}$/;

export const SUCCEEDED: HandlerOutcome = { phase: "Succeeded", reason: "Completed", message: "", exitCode: 0 };

/** @param exitCode never 0 */
export function failed(reason: string, message: string, exitCode = 1): HandlerOutcome {
  return { phase: "Failed", reason, message: cut(message), exitCode };
}

/**
 * Turns a handler's return value into the outcome of its pod. Nothing or a text is success; an object has details
 * (`{ phase: "Failed", reason, message }`); any other value fails the pod with a message about what was expected. Pure.
 */
export function readOutcome(value: unknown): HandlerOutcome {
  if (value === undefined || value === null) return SUCCEEDED;
  if (typeof value === "string") return { ...SUCCEEDED, message: cut(value) };
  if (typeof value !== "object" || Array.isArray(value)) return nonsense(value);
  const { phase = "Succeeded", reason, message = "", ...others } = value as Readonly<Record<string, unknown>>;
  if (phase !== "Succeeded" && phase !== "Failed") return nonsense(value);
  if (typeof message !== "string" || Object.keys(others).length > 0) return nonsense(value);
  if (reason !== undefined && (typeof reason !== "string" || !REASON.test(reason))) return nonsense(value);
  return phase === "Failed"
    ? failed(reason ?? "Error", message)
    : { ...SUCCEEDED, reason: reason ?? SUCCEEDED.reason, message: cut(message) };
}

/** A fraction from 0 to 1, a text, or both; undefined for any other value. Pure. */
export function readProgress(value: unknown, text?: unknown): HandlerProgress | undefined {
  if (typeof value === "object" && value !== null) {
    const { fraction, message } = value as Readonly<Record<string, unknown>>;
    return fraction === undefined ? readProgress(message) : readProgress(fraction, message);
  }
  if (typeof value === "string") return { message: cut(value) };
  if (typeof value !== "number" || Number.isNaN(value)) return undefined;
  const percent = Math.round(Math.min(1, Math.max(0, value)) * 100);
  return typeof text === "string" && text !== "" ? { percent, message: cut(text) } : { percent };
}

/** `40 %: resizing` */
export function progressText({ percent, message }: HandlerProgress): string {
  return [percent === undefined ? "" : `${percent} %`, message ?? ""].filter((text) => text !== "").join(": ");
}

function nonsense(value: unknown): HandlerOutcome {
  const shown = inspect(value, { depth: 1, breakLength: Number.POSITIVE_INFINITY }).slice(0, MAX_SHOWN);
  const wanted = 'nothing, a text, or { phase: "Succeeded" | "Failed", reason, message }';
  return failed("HandlerResultInvalid", `the handler returned ${shown}; expected ${wanted}`);
}

function cut(text: string): string {
  const bytes = Buffer.from(text);
  return bytes.length <= MAX_MESSAGE_BYTES ? text : `${bytes.subarray(0, MAX_MESSAGE_BYTES - 4).toString("utf8")}...`;
}
