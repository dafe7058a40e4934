import { keyOf } from "../../../staging/apimachinery/api/object-key.js";
import { compareQuantities } from "../../../staging/apimachinery/quantity.js";
import { referenceTo } from "../../../staging/client-go/record/reference.js";
import { WorkQueue } from "../../../staging/client-go/workqueue.js";
import { type Claim, requestedBy } from "../../../staging/component-helpers/storage/volume.js";
import type { Controller } from "../controller.js";
import type { SharedDeps } from "../support/shared-deps.js";
import { changesOf, runSyncLoop } from "../support/sync-loop.js";

const NAME = "persistentvolume-expander";

/**
 * Records an Event about each claim that requests more than it has: only an external controller can expand it.
 * Mirrors pkg/controller/volume/expand/expand_controller.go (syncHandler) for volumes that its plugins cannot expand.
 */
export function createExpandController(deps: SharedDeps): Controller {
  const { clock, reflectors, trace } = deps;
  const claims = reflectors.of<Claim>("persistentvolumeclaims");
  const queue = new WorkQueue(clock);
  const recorder = deps.recorderFor("volume_expand");
  const sync = async (key: string) => {
    const claim = claims.byKey(key);
    const has = claim?.status?.capacity?.["storage"];
    if (claim === undefined || has === undefined || compareQuantities(requestedBy(claim), has) <= 0) return;
    const message = `Ignoring the PVC: didn't find a plugin capable of expanding the volume; waiting for an external controller to process this PVC.`;
    recorder.event(referenceTo(claim), "Warning", "ExternalExpanding", message);
  };
  const updated = (before: Claim, claim: Claim) => {
    if (compareQuantities(requestedBy(claim), requestedBy(before)) > 0) queue.add(keyOf(claim));
  };
  const sources = [changesOf(claims, { updated })];
  return { name: NAME, run: (signal) => runSyncLoop({ name: NAME, trace, queue, sources, sync }, signal) };
}
