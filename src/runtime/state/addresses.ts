import { parseCidr } from "./cidr.js";

/** Assigns pod addresses from the pod CIDR. */
export class Addresses {
  readonly #taken = new Set<string>();
  #base: number;
  #size: number;
  #next = 2; // .0 is the network, .1 the bridge

  constructor(cidr: string) {
    ({ base: this.#base, size: this.#size } = parseCidr(cidr));
  }

  /** The pod CIDR of UpdateRuntimeConfig. @throws RpcError InvalidArgument */
  useCidr(cidr: string): void {
    ({ base: this.#base, size: this.#size } = parseCidr(cidr));
    this.#next = 2;
  }

  /** @returns undefined if all addresses are in use */
  take(): string | undefined {
    for (let count = 0; count < this.#size; count++) {
      const offset = this.#next;
      this.#next = this.#next + 1 >= this.#size - 1 ? 2 : this.#next + 1;
      const number = this.#base + offset;
      const ip = [24, 16, 8, 0].map((shift) => (number >>> shift) & 0xff).join(".");
      if (this.#taken.has(ip)) continue;
      this.#taken.add(ip);
      return ip;
    }
    return undefined;
  }

  free(ip: string): void {
    this.#taken.delete(ip);
  }
}
