import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import { messageOf } from "../../util/errors.js";
import type { HandlerOutcome, HandlerProgress } from "./outcome.js";

/** One of the pod's containers with resolved references: `env` includes values from config maps, secrets and fields. */
export interface TaskContainer {
  readonly name: string;
  readonly image: string;
  readonly command: readonly string[];
  readonly args: readonly string[];
  readonly workingDir: string;
  readonly env: Readonly<Record<string, string>>;
  /** where the volumes are mounted on this machine */
  readonly mounts: readonly { readonly containerPath: string; readonly hostPath: string; readonly readonly: boolean }[];
}

/** The input of a handler. */
export interface HandlerTask {
  readonly pod: V1Pod;
  readonly containers: readonly TaskContainer[];
}

export type HandlerEvent =
  | { readonly kind: "log"; readonly stream: "stdout" | "stderr"; readonly bytes: Uint8Array }
  | { readonly kind: "progress"; readonly progress: HandlerProgress }
  /** the last event */
  | { readonly kind: "end"; readonly outcome: HandlerOutcome };

export interface HandlerSignals {
  /** aborts when the handler should stop; its reason says why */
  readonly abort: AbortSignal;
  /** aborts when the handler has not stopped in time: it is abandoned */
  readonly kill: AbortSignal;
}

/** Does the work of virtual pods, in place of containers. */
export interface PodHandler {
  /** for messages: `./handler.mjs` */
  readonly description: string;
  /**
   * Does the work of one pod. Reads output only as fast as the caller consumes the log; ends at once after `kill`.
   * @yields log and progress, then the end
   */
  run(task: HandlerTask, signals: HandlerSignals): AsyncGenerator<HandlerEvent>;
}

/** The exit code of a handler that was abandoned. */
export const ABANDONED_EXIT_CODE = 137;
/** The exit code of a handler that stopped on request. */
export const CANCELLED_EXIT_CODE = 143;

/** The reason of an aborted signal as text. */
export function reasonText({ reason }: AbortSignal): string {
  return messageOf(reason);
}
