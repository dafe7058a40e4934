import { keyOf } from "../../../../staging/apimachinery/api/object-key.js";
import { nameOf } from "../../../../staging/apimachinery/api/objects.js";
import type { LocalClient } from "../../../../staging/client-go/dynamic/interface.js";
import type { Upstream } from "../../../../trace/events.js";
import type { Trace } from "../../../../trace/trace.js";
import { messageOf } from "../../../../util/errors.js";
import { isNamespaceTerminating } from "../../support/pod-control.js";
import { decide } from "../../support/sync-loop.js";
import type { EndpointSliceTracker } from "./slice-tracker.js";
import { ENDPOINT_SLICES, type EndpointSlice, type SliceChanges } from "./slices.js";

interface WriterDeps {
  readonly client: Pick<LocalClient, "create" | "update" | "delete">;
  readonly trace: Trace;
  readonly tracker: EndpointSliceTracker;
}

interface WriteOptions {
  /** for messages: `Service default/web` */
  readonly owner: string;
  /** why, with its numbers */
  readonly why: string;
  readonly upstream: Upstream;
  /** The owner is being deleted: its slices are, too. */
  readonly mayCreate: boolean;
}

/**
 * Creates, updates and deletes slices, each for one reported decision.
 *
 * Mirrors finalize in pkg/controller/endpointslice/reconciler.go and pkg/controller/endpointslicemirroring/reconciler.go.
 * @throws Error with upstream's words when a write fails; the others are left for the next pass
 */
export async function writeSlices(deps: WriterDeps, changes: SliceChanges, options: WriteOptions): Promise<void> {
  const { client, tracker } = deps;
  const { owner, mayCreate } = options;
  for (const slice of mayCreate ? changes.create : []) {
    const { namespace } = slice.metadata;
    const write = () => client.create<EndpointSlice>(ENDPOINT_SLICES, namespace, slice);
    try {
      tracker.update(await report(deps, "create", slice, options, write));
    } catch (error) {
      // A namespace that is being deleted gets no new slices, however often it is tried.
      if (isNamespaceTerminating(error)) return;
      throw new Error(`failed to create EndpointSlice for ${owner}: ${messageOf(error)}`, { cause: error });
    }
  }
  for (const slice of changes.update) {
    try {
      const write = () => client.update<EndpointSlice>(ENDPOINT_SLICES, slice);
      tracker.update(await report(deps, "update", slice, options, write));
    } catch (error) {
      throw failed("update", slice, owner, error);
    }
  }
  for (const slice of changes.delete) {
    const { namespace } = slice.metadata;
    try {
      await report(deps, "delete", slice, options, () => client.delete(ENDPOINT_SLICES, namespace, nameOf(slice)));
    } catch (error) {
      throw failed("delete", slice, owner, error);
    }
    tracker.expectDeletion(slice);
  }
}

function failed(verb: string, slice: EndpointSlice, owner: string, cause: unknown): Error {
  return new Error(`failed to ${verb} ${nameOf(slice)} EndpointSlice for ${owner}: ${messageOf(cause)}`, { cause });
}

function report<T>(
  { trace }: WriterDeps,
  verb: string,
  slice: EndpointSlice,
  { owner, why, upstream }: WriteOptions,
  write: () => Promise<T>,
): Promise<T> {
  const count = slice.endpoints?.length ?? 0;
  const endpoints = `${count} ${count === 1 ? "endpoint" : "endpoints"}`;
  const name = nameOf(slice) === "" ? `for ${owner}` : keyOf(slice);
  const what = verb === "delete" ? `delete EndpointSlice ${name}` : `${verb} EndpointSlice ${name} with ${endpoints}`;
  return decide(trace, { what, why, upstream }, write);
}
