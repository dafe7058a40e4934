import type { EventRecorder } from "../../../client-go/record/recorder.js";
import { messageOf } from "../../../util/errors.js";
import type { ResourceDefinition } from "../../registry/definition.js";
import type { ControllerDeps } from "../controller.js";
import type { SharedReflectors } from "../shared-reflector.js";

/** The dependencies of the controllers in this folder: `ControllerDeps`, and what they share. */
export interface SharedDeps extends ControllerDeps {
  readonly reflectors: SharedReflectors;
  /** the table of resources, for controllers that handle all kinds */
  readonly definitions: readonly ResourceDefinition[];
  /** Creates a recorder whose events name this component as their source: `node-controller`. */
  recorderFor(component: string): EventRecorder;
}

/** Facts of controllers carry this actor. */
export const AS_CONTROLLER = { actor: "controller" } as const;

/** Reports a failure with one key; the work queue retries it. */
export function retryReporter(deps: Pick<ControllerDeps, "trace">, controller: string) {
  return (key: string, error: unknown): void => {
    const conflict = (error as { code?: unknown }).code === 409;
    deps.trace.emit(
      { kind: "error", message: `${controller}: ${key}: ${messageOf(error)}`, hint: "it is tried again" },
      { ...AS_CONTROLLER, level: conflict ? 3 : 0 },
    );
  };
}
