import { AsyncLocalStorage } from "node:async_hooks";

/**
 * What begins a causal chain: the user's command, a timer, a client whose own facts are in no trace, the start of a server, or a
 * change that somebody else made.
 */
export type Origin = "command" | "timer" | "client" | "start" | "observed";

/** Why the running code runs. Facts that it reports carry it. */
export interface Scope {
  readonly chapter?: string;
  /** the id of a fact, or an object version: see `versionOf` */
  readonly causedBy?: string;
  /** where the chain begins; for code without a cause */
  readonly origin?: Origin;
  /** the pod that the code works on: `default/web` */
  readonly pod?: string;
}

const storage = new AsyncLocalStorage<Scope>();

/**
 * The scope of the running code. A queue keeps it with each item, because the loop that takes the item out runs in the scope of
 * whoever started the loop. undefined as long as no trace keeps causes.
 */
export function currentScope(): Scope | undefined {
  return storage.getStore();
}

/** Runs `body` in a scope that `currentScope` returned; undefined: in the scope of the caller. */
export function runInScope<T>(scope: Scope | undefined, body: () => T): T {
  return scope === undefined ? body() : storage.run(scope, body);
}

/** Puts the code that runs now and all that it calls into a scope, where a framework calls the code of the program. */
export function enterScope(scope: Scope): void {
  storage.enterWith(scope);
}

/**
 * Names one version of an object, as both the response to a write and the watch event of that write show it. So a reader of
 * several traces finds which request caused which watch event, also with a server that traces nothing.
 * @returns undefined for what has no version, such as a Status
 */
export function versionOf(object: unknown): string | undefined {
  const { uid, resourceVersion } =
    (object as { readonly metadata?: { readonly uid?: unknown; readonly resourceVersion?: unknown } } | undefined)
      ?.metadata ?? {};
  return typeof uid === "string" && typeof resourceVersion === "string" ? `${uid}@${resourceVersion}` : undefined;
}
