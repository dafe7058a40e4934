/** What a container's processes have taken of its memory. They say so themselves: nothing is really taken. */
export class MemoryAccount {
  #usedBytes = 0;
  /** called once when the limit is passed: the kernel's out-of-memory killer */
  onExceeded: () => void = () => {};

  /** @param limitBytes undefined: as much as there is */
  constructor(public limitBytes: number | undefined) {}

  get usedBytes(): number {
    return this.#usedBytes;
  }

  take(bytes: number): void {
    this.#usedBytes = Math.max(0, this.#usedBytes + bytes);
    if (this.limitBytes !== undefined && this.#usedBytes > this.limitBytes) this.onExceeded();
  }
}
