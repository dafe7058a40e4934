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

/**
 * A controller that is loaded and started when the registry holds the first object of one of its kinds, so that a cluster
 * that does not use them starts as fast as without it. An object that a restarted control plane finds counts as well.
 *
 * Differs: upstream starts every controller at once.
 */
export class FirstUseController implements Controller {
  /**
   * @param startsWith `deployments.apps`: any one of them starts it
   * @param load imports the module and makes the controller; called again after a failure
   * @param isUse an object for which it answers false does not count; default: every object counts
   */
  constructor(
    readonly name: string,
    readonly deps: FirstUseDeps,
    readonly startsWith: readonly string[],
    readonly load: () => Promise<Controller>,
    readonly isUse: (object: KubeObject) => boolean = () => true,
  ) {}

  async run(signal: AbortSignal): Promise<void> {
    const first = await this.#firstObject(signal);
    if (first === undefined) return;
    const { trace } = this.deps;
    const { resource, object } = first;
    const start = () =>
      asController(
        trace,
        {
          kind: "decision",
          what: `start the controller ${this.name}`,
          why: `the cluster has its first object of ${resource}: ${keyOf(object)}`,
          upstream: { file: FILE, func: "StartControllers" },
        },
        3,
      );
    trace.because({ causedBy: versionOf(object) }, start);
    const controller = await this.load();
    if (!signal.aborted) await controller.run(signal);
  }

  /** @returns undefined if `signal` aborts first */
  async #firstObject(signal: AbortSignal): Promise<FirstObject | undefined> {
    const served = new Set(this.deps.definitions.map(qualifiedResource));
    using search = new ChildAbort(signal);
    let first: FirstObject | undefined;
    const follow = async (resource: string, stop: AbortSignal) => {
      for await (const item of this.deps.client.reflect(resource, stop)) {
        if ((item.type !== "init" && item.type !== "applied") || !this.isUse(item.object)) continue;
        first ??= { resource, object: item.object };
        search.abort();
        break;
      }
    };
    const resources = this.startsWith.filter((resource) => served.has(resource));
    if (resources.length === 0) await untilAborted(signal);
    else await concurrently(search.signal, ...resources.map((one) => (stop: AbortSignal) => follow(one, stop)));
    return first;
  }
}

interface FirstObject {
  readonly resource: string;
  readonly object: KubeObject;
}
