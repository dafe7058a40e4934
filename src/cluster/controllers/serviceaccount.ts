import { isTerminating, nameOf } from "../../staging/apimachinery/api/objects.js";
import { concurrently } from "../../staging/apimachinery/wait.js";
import { forEachChange } from "../../staging/client-go/informers/for-each-change.js";
import { WorkQueue } from "../../staging/client-go/workqueue.js";
import type { Controller } from "./controller.js";
import { retryReporter, type SharedDeps } from "./support/shared-deps.js";

const NAME = "serviceaccount";
const ACCOUNT = "default";

/**
 * Keeps a service account `default` in every active namespace.
 * Mirrors pkg/controller/serviceaccount/serviceaccounts_controller.go.
 */
export function createServiceAccountsController(deps: SharedDeps): Controller {
  return { name: NAME, run: (signal) => run(deps, signal) };
}

async function run(deps: SharedDeps, signal: AbortSignal): Promise<void> {
  const { client, clock, reflectors } = deps;
  const namespaces = reflectors.of("namespaces");
  const accounts = reflectors.of("serviceaccounts");
  const queue = new WorkQueue(clock);
  const watchNamespaces = async (stop: AbortSignal) => {
    await forEachChange(deps.trace, namespaces.changes(stop), (item) => {
      if (item.type !== "initDone" && item.type !== "deleted") queue.add(nameOf(item.object));
    });
  };
  const watchAccounts = async (stop: AbortSignal) => {
    await forEachChange(deps.trace, accounts.changes(stop), (item) => {
      if (item.type === "deleted" && nameOf(item.object) === ACCOUNT) queue.add(item.object.metadata.namespace ?? "");
    });
  };
  const ensure = async (namespace: string) => {
    const object = namespaces.byKey(namespace);
    if (object === undefined || isTerminating(object) || accounts.get(namespace, ACCOUNT) !== undefined) return;
    const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: ACCOUNT, namespace } };
    await client.create("serviceaccounts", namespace, account).catch((error: unknown) => {
      // Another client created it, or the namespace began to terminate: wait for the next watch event.
      const { code } = error as { code?: unknown };
      if (code !== 409 && code !== 403 && code !== 404) throw error;
    });
  };
  const report = retryReporter(deps, NAME);
  await concurrently(signal, watchNamespaces, watchAccounts, async (stop) => {
    await accounts.synced(stop);
    await queue.run(ensure, report, stop);
  });
}
