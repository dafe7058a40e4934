import type { KubeObject } from "../../staging/apimachinery/api/meta.js";
import { keyOf } from "../../staging/apimachinery/api/object-key.js";
import type { ApiResource } from "../../staging/apimachinery/api/resource.js";
import { qualifiedResource } from "../../staging/apimachinery/errors.js";
import { concurrently } from "../../staging/apimachinery/wait.js";
import type { LocalClient } from "../../staging/client-go/dynamic/interface.js";
import { versionOf } from "../../trace/scope.js";
import type { Trace } from "../../trace/trace.js";
import { ChildAbort } from "../../util/async/abort.js";
import { untilAborted } from "../../util/async/concurrency.js";
import type { Controller } from "./controller.js";
import { asController } from "./support/shared-deps.js";

const FILE = "cmd/kube-controller-manager/app/controllermanager.go";

interface FirstUseDeps {
  /** may list and watch the resources */
  readonly client: Pick<LocalClient, "reflect">;
  readonly trace: Trace;
  /** the table of resources: a release that does not serve a resource never has an object of it */
  readonly definitions: readonly ApiResource[];
}

/** A controller that many clusters never need. */
export interface FirstUse {
  readonly name: string;
  /** `deployments.apps`: the first object of any one of them starts it */
  readonly startsWith: readonly string[];
  /** Reports whether an object needs the controller. Default: every object does. */
  readonly isUse?: ((object: KubeObject) => boolean) | undefined;
  /** Imports the module and makes the controller; called again after a failure. */
  load(): Promise<Controller>;
}

/**
 * A controller that is loaded and started when the registry holds the first object of one of its kinds, so that a cluster
 * that does not use them starts as fast as without it. An object that a restarted control plane finds counts as well.
 *
 * Differs: upstream starts every controller at once.
 */
export function createFirstUseController(deps: FirstUseDeps, use: FirstUse): Controller {
  return { name: use.name, run: (signal) => run(deps, use, signal) };
}

async function run(deps: FirstUseDeps, use: FirstUse, signal: AbortSignal): Promise<void> {
  const first = await firstObject(deps, use, signal);
  if (first === undefined) return;
  const { trace } = deps;
  const { resource, object } = first;
  const start = () =>
    asController(
      trace,
      {
        kind: "decision",
        what: `start the controller ${use.name}`,
        why: `the cluster has its first object of ${resource}: ${keyOf(object)}`,
        upstream: { file: FILE, func: "StartControllers" },
      },
      3,
    );
  trace.because({ causedBy: versionOf(object) }, start);
  const controller = await use.load();
  if (!signal.aborted) await controller.run(signal);
}

/** @returns undefined if `signal` aborts first */
async function firstObject(
  { client, definitions }: FirstUseDeps,
  { startsWith, isUse = () => true }: FirstUse,
  signal: AbortSignal,
): Promise<FirstObject | undefined> {
  const served = new Set(definitions.map(qualifiedResource));
  using search = new ChildAbort(signal);
  let first: FirstObject | undefined;
  const follow = async (resource: string, stop: AbortSignal) => {
    for await (const item of client.reflect(resource, stop)) {
      if ((item.type !== "init" && item.type !== "applied") || !isUse(item.object)) continue;
      first ??= { resource, object: item.object };
      search.abort();
      break;
    }
  };
  const resources = startsWith.filter((resource) => served.has(resource));
  if (resources.length === 0) await untilAborted(signal);
  else await concurrently(search.signal, ...resources.map((one) => (stop: AbortSignal) => follow(one, stop)));
  return first;
}

interface FirstObject {
  readonly resource: string;
  readonly object: KubeObject;
}
