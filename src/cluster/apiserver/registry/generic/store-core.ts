import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import type { AdmissionPlugin } from "../../../../staging/server/admission/interfaces.js";
import type { Trace } from "../../../../trace/trace.js";
import type { Clock } from "../../../../util/clock.js";
import { defined } from "../../../../util/defined.js";
import type { Random } from "../../../../util/random.js";
import { type ResourceKeys, resourceKeys } from "../../storage/keys.js";
import type { Storage, StoredEntry, WriteOptions } from "../../storage/storage.js";
import { AdmissionChains } from "../rest/admission-chain.js";
import type { ResourceDefinition, StoredAs, StrategyContext } from "../rest/definition.js";
import type { RequestContext } from "../rest/registry.js";
import type { StoreHooks } from "../rest/store-hooks.js";
import { Selector } from "./selection.js";

/** What all stores of a registry share. */
export interface StoreDeps {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly random: Random;
  /** gets a fact for each write, if it keeps causes */
  readonly trace: Trace;
  /** read at each request, because plugins that need the registry are added later */
  readonly admission: readonly AdmissionPlugin[];
  /** `1.25` */
  readonly kubeVersion: string;
  /** an empty object of the kind, for bookmarks; absent: metadata only */
  readonly emptyObject?: (definition: ResourceDefinition) => KubeObject;
}

/** One resource's part of the storage, for its operations (`create.ts`, `list.ts`, …). */
export interface StoreCore extends StoreDeps {
  readonly definition: ResourceDefinition;
  /** the row that stores the objects. An error about an invalid object has its kind: upstream validates the internal type. */
  readonly storing: ResourceDefinition;
  readonly keys: ResourceKeys;
  readonly selector: Selector;
  readonly chains: AdmissionChains;
  readonly hooks: StoreHooks | undefined;
  /** the options of each write */
  readonly writing: WriteOptions;
  /** the object of an entry, in this row's kind */
  read(entry: StoredEntry): KubeObject;
  /** converts a stored object to this row's kind */
  show(stored: KubeObject): KubeObject;
  toStored(object: KubeObject): KubeObject;
}

/** @param storing the row whose keys are used if `definition` is a view of it */
export function storeCore(deps: StoreDeps, definition: ResourceDefinition, storing: ResourceDefinition): StoreCore {
  const read = definition.storedAs?.fromStored ?? definition.readStored?.bind(definition);
  const show = read === undefined ? (stored: KubeObject) => stored : once(read);
  const ttlMs = storing.timeToLiveMs?.(deps.kubeVersion);
  return {
    ...deps,
    definition,
    storing,
    keys: resourceKeys(storing),
    selector: new Selector(definition),
    chains: new AdmissionChains(deps.admission, definition),
    hooks: definition.createHooks?.(deps),
    writing: ttlMs === undefined ? {} : { ttlSeconds: ttlMs / 1000 },
    show,
    read: (entry) => show(entry.object),
    toStored: definition.storedAs?.toStored ?? ((object) => object),
  };
}

/** Converts each stored object once: its readers and watchers share the result. */
function once(fromStored: StoredAs["fromStored"]): (stored: KubeObject) => KubeObject {
  const shown = new WeakMap<KubeObject, KubeObject>();
  return (stored) => {
    let object = shown.get(stored);
    if (object === undefined) {
      object = fromStored(stored);
      shown.set(stored, object);
    }
    return object;
  };
}

export function strategyContext(core: StoreCore, context: RequestContext): StrategyContext {
  return {
    user: context.user,
    nowMs: core.clock.now(),
    kubeVersion: core.kubeVersion,
    warn: (text) => context.warnings.push(text),
    report: (what, why) =>
      core.trace.emit(
        { kind: "decision", what, why, ...defined({ auditId: context.auditId }) },
        { actor: "apiserver" },
      ),
  };
}
