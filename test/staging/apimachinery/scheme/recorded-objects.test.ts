import { describe, expect, test } from "vitest";
import { typeNames } from "../../../../src/staging/apimachinery/scheme/catalogue.js";
import { decodeWalking } from "../../../../src/staging/apimachinery/scheme/decode.js";
import { MISSING_RECORDINGS, recorded } from "../../../support/recordings.js";

const TOPICS = ["auth", "csr", "discovery", "lease-node", "node-lifecycle", "pods", "tables", "watch"];

/** The decoder returns the server's own objects unchanged: nothing lost, added or moved. */
describe.skipIf(MISSING_RECORDINGS)("recorded objects decode to themselves", () => {
  for (const topic of TOPICS) {
    test(topic, () => {
      const objects = recorded(topic).flatMap(({ name, response }) => [
        ...objectsIn(name, response.body),
        ...objectsIn(name, response.events),
      ]);
      expect(objects.length).toBeGreaterThan(3);
      for (const { name, type, object } of objects) {
        const decoded = decodeWalking(type, object, { unknown: false, keys: 0 });
        expect(JSON.stringify(decoded, null, 1), name).toEqual(JSON.stringify(object, null, 1));
      }
    });
  }
});

type Json = Readonly<Record<string, unknown>>;

function* objectsIn(name: string, value: unknown): Generator<{ name: string; type: string; object: Json }> {
  if (typeof value !== "object" || value === null) return;
  const record = value as Json;
  const type = "metadata" in record ? typeOf(record) : "";
  if (type.endsWith("List") && Array.isArray(record.items)) {
    const itemType = type.slice(0, -"List".length);
    for (const object of record.items as Json[]) {
      if (typeNames().includes(itemType) && !isCut(object)) yield { name, type: itemType, object };
    }
  } else if (typeNames().includes(type)) {
    if (!isCut(value)) yield { name, type, object: record };
  } else for (const item of Object.values(record)) yield* objectsIn(name, item);
}

function typeOf({ apiVersion, kind }: Json): string {
  if (!String(apiVersion).endsWith("v1")) return "";
  return apiVersion === "events.k8s.io/v1" && String(kind).startsWith("Event") ? `events.${kind}` : String(kind);
}

/** The recorder omitted parts: objects with an ellipsis, a pod without a spec, a token in pieces, a missing time. */
function isCut(value: unknown): boolean {
  const { kind, spec, metadata } = value as Json;
  const text = JSON.stringify(value);
  const isWithoutTimes = kind !== "Status" && !Object.hasOwn(metadata as object, "creationTimestamp");
  return text.includes("…") || text.includes('"token":{') || isWithoutTimes || (kind === "Pod" && spec === undefined);
}
