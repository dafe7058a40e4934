import type { ApiResource } from "../../../staging/apimachinery/api/resource.js";
import type { SharedReflectors } from "../../../staging/client-go/informers/shared-reflector.js";
import type { EventRecorder } from "../../../staging/client-go/record/recorder.js";
import type { Fact } from "../../../trace/events.js";
import type { Cause, Level, Trace } from "../../../trace/trace.js";
import { defined } from "../../../util/defined.js";
import { messageOf } from "../../../util/errors.js";
import type { ControllerDeps } from "../controller.js";

/** The dependencies of the controllers in this folder: `ControllerDeps`, and what they share. */
export interface SharedDeps extends ControllerDeps {
  readonly reflectors: SharedReflectors;
  /** the table of resources, for controllers that handle all kinds */
  readonly definitions: readonly ApiResource[];
  /** calls back after each change of the table; absent: it does not change */
  onDefinitions?(listener: () => void): void;
  /** Creates a recorder whose events name this component as their source: `node-controller`. */
  recorderFor(component: string): EventRecorder;
}

/** Emits a fact of a controller. @returns the cause of what a decision leads to: act in `trace.because(...)` */
export function asController(trace: Trace, fact: Fact, level?: Level): Cause {
  return { causedBy: trace.emit(fact, { actor: "controller", ...defined({ level }) }).id };
}

/**
 * A controller's cache does not show its own writes yet. Mirrors StaleInformerCache in
 * pkg/controller/util/endpointslice/errors.go.
 */
export class StaleInformerCache extends Error {}

/** The number of failing keys that are remembered. With more, a repeated failure of the oldest is reported again. */
const MAX_REMEMBERED = 1000;

/**
 * Reports a failure with one key; the work queue retries it. A failure that repeats, and what a cache causes that is about to
 * change, is a detail.
 */
export function retryReporter(deps: Pick<ControllerDeps, "trace">, controller: string) {
  const last = new Map<string, string>();
  return (key: string, error: unknown, failures = 0): void => {
    const message = `${controller}: ${key}: ${messageOf(error)}`;
    const isRepeated = failures > 0 && last.get(key) === message;
    const isStale = (error as { code?: unknown }).code === 409 || error instanceof StaleInformerCache;
    last.delete(key);
    last.set(key, message);
    const [oldest] = last.keys();
    if (last.size > MAX_REMEMBERED && oldest !== undefined) last.delete(oldest);
    asController(deps.trace, { kind: "error", message, hint: "it is tried again" }, isStale || isRepeated ? 3 : 0);
  };
}
