import { StatusError } from "../../../../staging/apimachinery/errors.js";
import type { Trace } from "../../../../trace/trace.js";
import type { Clock } from "../../../../util/clock.js";
import { isAbortError } from "../../../../util/errors.js";
import type { Registry } from "../rest/registry.js";
import type { DefinitionsController } from "./controller/definitions-controller.js";
import type { RulesOf } from "./customresource/rows.js";
import { hasRules } from "./schema/structural.js";
import { DEFINITIONS, type Definition } from "./types.js";

interface ServingDeps {
  readonly registry: Registry;
  readonly clock: Clock;
  readonly trace: Trace;
  /** `1.25` */
  readonly kubeVersion: string;
}

/** Delay between a broken watch and the next list. */
const RELIST_DELAY_MS = 1_000;

/** Follows the CustomResourceDefinitions of a cluster, and serves their kinds. */
export interface DefinitionServing {
  close(): Promise<void>;
}

/**
 * Serves the kinds that the stored definitions describe, then those that come. What that needs is loaded with the first
 * definition: most clusters have none.
 */
export async function serveDefinitions(deps: ServingDeps): Promise<DefinitionServing> {
  const stop = new AbortController();
  const follower = new Follower(deps, stop.signal);
  const revision = await follower.list();
  const running = deps.trace.detached(() => follower.follow(revision), "timer");
  return {
    async close() {
      stop.abort();
      await running;
      await follower.ended();
    },
  };
}

/** Loads the language of rules for a definition that has some. */
async function rulesFor(definition: Definition): Promise<RulesOf> {
  return hasRules(definition) ? (await import("./cel/rules.js")).rulesOf : () => undefined;
}

class Follower {
  #controller: DefinitionsController | undefined;
  #running: Promise<void> = Promise.resolve();
  readonly #known = new Set<string>();

  constructor(
    readonly deps: ServingDeps,
    readonly signal: AbortSignal,
  ) {}

  /** @returns the revision of the list */
  async list(): Promise<string> {
    const { items, metadata } = await this.deps.registry.store(DEFINITIONS).list(undefined);
    const isFirst = this.#controller === undefined;
    if (items.length > 0) {
      const controller = await this.#load();
      const names = new Set(items.map((one) => one.metadata.name ?? ""));
      for (const gone of [...this.#known].filter((name) => !names.has(name)))
        this.#changed(controller, gone, undefined);
      for (const name of names) this.#known.add(name);
      if (isFirst) await controller.start(items);
      else for (const one of items) this.#changed(controller, one.metadata.name ?? "", one as Definition);
    }
    return metadata.resourceVersion ?? "";
  }

  async follow(first: string): Promise<void> {
    const { registry, clock } = this.deps;
    let resourceVersion = first;
    while (!this.signal.aborted) {
      try {
        for await (const { type, object } of registry
          .store(DEFINITIONS)
          .watch(undefined, { resourceVersion }, this.signal)) {
          if (type === "ERROR") break;
          if (type === "BOOKMARK") continue;
          const definition = type === "DELETED" ? undefined : (object as Definition);
          this.#changed(await this.#load(), object.metadata.name ?? "", definition);
        }
        // A storage that is closing ends each watch at once.
        await clock.sleep(RELIST_DELAY_MS, this.signal);
        resourceVersion = await this.list();
      } catch (error) {
        if (!isAbortError(error) && !(error instanceof StatusError)) throw error;
        await clock.sleep(RELIST_DELAY_MS, this.signal).catch(() => undefined);
      }
    }
  }

  #changed(controller: DefinitionsController, name: string, definition: Definition | undefined): void {
    if (definition === undefined) this.#known.delete(name);
    else this.#known.add(name);
    controller.changed(name, definition);
  }

  async #load(): Promise<DefinitionsController> {
    if (this.#controller !== undefined) return this.#controller;
    const { DefinitionsController } = await import("./controller/definitions-controller.js");
    const controller = new DefinitionsController({ ...this.deps, rulesOf: rulesFor });
    this.#controller = controller;
    this.#running = controller.run(this.signal).catch((error: unknown) => {
      if (!this.signal.aborted) throw error;
    });
    return controller;
  }

  ended(): Promise<void> {
    return this.#running;
  }
}
