import { addressText } from "../../../../../util/net/ipv4.js";
import type { Random } from "../../../../../util/random.js";
import { AllocationBitmap } from "./allocator.js";

/** kubeadm's range of services. */
export const SERVICE_CIDR = "10.96.0.0/12";

const MIN_RESERVED = 16;
const MAX_RESERVED = 256;
const RESERVED_STEP = 16;

/**
 * The cluster IPs of one IPv4 range, without its first and its last address.
 *
 * Mirrors pkg/registry/core/service/ipallocator/allocator.go (Range, calculateRangeOffset).
 */
export class IpAllocator {
  readonly #network: number;
  readonly #bitmap: AllocationBitmap;

  /** @param cidr `10.96.0.0/12` */
  constructor(
    readonly cidr: string,
    random: Random,
  ) {
    const [address = "", bits = "32"] = cidr.split("/");
    this.#network = numberOf(address);
    const max = Math.max(0, 2 ** (32 - Number(bits)) - 2);
    this.#bitmap = new AllocationBitmap(max, reservedOf(max), random);
  }

  get used(): number {
    return this.#bitmap.used;
  }

  get max(): number {
    return this.#bitmap.max;
  }

  /** The start of the range: what a dry run shows instead of an address that it would get. */
  get network(): string {
    return addressText(this.#network);
  }

  has(ip: string): boolean {
    const offset = this.#offsetOf(ip);
    return offset !== undefined && this.#bitmap.has(offset);
  }

  /** @returns why it cannot be allocated, in upstream's words; undefined once it is allocated */
  allocate(ip: string, isDryRun: boolean): string | undefined {
    const offset = this.#offsetOf(ip);
    if (offset === undefined) {
      return `provided IP is not in the valid range. The range of valid IPs is ${this.cidr}`;
    }
    // Upstream's dry run does not check whether the address is free.
    return isDryRun || this.#bitmap.allocate(offset) ? undefined : "provided IP is already allocated";
  }

  /** @returns undefined when the range is full */
  allocateNext(): string | undefined {
    const offset = this.#bitmap.allocateNext();
    return offset === undefined ? undefined : addressText(this.#network + 1 + offset);
  }

  /** An address outside the range is ignored. */
  release(ip: string): void {
    const offset = this.#offsetOf(ip);
    if (offset !== undefined) this.#bitmap.release(offset);
  }

  #offsetOf(ip: string): number | undefined {
    const offset = numberOf(ip) - this.#network - 1;
    return offset >= 0 && offset < this.#bitmap.max ? offset : undefined;
  }
}

/** Mirrors calculateRangeOffset: the part of the range for addresses that users choose. */
function reservedOf(max: number): number {
  if (max < MIN_RESERVED) return 0;
  return Math.min(Math.max(MIN_RESERVED, Math.floor(max / RESERVED_STEP)), MAX_RESERVED);
}

/** @returns NaN for what is no IPv4 address */
function numberOf(ip: string): number {
  const bytes = ip.split(".");
  return bytes.length === 4 ? bytes.reduce((sum, byte) => sum * 256 + Number(byte), 0) : Number.NaN;
}
