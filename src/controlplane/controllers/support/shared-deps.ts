import type { EventRecorder } from "../../../client-go/record/recorder.js";
import { messageOf } from "../../../util/errors.js";
import type { ResourceDefinition } from "../../registry/definition.js";
import type { ControllerDeps } from "../controller.js";
import type { SharedReflectors } from "../shared-reflector.js";

/** What the controllers of this folder are given: a `ControllerDeps`, and what they share. */
export interface SharedDeps extends ControllerDeps {
  readonly reflectors: SharedReflectors;
  /** the table of resources, for the controllers that know no kind by name */
  readonly definitions: readonly ResourceDefinition[];
  /** A recorder whose events name this component as their source: `node-controller`. */
  recorderFor(component: string): EventRecorder;
}

/** Facts of controllers carry this actor. */
export const AS_CONTROLLER = { actor: "controller" } as const;

/** Reports what went wrong with one key; the work queue tries it again. */
export function retryReporter(deps: Pick<ControllerDeps, "trace">, controller: string) {
  return (key: string, error: unknown): void => {
    const conflict = (error as { code?: unknown }).code === 409;
    deps.trace.emit(
      { kind: "error", message: `${controller}: ${key}: ${messageOf(error)}`, hint: "it is tried again" },
      { ...AS_CONTROLLER, level: conflict ? 3 : 0 },
    );
  };
}
