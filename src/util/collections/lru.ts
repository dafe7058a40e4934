/** The number of entries that client-go's event cache keeps. Mirrors maxLruCacheEntries. */
const MAX_ENTRIES = 4096;

/** Sets the key and makes it the newest entry; drops the oldest entry when there are too many. */
export function remember<V>(cache: Map<string, V>, key: string, value: V): void {
  cache.delete(key);
  cache.set(key, value);
  if (cache.size <= MAX_ENTRIES) return;
  const [oldest] = cache.keys();
  if (oldest !== undefined) cache.delete(oldest);
}
