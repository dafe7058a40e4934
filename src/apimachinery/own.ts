/**
 * Keys that somebody else chose: `constructor` and `__proto__` are as good as any other, and an object that has none of its
 * own answers to both.
 */

/** What an object itself holds under this key. */
export function ownValue(object: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Sets a key that came from outside: `__proto__` becomes a key like any other, and no prototype. */
export function setOwnValue(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== "__proto__") object[key] = value;
  else Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
}
