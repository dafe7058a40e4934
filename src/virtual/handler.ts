import type { V1Pod } from "../apimachinery/api/pod.js";
import { messageOf } from "../util/errors.js";
import type { HandlerOutcome, HandlerProgress } from "./outcome.js";

/** One of the pod's containers with everything filled in: what config maps, secrets and fields brought is in `env`. */
export interface TaskContainer {
  readonly name: string;
  readonly image: string;
  readonly command: readonly string[];
  readonly args: readonly string[];
  readonly workingDir: string;
  readonly env: Readonly<Record<string, string>>;
  /** where the volumes are on this machine */
  readonly mounts: readonly { readonly containerPath: string; readonly hostPath: string; readonly readonly: boolean }[];
}

/** What a handler gets. */
export interface HandlerTask {
  readonly pod: V1Pod;
  readonly containers: readonly TaskContainer[];
}

export type HandlerEvent =
  | { readonly kind: "log"; readonly stream: "stdout" | "stderr"; readonly bytes: Uint8Array }
  | { readonly kind: "progress"; readonly progress: HandlerProgress }
  /** the last one */
  | { readonly kind: "end"; readonly outcome: HandlerOutcome };

export interface HandlerSignals {
  /** aborts when the handler should stop by itself; the reason says why */
  readonly abort: AbortSignal;
  /** aborts when it has not: whatever it does, it is over */
  readonly kill: AbortSignal;
}

/** What does the work of virtual pods, in place of containers. */
export interface PodHandler {
  /** for people: `./handler.mjs` */
  readonly description: string;
  /**
   * Does the work of one pod. A log is only made as fast as its reader takes it; after `kill` there is an end at once.
   * @yields log and progress, then the end
   */
  run(task: HandlerTask, signals: HandlerSignals): AsyncGenerator<HandlerEvent>;
}

/** What a handler's end is when it was not allowed to come to one. */
export const ABANDONED_EXIT_CODE = 137;
/** ... and when it stopped because it was asked to. */
export const CANCELLED_EXIT_CODE = 143;

/** Why a signal was aborted, in words. */
export function reasonText({ reason }: AbortSignal): string {
  return messageOf(reason);
}
