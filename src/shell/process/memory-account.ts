/** What the processes of one container may really hold, whatever its limit: they are in this process's memory. */
export const MAX_HELD_BYTES = 64 * 1024 * 1024;
/** The limit for all containers together: a small machine's memory. */
const MAX_POOL_BYTES = 128 * 1024 * 1024;
/** The longest variable, word or line. Operations on it are not interrupted. */
const MAX_TEXT_BYTES = 8 * 1024 * 1024;

/** Thrown in the process that needs more memory than its container has left. The container is killed. */
export class OutOfMemoryError extends Error {
  override readonly name = "OutOfMemoryError";
  constructor() {
    super("out of memory");
  }
}

/** The memory of all containers of one runtime. The largest is killed when it is used up, as by the kernel. */
export class MemoryPool {
  readonly #accounts = new Set<MemoryAccount>();
  #heldBytes = 0;

  constructor(readonly limitBytes = MAX_POOL_BYTES) {}

  /** Moves the total; makes room first if it would exceed the limit. */
  change(account: MemoryAccount, bytes: number): void {
    while (bytes > 0 && this.#heldBytes + bytes > this.limitBytes) {
      const largest = this.#largest();
      if (largest === undefined || largest === account || largest.heldBytes < bytes) account.kill();
      const before = this.#heldBytes;
      largest.onExceeded();
      if (this.#heldBytes >= before) account.kill();
    }
    this.#heldBytes += bytes;
    if (account.heldBytes + bytes > 0) this.#accounts.add(account);
    else this.#accounts.delete(account);
  }

  #largest(): MemoryAccount | undefined {
    let largest: MemoryAccount | undefined;
    for (const one of this.#accounts) if (one.heldBytes > (largest?.heldBytes ?? 0)) largest = one;
    return largest;
  }
}

/**
 * The memory of a container's processes: what they hold of this process's memory (variables, words, buffers, pipes),
 * and what a program such as `stress` only reports.
 */
export class MemoryAccount {
  #reportedBytes = 0;
  #heldBytes = 0;
  #isClosed = false;
  /** called when the limit is exceeded: the kernel's out-of-memory killer */
  onExceeded: () => void = () => {};

  /** @param limitBytes of both parts together; undefined: only what is held has a limit */
  constructor(
    public limitBytes: number | undefined,
    readonly pool = new MemoryPool(),
  ) {}

  get usedBytes(): number {
    return this.#reportedBytes + this.#heldBytes;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Reports memory that is not really allocated. */
  take(bytes: number): void {
    this.#reportedBytes = Math.max(0, this.#reportedBytes + bytes);
    if (this.limitBytes !== undefined && this.usedBytes > this.limitBytes) this.onExceeded();
  }

  /** @throws OutOfMemoryError if the container has less left; it is killed then */
  require(bytes: number): void {
    const limit = Math.min(MAX_HELD_BYTES, (this.limitBytes ?? MAX_HELD_BYTES) - this.#reportedBytes);
    if (this.#heldBytes + bytes > limit) this.kill();
  }

  /** Holds memory before it is allocated. @throws OutOfMemoryError */
  hold(bytes: number): void {
    if (this.#isClosed) throw new OutOfMemoryError();
    this.require(bytes);
    this.pool.change(this, bytes);
    this.#heldBytes += bytes;
  }

  release(bytes: number): void {
    if (this.#isClosed) return;
    this.pool.change(this, -bytes);
    this.#heldBytes -= bytes;
  }

  /** The container has ended: whatever is still counted is garbage. */
  close(): void {
    this.release(this.#heldBytes);
    this.#isClosed = true;
  }

  kill(): never {
    this.onExceeded();
    throw new OutOfMemoryError();
  }
}

/** A part of a container's memory with several holders: a large variable of shells that were forked. */
export class SharedMemory {
  #holders = 1;

  /** @throws OutOfMemoryError */
  constructor(
    readonly account: MemoryAccount,
    readonly bytes: number,
  ) {
    account.hold(bytes);
  }

  retain(): void {
    this.#holders++;
  }

  release(): void {
    this.#holders--;
    if (this.#holders === 0) this.account.release(this.bytes);
  }
}

/** One process's part of its container's memory, released when the process ends. */
export class HeldMemory {
  #bytes = 0;
  #isOver = false;
  readonly #onEnd: (() => void)[] = [];

  constructor(readonly account: MemoryAccount) {}

  get bytes(): number {
    return this.#bytes;
  }

  /** @throws OutOfMemoryError, also after the end of the process */
  hold(bytes: number): void {
    if (this.#isOver) throw new OutOfMemoryError();
    this.account.hold(bytes);
    this.#bytes += bytes;
  }

  release(bytes: number): void {
    if (this.#isOver) return;
    this.account.release(bytes);
    this.#bytes -= bytes;
  }

  /**
   * Checks a text before it is made.
   * @throws OutOfMemoryError if the container has less memory left, or for a text beyond the limit
   */
  requireText(length: number): void {
    if (length > MAX_TEXT_BYTES) this.account.kill();
    this.account.require(length);
  }

  /** @throws OutOfMemoryError, also after the end of the process */
  share(bytes: number): SharedMemory {
    if (this.#isOver) throw new OutOfMemoryError();
    return new SharedMemory(this.account, bytes);
  }

  /** @param run releases what the process shares with others, when it ends */
  onEnd(run: () => void): void {
    if (this.#isOver) run();
    else this.#onEnd.push(run);
  }

  /** The process has ended. */
  end(): void {
    for (const run of this.#onEnd) run();
    if (this.#bytes !== 0) this.account.release(this.#bytes);
    this.#bytes = 0;
    this.#isOver = true;
  }
}
