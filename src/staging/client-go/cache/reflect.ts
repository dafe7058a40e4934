import { defined } from "../../../util/defined.js";
import { LabError } from "../../../util/errors.js";
import { randomOf } from "../../../util/random.js";
import { isStatus, type KubeList, type KubeObject } from "../../apimachinery/api/meta.js";
import { isApiList, NOT_AN_API_SERVER } from "../rest/api-object.js";
import type { ClientCtx, KubeRequest, ReceivedEvent } from "../rest/client.js";

/**
 * The events of a reflected collection. A fresh list is not a change: its objects are between `init` and `initDone`.
 *
 * If a trace keeps causes, `causedBy` is the id of the watch event's fact, or of the list's request. Run the
 * consequences of the event, such as adding to a queue, in `trace.because(event, ...)`.
 */
export type ReflectEvent<T extends KubeObject = KubeObject> = { readonly causedBy?: string; readonly pod?: string } & (
  | { readonly type: "init" }
  | { readonly type: "initDone"; readonly objects: readonly T[] }
  | { readonly type: "applied"; readonly object: T }
  | { readonly type: "deleted"; readonly object: T }
);

export interface ReflectOptions {
  readonly path: string;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
}

/** client-go's reflector: 800 ms doubling to 30 s, plus up to 100 % jitter, reset after two quiet minutes. */
const INITIAL_BACKOFF_MS = 800;
const MAX_BACKOFF_MS = 30_000;
const BACKOFF_RESET_MS = 120_000;
/** A watch ends by itself after 5 to 10 minutes and is resumed from there. */
const MIN_WATCH_TIMEOUT_MS = 300_000;
const SHORT_WATCH_MS = 1_000;
/** A list of ten thousand objects is too large for one response from etcd. */
const PAGE_SIZE = 500;
/** The limit of all pages of a list, because a server could always name another page. */
const MAX_LIST_BYTES = 128 * 1024 * 1024;
const MAX_PAGES = 1_000;

/**
 * Lists a collection and then watches it until `signal` aborts (a normal end).
 *
 * Resumes an ended watch from the last resourceVersion seen. Lists again when that version is too old (410). Retries
 * with backoff while the server is unreachable. A connection that breaks ends a watch like the server's own end.
 *
 * Mirrors k8s.io/client-go/tools/cache/reflector.go (ListAndWatch, watchHandler).
 * Differs: yields events and keeps no store; 401 and 403 end it, because a learner should see them at once; pauses between
 * short watches that delivered events, which client-go resumes at once; bounds a list.
 *
 * @yields for each list `init`, one `applied` per object, `initDone` with all of them; then changes
 * @throws LabError UNAUTHORIZED, FORBIDDEN, CLUSTER_NOT_TRUSTED
 */
export async function* reflect<T extends KubeObject = KubeObject>(
  deps: ClientCtx,
  options: ReflectOptions,
  signal: AbortSignal,
): AsyncGenerator<ReflectEvent<T>> {
  const backoff = new ReflectorBackoff(deps);
  let resourceVersion: string | undefined;
  let shortWatches = 0;
  while (!signal.aborted) {
    let startMs: number | undefined;
    let events = 0;
    // A watch that lasted a while is resumed at once, and so is the first short one that delivered an event.
    const isTooSoon = () => {
      if (startMs === undefined) return true;
      shortWatches = deps.clock.now() - startMs < SHORT_WATCH_MS ? shortWatches + 1 : 0;
      return shortWatches > 0 && (events === 0 || shortWatches > 1);
    };
    try {
      if (resourceVersion === undefined) {
        const { list, cause } = await listAll<T>(deps, options, signal);
        yield { type: "init", ...cause };
        for (const object of list.items) yield { type: "applied", object, ...cause };
        yield { type: "initDone", objects: list.items, ...cause };
        resourceVersion = list.metadata.resourceVersion ?? "";
      }
      startMs = deps.clock.now();
      for await (const event of watchFrom<T>(deps, options, resourceVersion, signal)) {
        if (event.type === "ERROR") {
          if (!isExpired(event.object))
            throw new LabError("REFUSED", errorText(event.object), "The watch is tried again.");
          resourceVersion = undefined;
          break;
        }
        events++;
        resourceVersion = event.object.metadata.resourceVersion ?? resourceVersion;
        const { type, object, causedBy, pod } = event;
        const cause = defined({ causedBy, pod });
        if (type === "ADDED" || type === "MODIFIED") yield { type: "applied", object, ...cause };
        if (type === "DELETED") yield { type: "deleted", object, ...cause };
      }
      // A server that ends every watch at once or answers "too old" must not get requests in a tight loop.
      if (isTooSoon()) await backoff.wait(signal);
    } catch (error) {
      if (signal.aborted) return;
      if (!isWorthRetrying(error)) throw error;
      if (isUnreachable(error) && !isTooSoon()) continue;
      // The server answered "too old" with a status instead of an event: list again.
      if (error instanceof LabError && /: 410 /.test(error.message)) resourceVersion = undefined;
      await backoff.wait(signal).catch(ignoreAbort(signal));
    }
  }
}

