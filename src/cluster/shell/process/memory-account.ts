const MIB = 1024 * 1024;
/** The limit for a container without a memory limit, because its data is in this process's memory. */
export const DEFAULT_HELD_BYTES = 64 * MIB;
/** The longest variable, word or line. Operations on it are not interrupted. */
const MAX_TEXT_BYTES = 8 * MIB;

/** Thrown in a process that was killed because memory ran out. */
export class OutOfMemoryError extends Error {
  override readonly name = "OutOfMemoryError";
  constructor() {
    super("out of memory");
  }
}

/**
 * Why a process is killed: the container's limit, the limit of all containers, one text (or one command's heap) that is
 * too large, or a call of the runtime's control.
 */
export type KillReason = "limit" | "pool" | "text" | "asked";

/** The additional memory that a process requests. */
interface Need {
  readonly bytes: number;
  /** undefined for a pipe, whose bytes belong to no process */
  readonly by: HeldMemory | undefined;
}

const NO_NEED: Need = { bytes: 0, by: undefined };

/** The memory of all containers of one runtime. When it is used up, the largest container loses its largest process. */
export class MemoryPool {
  readonly #accounts = new Set<MemoryAccount>();
  #heldBytes = 0;

  constructor(readonly limitBytes: number) {}

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Moves the total; makes room first if it would exceed the limit. @throws OutOfMemoryError */
  change(account: MemoryAccount, bytes: number, by?: HeldMemory): void {
    while (bytes > 0 && this.#heldBytes + bytes > this.limitBytes) {
      const largest = this.#largest(account, bytes);
      largest.killLargest("pool", largest === account ? { bytes, by } : NO_NEED);
    }
    this.#heldBytes += bytes;
    if (account.heldBytes + bytes > 0) this.#accounts.add(account);
    else this.#accounts.delete(account);
  }

  #largest(growing: MemoryAccount, bytes: number): MemoryAccount {
    let largest = growing;
    let most = growing.heldBytes + bytes;
    for (const one of this.#accounts) {
      if (one.heldBytes <= most) continue;
      largest = one;
      most = one.heldBytes;
    }
    return largest;
  }
}

/**
 * The memory of a container's processes: what they hold of this process's memory (variables, words, buffers, pipes),
 * and what a program such as `stress` only reports. A container that exceeds its limit loses its largest process, as by
 * the kernel. Mirrors out_of_memory in Linux's mm/oom_kill.c.
 */
export class MemoryAccount {
  #reportedBytes = 0;
  #heldBytes = 0;
  #fileBytes = 0;
  #isClosed = false;
  readonly #processes = new Set<HeldMemory>();
  /** called before each kill of a process */
  onKill: (process: HeldMemory, reason: KillReason) => void = () => {};

  /**
   * @param limitBytes of both parts together; undefined: only what is held has a limit
   * @param killsTogether whether all processes are killed, and not only the largest: memory.oom.group of a cgroup
   */
  constructor(
    public limitBytes: number | undefined,
    readonly pool: MemoryPool,
    readonly killsTogether = false,
  ) {}

