import { createHash } from "node:crypto";
import type { Random } from "./random.js";

/**
 * Random numbers that are the same for the same seed: SHA-256 of the seed and a counter. Not for secrets. Each part has numbers of its
 * own, and is kept, so that it goes on when it is asked for again.
 */
export class SeededRandom implements Random {
  #count = 0;
  readonly #parts = new Map<string, SeededRandom>();

  constructor(readonly seed: number | string) {}

  part(name: string): SeededRandom {
    const known = this.#parts.get(name);
    if (known !== undefined) return known;
    const made = new SeededRandom(`${this.seed}/${name}`);
    this.#parts.set(name, made);
    return made;
  }

  bytes(count: number): Buffer {
    const parts: Buffer[] = [];
    for (let length = 0; length < count; length += 32) {
      parts.push(
        createHash("sha256")
          .update(`${this.seed} ${this.#count++}`)
          .digest(),
      );
    }
    return Buffer.concat(parts).subarray(0, count);
  }

  float(): number {
    return this.bytes(6).readUIntBE(0, 6) / 2 ** 48;
  }

  uuid(): string {
    const bytes = this.bytes(16);
    bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
    bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
    const hex = bytes.toString("hex");
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
  }
}
