import { isRecord } from "../../../util/records.js";
import type { PodTemplate } from "./pod-control.js";

/** Where a hash of 32 bits begins, and what each byte multiplies it by. Mirrors hash/fnv. */
export const FNV_OFFSET = 0x811c9dc5;
export const FNV_PRIME = 0x01000193;
/** No vowels, so that no words appear. */
const SAFE_ALPHABET = "bcdfghjklmnpqrstvwxz2456789";

/**
 * The hash of a pod template, for the label and the name of its ReplicaSet: `6d4cf56db6`.
 *
 * Mirrors ComputeHash in pkg/controller/controller_utils.go (FNV-1a, SafeEncodeString).
 * Differs: it is computed from JSON with sorted keys, upstream from a print of Go structures, so the digits are others.
 *
 * @param collisionCount changes the hash after another object took the name
 */
export function computeHash(template: PodTemplate, collisionCount?: number): string {
  let hash = fnv1a(FNV_OFFSET, Buffer.from(JSON.stringify(sorted(template)), "utf8"));
  if (collisionCount !== undefined) {
    const bytes = Buffer.alloc(8);
    bytes.writeUInt32LE(collisionCount >>> 0);
    hash = fnv1a(hash, bytes);
  }
  return safeEncodeString(String(hash));
}

function fnv1a(start: number, bytes: Uint8Array): number {
  let hash = start;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, FNV_PRIME) >>> 0;
  return hash;
}

/** Spells the digits of a hash with letters and digits of which no word can be made. Mirrors SafeEncodeString in k8s.io/apimachinery/pkg/util/rand/rand.go. */
export function safeEncodeString(text: string): string {
  return [...Buffer.from(text)].map((byte) => SAFE_ALPHABET[byte % SAFE_ALPHABET.length]).join("");
}

/** Without the members that are null: they mean the same as absent ones. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isRecord(value)) return value;
  const present = Object.entries(value).filter(([, member]) => member !== undefined && member !== null);
  return Object.fromEntries(present.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, member]) => [key, sorted(member)]));
}