  get usedBytes(): number {
    return this.#reportedBytes + this.#heldBytes + this.#fileBytes;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** of files on a tmpfs, which belong to no process */
  get fileBytes(): number {
    return this.#fileBytes;
  }

  /** The limit of all processes together. The pool enforces its own limit. */
  get maxHeldBytes(): number {
    return this.limitBytes === undefined ? DEFAULT_HELD_BYTES : this.limitBytes - this.#reportedBytes - this.#fileBytes;
  }

  join(process: HeldMemory): void {
    this.#processes.add(process);
  }

  leave(process: HeldMemory): void {
    this.#processes.delete(process);
  }

  /** Reports memory that is not really allocated. @throws OutOfMemoryError */
  report(bytes: number, by: HeldMemory): void {
    this.#reportedBytes += bytes;
    while (bytes > 0 && this.limitBytes !== undefined && this.usedBytes > this.limitBytes) {
      this.killLargest("limit", { bytes: 0, by });
    }
  }

  /** Files on a tmpfs grow or shrink. @throws OutOfMemoryError if one kill makes no room for them */
  chargeFiles(bytes: number): void {
    const isOver = () => bytes > 0 && this.limitBytes !== undefined && this.usedBytes + bytes > this.limitBytes;
    if (isOver()) this.killLargest("limit", NO_NEED);
    if (isOver()) throw new OutOfMemoryError();
    this.#fileBytes += bytes;
  }

  /** Makes room for more. @throws OutOfMemoryError if `by` was killed for it */
  require(bytes: number, by?: HeldMemory): void {
    while (this.#heldBytes + bytes > this.maxHeldBytes) this.killLargest("limit", { bytes, by });
  }

  /** Holds memory before it is allocated. @throws OutOfMemoryError if `by` was killed for it */
  hold(bytes: number, by?: HeldMemory): void {
    if (this.#isClosed) throw new OutOfMemoryError();
    this.require(bytes, by);
    this.pool.change(this, bytes, by);
    this.#heldBytes += bytes;
  }

  release(bytes: number): void {
    if (this.#isClosed) return;
    this.pool.change(this, -bytes);
    this.#heldBytes -= bytes;
  }

  /** The container has ended, so all remaining counts are garbage. */
  close(): void {
    this.release(this.#heldBytes);
    this.#isClosed = true;
  }

  /**
   * Kills the process that uses the most memory. Mirrors oom_evaluate_task: of equal ones, the newest.
   * Differs: oom_score_adj is equal in a container, so it changes nothing.
   * @throws OutOfMemoryError if that is the requesting process, or if no process is left
   */
  killLargest(reason: KillReason, need: Need): void {
    const victim = this.#largest(need);
    if (victim === undefined) throw new OutOfMemoryError();
    this.kill(victim, reason);
    if (need.by?.isOver === true) throw new OutOfMemoryError();
  }

  /** Kills a process, or all of the container if they are killed together. */
  kill(victim: HeldMemory, reason: KillReason): void {
    for (const process of this.killsTogether ? [...this.#processes] : [victim]) {
      this.onKill(process, reason);
      process.kill();
      this.#processes.delete(process);
    }
  }

  /** The requesting process would have grown until the limit. */
  #largest({ bytes, by }: Need): HeldMemory | undefined {
    const growth = Math.max(0, Math.min(bytes, this.maxHeldBytes - this.#heldBytes));
    let largest: HeldMemory | undefined;
    let most = -1;
    for (const process of this.#processes) {
      const size = process.usedBytes + (process === by ? growth : 0);
      if (size < most) continue;
      largest = process;
      most = size;
    }
    return largest;
  }
}

/** A part of a container's memory with several holders: a large variable of shells that were forked. */
export class SharedMemory {
  #holders = 1;

  /** @throws OutOfMemoryError */
  constructor(
    readonly account: MemoryAccount,
    readonly bytes: number,
    by: HeldMemory,
  ) {
    account.hold(bytes, by);
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
  #reportedBytes = 0;
  #isOver = false;
  #kill: () => void;
  readonly #onEnd = new Set<() => void>();
  readonly #shared: (() => number)[] = [];

  /** @param kill ends the process at once, as SIGKILL does */
  constructor(
    readonly account: MemoryAccount,
    readonly pid: number,
    kill: () => void,
  ) {
    this.#kill = kill;
    account.join(this);
  }

  kill(): void {
    this.#kill();
  }

  get bytes(): number {
    return this.#bytes;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** The memory that counts in the search for the largest process. Shared memory counts for each, as in the kernel's RSS. */
  get usedBytes(): number {
    return this.#shared.reduce((sum, bytes) => sum + bytes(), this.#bytes + this.#reportedBytes);
  }

  /** @throws OutOfMemoryError, also after the end of the process */
  hold(bytes: number): void {
    if (this.#isOver) throw new OutOfMemoryError();
    this.account.hold(bytes, this);
    this.#bytes += bytes;
  }

  release(bytes: number): void {
    if (this.#isOver) return;
    this.account.release(bytes);
    this.#bytes -= bytes;
  }

  /** Reports memory that is not really allocated. @throws OutOfMemoryError */
  report(bytes: number): void {
    if (this.#isOver) throw new OutOfMemoryError();
    this.#reportedBytes += bytes;
    this.account.report(bytes, this);
  }

  /** Checks that memory can be allocated for a short time. @throws OutOfMemoryError */
  require(bytes: number): void {
    if (this.#isOver) throw new OutOfMemoryError();
    this.account.require(bytes, this);
  }

  /**
   * Checks the size of a text before it is built.
   * @throws OutOfMemoryError if the container has less memory left, or for a text beyond the limit
   */
  requireText(length: number): void {
    if (length > MAX_TEXT_BYTES) this.runOut();
    this.require(length);
  }

  /** This process needs more than there can be. */
  runOut(): never {
    if (!this.#isOver) this.account.kill(this, "text");
    throw new OutOfMemoryError();
  }

  /** @throws OutOfMemoryError, also after the end of the process */
  share(bytes: number): SharedMemory {
    if (this.#isOver) throw new OutOfMemoryError();
    return new SharedMemory(this.account, bytes, this);
  }

  /** @param bytes returns the current size of memory shared with others */
  countShared(bytes: () => number): void {
    this.#shared.push(bytes);
  }

  /** @param run releases shared memory when the process ends; disposing the result unregisters it */
  onEnd(run: () => void): Disposable {
    if (this.#isOver) run();
    else this.#onEnd.add(run);
    return { [Symbol.dispose]: () => this.#onEnd.delete(run) };
  }

  /** The process has ended. Its children may still refer to this object, so it lets go of the process and its shell. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.account.leave(this);
    for (const run of this.#onEnd) run();
    this.#onEnd.clear();
    this.#shared.length = 0;
    this.#kill = () => {};
    if (this.#bytes !== 0) this.account.release(this.#bytes);
    if (this.#reportedBytes !== 0) this.account.report(-this.#reportedBytes, this);
    this.#bytes = 0;
    this.#reportedBytes = 0;
  }
}
