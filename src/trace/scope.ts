import { AsyncLocalStorage } from "node:async_hooks";

/** The origin of a causal chain: the user's command, a timer, a client without a trace, the start of a server, or a change from outside. */
export type Origin = "command" | "timer" | "client" | "start" | "observed";

/** The reason why code runs. Its facts carry it. */
export interface Scope {
  readonly chapter?: string;
  /** the id of a fact, or an object version: see `versionOf` */
  readonly causedBy?: string;
  /** where the chain begins; for code without a cause */
  readonly origin?: Origin;
  /** the pod that the code works on: `default/web` */
  readonly pod?: string;
  /** the steps of a command that follow one another: the id of the last one */
  readonly sequence?: { last: string | undefined };
}

const storage = new AsyncLocalStorage<Scope>();

/**
 * The scope of the running code. A queue keeps it with each item, because the loop that takes the item out runs in the
 * scope that started the loop. Undefined while no trace keeps causes.
 */
export function currentScope(): Scope | undefined {
  return storage.getStore();
}

/** Runs `body` in a scope that `currentScope` returned; undefined: in the scope of the caller. */
export function runInScope<T>(scope: Scope | undefined, body: () => T): T {
  return scope === undefined ? body() : storage.run(scope, body);
}

/** Puts the running code and all that it calls into a scope, for callbacks that `runInScope` cannot wrap. */
export function enterScope(scope: Scope): void {
  storage.enterWith(scope);
}

/**
 * Names one version of an object. The response to a write and its watch event show the same version, so a reader of
 * several traces finds which request caused which watch event, even if the server traces nothing.
 * @returns undefined for objects without a version, such as a Status
 */
export function versionOf(object: unknown): string | undefined {
  const { uid, resourceVersion } =
    (object as { readonly metadata?: { readonly uid?: unknown; readonly resourceVersion?: unknown } } | undefined)
      ?.metadata ?? {};
  return typeof uid === "string" && typeof resourceVersion === "string" ? `${uid}@${resourceVersion}` : undefined;
}
