import { randomBytes, randomUUID } from "node:crypto";

/**
 * Randomness as a parameter, so that a test can repeat a run. Secrets (token secrets, keys) always come from
 * node:crypto.
 */
export interface Random {
  /** A number in [0, 1). */
  float(): number;
  /** An RFC 4122 version 4 UUID, lower case. */
  uuid(): string;
  bytes(count: number): Buffer;
  /** The randomness of one part of a run that can be repeated; absent: no run can. */
  part?(name: string): Random;
}

/**
 * Randomness that does not depend on the order in which other parts of the program ask for theirs.
 * @param name what it is for: `kubelet node-1`, `uid of pods default/web`
 */
export function randomOf(random: Random, name: string): Random {
  return random.part?.(name) ?? random;
}

/** The most bits that `readUIntBE` reads. */
const FLOAT_BYTES = 6;
/** System calls are expensive, so random bytes come from a pre-filled pool. */
const STORE_BYTES = 256 * FLOAT_BYTES;
/** Larger requests go to the system directly. */
const MAX_TAKEN_BYTES = 64;

/** The system's randomness. */
export class SystemRandom implements Random {
  #store: Buffer = Buffer.alloc(0);
  #used = 0;

  float(): number {
    const at = this.#take(FLOAT_BYTES);
    return this.#store.readUIntBE(at, FLOAT_BYTES) / 2 ** (8 * FLOAT_BYTES);
  }
  uuid(): string {
    return randomUUID();
  }
  bytes(count: number): Buffer {
    if (count > MAX_TAKEN_BYTES) return randomBytes(count);
    const at = this.#take(count);
    // Copied, because the pool is reused.
    return Buffer.from(this.#store.subarray(at, at + count));
  }
  /** @returns the offset of the bytes in the pool */
  #take(count: number): number {
    if (this.#used + count > this.#store.length) {
      this.#store = randomBytes(STORE_BYTES);
      this.#used = 0;
    }
    this.#used += count;
    return this.#used - count;
  }
}

/** The alphabet of generated names: no vowels, so that no words appear, and no 0, 1, 3. */
const NAME_ALPHABET = "bcdfghjklmnpqrstvwxz2456789";

/** Mirrors k8s.io/apimachinery/pkg/util/rand (String): the suffix of `generateName` and of events. */
export function randomSuffix(random: Random, length = 5): string {
  let out = "";
  for (let i = 0; i < length; i++) out += NAME_ALPHABET[Math.floor(random.float() * NAME_ALPHABET.length)];
  return out;
}
