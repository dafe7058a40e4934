import { SharedReflectors, sharingReflectors } from "../../staging/client-go/informers/shared-reflector.js";
import type { UserInfo } from "../../staging/server/authentication/user.js";
import type { HealthCheck } from "../../staging/server/healthz.js";
import { randomOf } from "../../util/random.js";
import type { Controller } from "../controllers/controller.js";
import {
  CONTROLLER_MANAGER,
  type ControllersDeps,
  type ControllersOptions,
  createControllers,
} from "../controllers/create-controllers.js";
import { runControllers } from "../controllers/run-controllers.js";
import type { Binder } from "../scheduler/framework.js";
import { createScheduler } from "../scheduler/scheduler.js";

/** The dependencies of the controllers and the scheduler. */
export interface ComponentsDeps extends ControllersDeps {
  /** Creates the scheduler's binder. Without it no scheduler is started. */
  binderFor?(user: UserInfo): Binder;
}

/** What upstream runs as processes of their own. */
export type Component = "controller-manager" | "scheduler";

export interface ComponentsOptions extends ControllersOptions {
  /** the controllers of this component alone; default: of both */
  readonly component?: Component;
  /** names of controllers to leave out */
  readonly without?: readonly string[];
}

/** The running controllers, and those that wait for the first object of their kind or for their leadership. */
export interface RunningControllers extends AsyncDisposable {
  readonly names: readonly string[];
  /** why a controller that waits for its restart failed, by name */
  readonly failures: ReadonlyMap<string, string>;
  /** Stops them all and waits for their end. Safe to call twice. */
  close(): Promise<void>;
}

/** Creates and starts the controllers and the scheduler, which share one reflector per resource. Returns at once. */
export function startControllers(deps: ComponentsDeps, options: ComponentsOptions = {}): RunningControllers {
  const reflectors = new SharedReflectors(deps.clientFor(CONTROLLER_MANAGER), deps.trace);
  const isWanted = ({ name }: Controller) =>
    options.without?.includes(name) !== true && (options.component ?? componentOf(name)) === componentOf(name);
  const own = (name: Component) => ({ ...deps, random: randomOf(deps.random, name) });
  const all = [
    ...createControllers(own("controller-manager"), reflectors, options),
    ...schedulerOf(own("scheduler"), reflectors),
  ];
  const controllers = all.filter(isWanted);
  const stop = new AbortController();
  const failures = new Map<string, string>();
  const running = runControllers(controllers, deps, stop.signal, failures);
  const close = async () => {
    stop.abort();
    await Promise.all([running, reflectors.close()]);
  };
  return { names: controllers.map(({ name }) => name), failures, close, [Symbol.asyncDispose]: close };
}

/**
 * The health of the two components that upstream runs as processes of their own.
 * @param running undefined while no controllers run
 */
export function controllerChecks(
  running: () => Pick<RunningControllers, "names" | "failures"> | undefined,
): readonly HealthCheck[] {
  const check = (name: Component): HealthCheck => ({
    name,
    check() {
      const { names = [], failures = new Map<string, string>() } = running() ?? {};
      if (!names.some((controller) => componentOf(controller) === name)) throw new Error("not running");
      const failed = [...failures].filter(([controller]) => componentOf(controller) === name);
      if (failed.length > 0) throw new Error(failed.map(([controller, why]) => `${controller}: ${why}`).join("; "));
    },
  });
  return [check("controller-manager"), check("scheduler")];
}

function componentOf(controller: string): Component {
  return controller === "scheduler" ? "scheduler" : "controller-manager";
}

/** Upstream runs the scheduler as a separate process; here it starts and stops with the controllers. */
function schedulerOf(deps: ComponentsDeps, reflectors: SharedReflectors): readonly Controller[] {
  if (deps.binderFor === undefined) return [];
  const client = sharingReflectors(deps.clientFor(KUBE_SCHEDULER), reflectors);
  return [createScheduler({ ...deps, client, reflectors, bind: deps.binderFor(KUBE_SCHEDULER) })];
}

/** Whom the API server takes the scheduler for. */
export const KUBE_SCHEDULER: UserInfo = { username: "system:kube-scheduler", groups: ["system:authenticated"] };
