import type { WatchEvent } from "../../../staging/apimachinery/api/meta.js";
import { runInScope, type Scope, versionOf } from "../../../trace/scope.js";
import type { Trace } from "../../../trace/trace.js";
import { defined } from "../../../util/defined.js";
import { counted } from "../../../util/text/counted.js";
import { STAGE_LEVEL } from "../registry/rest/stages.js";
import type { StorageEvent } from "../storage/storage.js";
import { resourcePrefixOf } from "../storage/watch-hub.js";

const UPSTREAM = { file: "staging/src/k8s.io/apiserver/pkg/storage/cacher/cacher.go", func: "dispatchEvent" };

/** One change on its way to the watches of its resource. */
interface Dispatch {
  readonly event: StorageEvent;
  /** watches that have it in their queue, in this process and over HTTPS */
  readonly watches: number;
  /** by the bytes that were sent: how many clients got them */
  readonly sent: Map<Buffer | string, number>;
  /** of the write */
  readonly scope?: Scope;
}

/**
 * Reports for each change how many watches got it, and how many clients the same bytes: an event is encoded once for all that want
 * the same form. One report per change, when the clients that read fast have theirs.
 */
export class DispatchReport {
  readonly #dispatches = new Map<number, Dispatch>();

  constructor(readonly trace: Trace) {}

  /** Called after a storage has sent a change to its watches; not called without watches, as in a new cluster. */
  published(event: StorageEvent, watches: number): void {
    if (watches === 0 || !this.trace.wants(STAGE_LEVEL)) return;
    if (this.#dispatches.size === 0) setImmediate(() => this.#report());
    const { scope } = this.trace.keepScope(defined({ causedBy: versionOf(event.object) }));
    this.#dispatches.set(event.revision, { event, watches, sent: new Map(), ...defined({ scope }) });
  }

  /** An event was encoded for a client. Slow clients are too late for the report. */
  encoded({ object }: WatchEvent, line: Buffer | string): void {
    if (this.#dispatches.size === 0) return;
    const dispatch = this.#dispatches.get(Number(object.metadata.resourceVersion));
    dispatch?.sent.set(line, (dispatch.sent.get(line) ?? 0) + 1);
  }

  #report(): void {
    const dispatches = [...this.#dispatches.values()];
    this.#dispatches.clear();
    for (const { event, watches, sent, scope } of dispatches) {
      const type = event.type === "delete" ? "DELETED" : event.previous === undefined ? "ADDED" : "MODIFIED";
      const prefix = resourcePrefixOf(event.key);
      const what = `event ${type} ${event.key} at revision ${event.revision}: ${counted(watches, "watch", "es")} of ${prefix}`;
      runInScope(scope, () =>
        this.trace.emit(
          { kind: "decision", what, why: sentTo(sent), upstream: UPSTREAM },
          { actor: "apiserver", level: STAGE_LEVEL },
        ),
      );
    }
  }
}

/** `2 clients over HTTPS got the same 812 bytes, encoded once` */
function sentTo(sent: Dispatch["sent"]): string {
  if (sent.size === 0) return "none of them is a client over HTTPS that asks for this object";
  const parts = [...sent].map(([line, clients]) => {
    const bytes = `${Buffer.byteLength(line)} bytes`;
    return clients === 1
      ? `1 client over HTTPS got ${bytes}`
      : `${clients} clients got the same ${bytes}, encoded once`;
  });
  return parts.join("; ");
}
