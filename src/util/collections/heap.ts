/**
 * A binary heap: `pop` returns the first item by `before`. Mirrors Go's container/heap.
 */
export class Heap<T> {
  readonly #items: T[] = [];

  constructor(readonly before: (a: T, b: T) => boolean) {}

  get size(): number {
    return this.#items.length;
  }

  peek(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    let i = this.#items.push(item) - 1;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (!this.#isBefore(i, parent)) return;
      this.#swap(i, parent);
      i = parent;
    }
  }

  pop(): T | undefined {
    const first = this.#items[0];
    const last = this.#items.pop();
    if (last === undefined || this.#items.length === 0) return first;
    this.#items[0] = last;
    this.#sink();
    return first;
  }

  #sink(): void {
    for (let i = 0; ; ) {
      const left = 2 * i + 1;
      const right = left + 1;
      let least = i;
      if (this.#isBefore(left, least)) least = left;
      if (this.#isBefore(right, least)) least = right;
      if (least === i) return;
      this.#swap(i, least);
      i = least;
    }
  }

  #isBefore(i: number, j: number): boolean {
    const a = this.#items[i];
    const b = this.#items[j];
    return a !== undefined && b !== undefined && this.before(a, b);
  }

  #swap(i: number, j: number): void {
    const a = this.#items[i];
    const b = this.#items[j];
    if (a === undefined || b === undefined) return;
    this.#items[i] = b;
    this.#items[j] = a;
  }
}
