import { addressNumber, addressText } from "../../../util/net/ipv4.js";
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

  /** The address of the bridge: the node's own in the pod network, and the pods' way out. */
  get gateway(): string {
    return addressText(this.#base + 1);
  }

  /** Whether the address is in this node's pod CIDR. */
  has(ip: string): boolean {
    const address = addressNumber(ip);
    return address >= this.#base && address < this.#base + this.#size;
  }

  /** @returns undefined if all addresses are in use */
  take(): string | undefined {
    for (let count = 0; count < this.#size; count++) {
      const offset = this.#next;
      this.#next = this.#next + 1 >= this.#size - 1 ? 2 : this.#next + 1;
      const ip = addressText(this.#base + offset);
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
