import { asPod, type V1Pod } from "../../staging/apimachinery/api/pod.js";
import { reflect } from "../../staging/client-go/cache/reflect.js";
import type { ClientCtx } from "../../staging/client-go/rest/client.js";
import { collectionPath, PODS } from "../../staging/client-go/rest/paths.js";
import type { Trace } from "../../trace/trace.js";
import { defined } from "../../util/defined.js";
import { LabError } from "../../util/errors.js";
import { getPodFullName, podText } from "../types/pod-update.js";
import type { SourceChannel } from "./pod-config.js";
import { ApiserverSourceObserver } from "./pod-config-observer.js";

/** Mirrors WaitForAPIServerSyncPeriod. */
export const WAIT_FOR_API_SERVER_SYNC_PERIOD_MS = 1_000;
/** Delay after a refusal (401, 403), since the right may be granted later. The maximum of client-go's reflector. */
const REFUSED_RETRY_MS = 30_000;

export interface ApiserverSourceDeps extends ClientCtx {
  readonly trace: Trace;
}

/**
 * Watches the pods that are bound to this node, and sends all of them after each change.
 *
 * Mirrors pkg/kubelet/config/apiserver.go (NewSourceApiserver, newSourceApiserverFromLW).
 *
 * @param options.nodeHasSynced the first list waits for it, so that admission sees the node's labels and taints
 * @throws the signal's reason
 */
export async function runApiserverSource(
  deps: ApiserverSourceDeps,
  options: { readonly nodeName: string; readonly nodeHasSynced?: () => boolean },
  channel: SourceChannel,
  signal: AbortSignal,
): Promise<never> {
  const { clock, trace } = deps;
  const observer = new ApiserverSourceObserver(trace);
  while (options.nodeHasSynced?.() === false) await clock.sleep(WAIT_FOR_API_SERVER_SYNC_PERIOD_MS, signal);
  for (;;) {
    try {
      await watchPods(deps, observer, options.nodeName, channel, signal);
    } catch (error) {
      if (signal.aborted || !(error instanceof LabError)) throw error;
      observer.watchFailed(error.message, error.hint, REFUSED_RETRY_MS);
    }
    signal.throwIfAborted();
    await clock.sleep(REFUSED_RETRY_MS, signal);
  }
}

async function watchPods(
  deps: ApiserverSourceDeps,
  observer: ApiserverSourceObserver,
  nodeName: string,
  channel: SourceChannel,
  signal: AbortSignal,
): Promise<void> {
  const options = { path: collectionPath(PODS), fieldSelector: `spec.nodeName=${nodeName}` };
  observer.watches(options.fieldSelector);
  let store = new Map<string, V1Pod>();
  let isListing = false;
  for await (const event of reflect(deps, options, signal)) {
    if (event.type === "init") {
      store = new Map();
      isListing = true;
      continue;
    }
    let changed: V1Pod | undefined;
    let func: "Replace" | "Add" | "Update" | "Delete" = "Replace";
    if (event.type === "initDone") isListing = false;
    else {
      changed = asPod(event.object);
      if (changed === undefined) continue;
      const fullName = getPodFullName(changed);
      func = event.type === "deleted" ? "Delete" : store.has(fullName) ? "Update" : "Add";
      if (func === "Delete") store.delete(fullName);
      else store.set(fullName, changed);
    }
    if (isListing) continue;
    const cause = defined({ causedBy: event.causedBy, pod: changed && podText(changed) });
    await deps.trace.because(cause, () => {
      observer.pushes(func, store.size);
      return channel({ op: "SET", pods: [...store.values()] }, signal);
    });
  }
}
