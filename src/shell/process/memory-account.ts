/** The memory of a container's processes. The processes only report it; nothing is allocated. */
export class MemoryAccount {
  #usedBytes = 0;
  /** called once when the limit is exceeded: the kernel's out-of-memory killer */
  onExceeded: () => void = () => {};

  /** @param limitBytes undefined: unlimited */
  constructor(public limitBytes: number | undefined) {}

  get usedBytes(): number {
    return this.#usedBytes;
  }

  take(bytes: number): void {
    this.#usedBytes = Math.max(0, this.#usedBytes + bytes);
    if (this.limitBytes !== undefined && this.#usedBytes > this.limitBytes) this.onExceeded();
  }
}
