import type { Random } from "../../../../../util/random.js";
import { factFor } from "../../../../../util/release/facts.js";
import { AllocationBitmap } from "./allocator.js";

const FIRST_PORT = 30_000;
const LAST_PORT = 32_767;
const SIZE = LAST_PORT - FIRST_PORT + 1;

/** What a dry run shows instead of a port that it would get. */
const DRY_RUN_PORT = 32_768;

const MIN_RESERVED = 16;
const MAX_RESERVED = 128;
const RESERVED_STEP = 32;

/** The node ports. Mirrors pkg/registry/core/service/portallocator/allocator.go (PortAllocator). */
export class PortAllocator {
  readonly #bitmap: AllocationBitmap;

  constructor(random: Random, kubeVersion: string) {
    const hasReserved = factFor("serviceNodePortStaticSubrange", kubeVersion);
    const reserved = Math.min(Math.max(MIN_RESERVED, Math.floor(SIZE / RESERVED_STEP)), MAX_RESERVED);
    this.#bitmap = new AllocationBitmap(SIZE, hasReserved ? reserved : 0, random);
  }

  get used(): number {
    return this.#bitmap.used;
  }

  has(port: number): boolean {
    return this.#bitmap.has(port - FIRST_PORT);
  }

  /** @returns why it cannot be allocated, in upstream's words; undefined once it is allocated */
  allocate(port: number): string | undefined {
    if (!isInRange(port)) return notInRange();
    return this.#bitmap.allocate(port - FIRST_PORT) ? undefined : ALLOCATED;
  }

  /** @returns undefined when the range is full */
  allocateNext(): number | undefined {
    const offset = this.#bitmap.allocateNext();
    return offset === undefined ? undefined : FIRST_PORT + offset;
  }

  release(port: number): void {
    if (isInRange(port)) this.#bitmap.release(port - FIRST_PORT);
  }
}

const ALLOCATED = "provided port is already allocated";

function notInRange(): string {
  return `provided port is not in the valid range. The range of valid ports is ${FIRST_PORT}-${LAST_PORT}`;
}

function isInRange(port: number): boolean {
  return Number.isInteger(port) && port >= FIRST_PORT && port <= LAST_PORT;
}

/**
 * The ports that one write takes and gives back. What it gives back stays taken until the write has succeeded.
 * Mirrors pkg/registry/core/service/portallocator/operation.go (PortAllocationOperation).
 */
export class PortAllocationOperation {
  readonly allocated: number[] = [];
  readonly released: number[] = [];

  constructor(
    readonly ports: PortAllocator,
    readonly isDryRun: boolean,
  ) {}

  /** @returns why it cannot be allocated; undefined once it is allocated */
  allocate(port: number): string | undefined {
    const why = this.isDryRun ? this.#try(port) : this.ports.allocate(port);
    if (why === undefined) this.allocated.push(port);
    return why;
  }

  #try(port: number): string | undefined {
    return this.ports.has(port) || this.allocated.includes(port) ? ALLOCATED : undefined;
  }

  /** @returns undefined when the range is full */
  allocateNext(): number | undefined {
    const port = this.isDryRun ? Math.max(DRY_RUN_PORT - 1, ...this.allocated) + 1 : this.ports.allocateNext();
    if (port !== undefined) this.allocated.push(port);
    return port;
  }

  releaseDeferred(port: number): void {
    this.released.push(port);
  }

  commit(): void {
    if (!this.isDryRun) for (const port of this.released) this.ports.release(port);
  }

  revert(): void {
    if (!this.isDryRun) for (const port of this.allocated) this.ports.release(port);
  }
}
