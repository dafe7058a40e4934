import { counted } from "../../../../util/text/counted.js";
import type { EtcdClient } from "./client.js";
import { prefixRange } from "./ranges.js";
import { READ_TXN } from "./rpcs.js";

const ROOT = "/registry/";

/**
 * Looks between the resources for keys that are none of them: other programs' data, or kinds that only another server has. It is one
 * request, which reads a key per gap at most, so that a large cluster costs no more than a small one.
 * @param prefixes of all resources: `/registry/pods/`
 * @returns one sentence; undefined if there are none
 * @throws EtcdError
 */
export async function foreignKeys(
  client: EtcdClient,
  prefixes: readonly string[],
  timeoutMs: number,
): Promise<string | undefined> {
  const success = gapsBetween(prefixes).map((gap) => ({ requestRange: { ...gap, limit: 1, keysOnly: true } }));
  const { responses } = await client.call(READ_TXN, { success }, { timeoutMs });
  const found = responses.flatMap(({ responseRange }) => responseRange ?? []);
  const count = found.reduce((sum, one) => sum + Number(one.count), 0);
  const first = found.find(({ kvs }) => kvs.length > 0)?.kvs[0]?.key.toString();
  if (first === undefined) return undefined;
  return `etcd has ${counted(count, "key")} below ${ROOT} of no kind that is served here, first ${JSON.stringify(first)}: left as they are`;
}

function gapsBetween(prefixes: readonly string[]): readonly { readonly key: Buffer; readonly rangeEnd: Buffer }[] {
  const { key: begin, rangeEnd: end } = prefixRange(ROOT);
  const ranges = [...prefixes].sort().map(prefixRange);
  const starts = [begin, ...ranges.map(({ rangeEnd }) => rangeEnd)];
  const ends = [...ranges.map(({ key }) => key), end];
  return starts
    .map((key, i) => ({ key, rangeEnd: ends[i] ?? end }))
    .filter(({ key, rangeEnd }) => key.compare(rangeEnd) < 0);
}
