/** The keys that begin with `prefix`: etcd's range from it up to the first key after. Mirrors clientv3.GetPrefixRangeEnd. */
export function prefixRange(prefix: string): { readonly key: Buffer; readonly rangeEnd: Buffer } {
  const key = Buffer.from(prefix);
  const end = Buffer.from(key);
  // A key's last byte is never 0xff: it is text.
  end[end.length - 1] = (end.at(-1) ?? 0) + 1;
  return { key, rangeEnd: end };
}

/** The keys after `afterKey` that begin with `prefix`. */
export function prefixRangeAfter(prefix: string, afterKey: string) {
  return { ...prefixRange(prefix), key: Buffer.from(`${afterKey}\0`) };
}
