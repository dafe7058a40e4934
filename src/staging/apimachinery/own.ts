/**
 * Access to keys from outside. `constructor` and `__proto__` are valid keys, but a plain lookup would find them in the
 * prototype.
 */

/** The object's own value for this key. */
export function ownValue(object: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Sets a key from outside: `__proto__` becomes an ordinary key and does not change the prototype. */
export function setOwnValue(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== "__proto__") object[key] = value;
  else Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
}
