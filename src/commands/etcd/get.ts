import { toYaml } from "../../cluster/apiserver/endpoints/yaml.js";
import { prefixRange } from "../../cluster/apiserver/storage/etcd/ranges.js";
import { RANGE } from "../../cluster/apiserver/storage/etcd/rpcs.js";
import { counted } from "../../util/text/counted.js";
import type { CliContext } from "../cli/context.js";
import { answered, keyFrom, openEtcd, TIMEOUT_MS, type WhichEtcd } from "./open.js";
import { keyTable, revisionsText, type ShownKey, type ShownValue, shownKey, shownValue, valueText } from "./value.js";

export interface GetOptions {
  readonly keysOnly?: boolean;
  readonly rev?: number;
  readonly limit: number;
  readonly showSecrets?: boolean;
}

type Shown = ShownKey & Partial<ShownValue>;

/**
 * Prints the keys of a prefix and their decoded values.
 * @throws LabError as `openEtcd`; FAILED for a revision that etcd does not have
 */
export async function runGet(context: CliContext, prefix: string, options: GetOptions & WhichEtcd): Promise<void> {
  await using etcd = await openEtcd(context, options);
  const { keysOnly = false, rev = 0, limit, showSecrets = false } = options;
  const range = { ...prefixRange(keyFrom(prefix)), limit, revision: rev, keysOnly };
  const { header, kvs, count } = await answered(etcd.client.call(RANGE, range, { timeoutMs: TIMEOUT_MS }));
  await etcd.codec.prepare(kvs);
  const keys = kvs.map(
    (kv): Shown => ({ ...shownKey(kv), ...(keysOnly ? {} : shownValue(etcd.codec, kv, showSecrets)) }),
  );
  const more = Number(count) - keys.length;
  const revision = rev === 0 ? Number(header?.revision ?? 0) : rev;
  const end = `${counted(Number(count), "key")} at revision ${revision}${more > 0 ? `; ${more} of them not shown: --limit 0` : ""}`;
  const { stdout } = context.streams;
  const columns = stdout.isTTY === true ? (stdout.columns ?? 80) : Number.POSITIVE_INFINITY;
  const table = () => (keys.length === 0 ? [] : keyTable(keys, columns));
  const lines = keysOnly ? table() : keys.flatMap(linesOf);
  context.print({ text: (say) => [...lines, say(end)].join("\n"), json: { revision, more, keys } });
}

function linesOf(shown: Shown): string[] {
  const { key, object, text, format = "", bytes = 0, problem } = shown;
  const body = object === undefined ? (text ?? "") : toYaml(object);
  const value = { format, bytes, ...(object && { object }), ...(problem === undefined ? {} : { problem }) };
  const indented =
    body === ""
      ? []
      : body
          .trimEnd()
          .split("\n")
          .map((line) => `    ${line}`);
  return [key, `  ${revisionsText(shown)}`, `  ${valueText(value)}`, ...indented, ""];
}
