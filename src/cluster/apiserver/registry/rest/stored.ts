import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import { semanticallyEqual } from "../../../../staging/apimachinery/semantic-equality.js";
import { isSet } from "../../../../util/records.js";
import type { Strategy } from "./definition.js";

/**
 * Strategies of kinds that are stored for clients, and that no controller here uses.
 * Mirrors the pattern that upstream's strategies of such kinds repeat.
 */

/** Adds nothing to the generic store. */
export const PLAIN: Strategy = { allowUnconditionalUpdate: true };

function withoutStatus(object: KubeObject): KubeObject {
  const { status: _status, ...rest } = object;
  return rest as KubeObject;
}

interface SpecAndStatusOptions {
  /** metadata.generation counts the changes of the spec */
  readonly counted?: boolean;
  /** the status of a new object, whatever the client sent */
  readonly freshStatus?: (object: KubeObject) => unknown;
  readonly strategy?: Strategy;
}

/** Clients write the spec through the main resource, and the status through /status. */
export function specAndStatus({ counted = false, freshStatus, strategy = {} }: SpecAndStatusOptions = {}): Strategy {
  return {
    allowUnconditionalUpdate: true,
    ...strategy,
    prepareForCreate(object, context) {
      const fresh = freshStatus?.(object);
      const bare = { ...withoutStatus(object), ...(isSet(fresh) ? { status: fresh } : {}) } as KubeObject;
      const prepared = strategy.prepareForCreate?.(bare, context) ?? bare;
      return counted ? withGeneration(prepared, 1) : prepared;
    },
    prepareForUpdate(object, old, context) {
      const kept: KubeObject = { ...object, status: old.status };
      const prepared = strategy.prepareForUpdate?.(kept, old, context) ?? kept;
      if (!counted || semanticallyEqual(prepared.spec, old.spec)) return prepared;
      // An older server may not have counted.
      return withGeneration(prepared, (old.metadata.generation ?? 0) + 1);
    },
  };
}

function withGeneration(object: KubeObject, generation: number): KubeObject {
  return { ...object, metadata: { ...object.metadata, generation } };
}
