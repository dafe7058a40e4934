import { isTerminating, nameOf } from "../../staging/apimachinery/api/objects.js";
import { concurrently } from "../../staging/apimachinery/wait.js";
import { forEachChange } from "../../staging/client-go/informers/for-each-change.js";
import { WorkQueue } from "../../staging/client-go/workqueue.js";
import type { Controller } from "./controller.js";
import { retryReporter, type SharedDeps } from "./support/shared-deps.js";

const NAME = "default";

/**
 * Keeps a service account `default` in every active namespace.
 * Mirrors pkg/controller/serviceaccount/serviceaccounts_controller.go.
 */
export class ServiceAccountsController implements Controller {
  readonly name = "serviceaccount";
  readonly #deps: SharedDeps;

  constructor(deps: SharedDeps) {
    this.#deps = deps;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { client, clock, reflectors } = this.#deps;
    const namespaces = reflectors.of("namespaces");
    const accounts = reflectors.of("serviceaccounts");
    const queue = new WorkQueue(clock);
    const watchNamespaces = async (stop: AbortSignal) => {
      await forEachChange(this.#deps.trace, namespaces.changes(stop), (item) => {
        if (item.type !== "initDone" && item.type !== "deleted") queue.add(nameOf(item.object));
      });
    };
    const watchAccounts = async (stop: AbortSignal) => {
      await forEachChange(this.#deps.trace, accounts.changes(stop), (item) => {
        if (item.type === "deleted" && nameOf(item.object) === NAME) queue.add(item.object.metadata.namespace ?? "");
      });
    };
    const ensure = async (namespace: string) => {
      const object = namespaces.byKey(namespace);
      if (object === undefined || isTerminating(object) || accounts.get(namespace, NAME) !== undefined) return;
      const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: NAME, namespace } };
      await client.create("serviceaccounts", namespace, account).catch((error: unknown) => {
        // Another client created it, or the namespace began to terminate: wait for the next watch event.
        const { code } = error as { code?: unknown };
        if (code !== 409 && code !== 403 && code !== 404) throw error;
      });
    };
    const report = retryReporter(this.#deps, this.name);
    await concurrently(signal, watchNamespaces, watchAccounts, async (stop) => {
      await accounts.synced(stop);
      await queue.run(ensure, report, stop);
    });
  }
}
