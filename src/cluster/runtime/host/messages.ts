import { RpcError } from "../../../staging/cri/grpc/status.js";
import type { TraceEvent } from "../../../trace/events.js";
import type { Scope } from "../../../trace/scope.js";
import type { Level } from "../../../trace/trace.js";
import type { ClockReading } from "../../../util/clock.js";
import { LabError, type LabErrorCode, messageOf } from "../../../util/errors.js";
import type { GrpcCode } from "../../../util/net/grpc-codes.js";
import type { RuntimeControl } from "../control/control.js";
import type { RuntimeOptions } from "../start.js";
import type { RuntimeChange } from "../state/changes.js";

/** The start parameters of a runtime's process: its argument, as JSON. */
export interface ProcessOptions extends Omit<RuntimeOptions, "clock" | "random" | "trace" | "rootDir" | "listen"> {
  readonly rootDir: string;
  readonly listen: string;
  readonly clock: ClockReading;
  readonly wantedLevel: WantedLevel;
}

/** The highest level of facts that the host's trace wants; -1: none. */
export type WantedLevel = Level | -1;

/** The methods of the control that can be called by name; changes are watched instead. */
export type ControlMethod = Exclude<keyof RuntimeControl, "changes">;

/** A call of the control. */
export interface ControlCall {
  readonly method: ControlMethod;
  readonly given: readonly unknown[];
  /** the cause of the call, if a trace keeps causes */
  readonly scope?: Scope;
}

/** From the host to its runtime's process. */
export type HostMessage =
  | (ControlCall & { readonly type: "call"; readonly id: number })
  | { readonly type: "clock"; readonly reading: ClockReading }
  /** The answer is what `ClockFollower.settle` returns. */
  | { readonly type: "settle"; readonly id: number }
  | { readonly type: "level"; readonly wantedLevel: WantedLevel }
  | { readonly type: "watch" }
  | { readonly type: "close" };

/** From a runtime's process to its host. */
export type ProcessMessage =
  | { readonly type: "listening"; readonly endpoint: string }
  | { readonly type: "refused"; readonly error: ErrorMessage }
  | { readonly type: "fact"; readonly event: TraceEvent }
  | { readonly type: "change"; readonly change: RuntimeChange }
  | { readonly type: "answer"; readonly id: number; readonly value: unknown }
  | { readonly type: "failed"; readonly id: number; readonly error: ErrorMessage };

/** An error between processes; its class is a name. */
export type ErrorMessage =
  | { readonly kind: "rpc"; readonly code: GrpcCode; readonly message: string }
  | { readonly kind: "lab"; readonly code: LabErrorCode; readonly message: string; readonly hint: string }
  | { readonly kind: "bug"; readonly message: string; readonly stack: string | undefined };

export function toErrorMessage(error: unknown): ErrorMessage {
  if (error instanceof RpcError) return { kind: "rpc", code: error.code, message: error.message };
  if (error instanceof LabError) {
    return { kind: "lab", code: error.code, message: error.message, hint: error.hint };
  }
  return { kind: "bug", message: messageOf(error), stack: error instanceof Error ? error.stack : undefined };
}

export function fromErrorMessage(error: ErrorMessage): Error {
  if (error.kind === "rpc") return new RpcError(error.code, error.message);
  if (error.kind === "lab") return new LabError(error.code, error.message, error.hint);
  return Object.assign(new Error(error.message), { stack: error.stack });
}
