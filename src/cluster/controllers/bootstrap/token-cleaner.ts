import { keyOf } from "../../../staging/apimachinery/api/object-key.js";
import { nameOf, type SecretObject } from "../../../staging/apimachinery/api/objects.js";
import { rfc3339 } from "../../../staging/apimachinery/time.js";
import { concurrently } from "../../../staging/apimachinery/wait.js";
import { forEachChange } from "../../../staging/client-go/informers/for-each-change.js";
import { WorkQueue } from "../../../staging/client-go/workqueue.js";
import { expirationMs } from "../../../staging/cluster-bootstrap/secret.js";
import type { Controller } from "../controller.js";
import { asController, retryReporter, type SharedDeps } from "../support/shared-deps.js";
import { isBootstrapToken } from "./tokens.js";

const NAME = "tokencleaner";

/**
 * Deletes each bootstrap token at its expiration, without polling.
 * Mirrors pkg/controller/bootstrap/tokencleaner.go.
 */
export function createTokenCleaner(deps: SharedDeps): Controller {
  return { name: NAME, run: (signal) => new TokenCleanerRun(deps).run(signal) };
}

class TokenCleanerRun {
  constructor(readonly deps: SharedDeps) {}

  async run(signal: AbortSignal): Promise<void> {
    const secrets = this.deps.reflectors.of<SecretObject>("secrets");
    const queue = new WorkQueue(this.deps.clock);
    const watch = async (stop: AbortSignal) => {
      await forEachChange(this.deps.trace, secrets.changes(stop), (item) => {
        if (item.type === "initDone" || !isBootstrapToken(item.object)) return;
        if (item.type === "deleted") queue.cancel(keyOf(item.object));
        else queue.add(keyOf(item.object));
      });
    };
    const evaluate = async (key: string) => {
      const secret = secrets.byKey(key);
      if (secret !== undefined) await this.#evalSecret(secret, queue);
    };
    const report = retryReporter(this.deps, NAME);
    await concurrently(signal, watch, (stop) => queue.run(evaluate, report, stop));
  }

  async #evalSecret(secret: SecretObject, queue: WorkQueue): Promise<void> {
    const { client, clock, trace } = this.deps;
    const endMs = expirationMs(secret);
    if (endMs === undefined) return;
    if (endMs > clock.now()) {
      queue.addAfter(keyOf(secret), endMs - clock.now());
      return;
    }
    const cause = asController(trace, {
      kind: "decision",
      what: `delete the bootstrap token ${nameOf(secret)}`,
      why: Number.isNaN(endMs) ? "its expiration cannot be read" : `it expired at ${rfc3339(endMs)}`,
      upstream: { file: "pkg/controller/bootstrap/tokencleaner.go", func: "evalSecret" },
    });
    const { namespace, uid } = secret.metadata;
    const options = uid === undefined ? {} : { preconditions: { uid } };
    await trace
      .because(cause, () => client.delete("secrets", namespace, nameOf(secret), options))
      .catch((error: unknown) => {
        // A new secret has this name now: the expired one is gone.
        if ((error as { code?: unknown }).code !== 409) throw error;
      });
  }
}