async function listAll<T extends KubeObject>(
  { client, trace }: ClientCtx,
  options: ReflectOptions,
  signal: AbortSignal,
): Promise<{ readonly list: KubeList<T>; readonly cause: { readonly causedBy?: string } }> {
  const items: T[] = [];
  const budget = { leftBytes: MAX_LIST_BYTES };
  let next: string | undefined;
  for (let pages = 1; pages <= MAX_PAGES; pages++) {
    const query: KubeRequest["query"] = { ...selectors(options), limit: PAGE_SIZE, continue: next };
    const factId = trace.wantsCauses ? trace.newId() : undefined;
    const ids = defined({ factId });
    const page: unknown = await client.expect({ method: "GET", path: options.path, query, signal, budget, ...ids });
    if (!isApiList<T>(page))
      throw new LabError("REFUSED", `the response to GET ${options.path} is not a list`, NOT_AN_API_SERVER);
    const { apiVersion, kind } = page;
    // Items of a list have no kind of their own on the wire; events of a watch do.
    const itemKind = { apiVersion, kind: kind.replace(/List$/, "") };
    for (const item of page.items ?? []) items.push({ ...itemKind, ...item });
    next = page.metadata.continue === "" ? undefined : page.metadata.continue;
    // The last page completes the list.
    if (next === undefined) return { list: { ...page, items }, cause: defined({ causedBy: factId }) };
  }
  throw new LabError(
    "REFUSED",
    `the list of GET ${options.path} does not end: it has more than ${MAX_PAGES} pages`,
    NOT_AN_API_SERVER,
  );
}

function watchFrom<T extends KubeObject>(
  deps: ClientCtx,
  options: ReflectOptions,
  resourceVersion: string,
  signal: AbortSignal,
): AsyncIterable<ReceivedEvent<T>> {
  const timeoutSeconds = Math.floor((MIN_WATCH_TIMEOUT_MS * (1 + randomOf(deps.random, options.path).float())) / 1000);
  const query = { ...selectors(options), resourceVersion, allowWatchBookmarks: true, timeoutSeconds };
  return deps.client.watch<T>(options.path, query, signal);
}

function selectors({ fieldSelector, labelSelector }: ReflectOptions) {
  return { fieldSelector, labelSelector };
}

function isExpired(object: unknown): boolean {
  return isStatus(object) && (object.code === 410 || object.reason === "Expired" || object.reason === "Gone");
}

function errorText(object: unknown): string {
  return isStatus(object) ? `the watch ended with an error: ${object.message}` : "the watch ended with an error";
}

function isWorthRetrying(error: unknown): boolean {
  return isUnreachable(error) || (error instanceof LabError && error.code === "REFUSED");
}

/** Nothing listens at the address, or the connection broke. */
function isUnreachable(error: unknown): boolean {
  return error instanceof LabError && error.code === "CLUSTER_UNREACHABLE";
}

function ignoreAbort(signal: AbortSignal) {
  return (error: unknown) => {
    if (!signal.aborted) throw error;
  };
}

/**
 * The pauses of a reflector after a refusal, a lost connection or an unreachable server, in ms.
 * Mirrors k8s.io/apimachinery/pkg/util/wait (exponentialBackoffManagerImpl) with the reflector's numbers.
 */
export class ReflectorBackoff {
  #nextMs = INITIAL_BACKOFF_MS;
  #lastMs: number | undefined;

  constructor(readonly deps: Pick<ClientCtx, "clock" | "random">) {}

  /** @throws the signal's reason */
  async wait(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.deps;
    const now = clock.now();
    if (this.#lastMs !== undefined && now - this.#lastMs > BACKOFF_RESET_MS) this.#nextMs = INITIAL_BACKOFF_MS;
    this.#lastMs = now;
    const waitMs = this.#nextMs * (1 + random.float());
    this.#nextMs = Math.min(this.#nextMs * 2, MAX_BACKOFF_MS);
    await clock.sleep(waitMs, signal);
  }
}
