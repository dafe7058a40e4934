import { EtcdError } from "../../cluster/apiserver/storage/etcd/errors.js";
import { type Event, EventType } from "../../cluster/apiserver/storage/etcd/messages.js";
import { prefixRange } from "../../cluster/apiserver/storage/etcd/ranges.js";
import { jsonDiff } from "../../staging/apimachinery/patch/json-diff.js";
import type { Change } from "../../trace/events.js";
import { SystemClock } from "../../util/clock.js";
import { defined } from "../../util/defined.js";
import { LabError } from "../../util/errors.js";
import type { CliContext } from "../cli/context.js";
import { stay } from "../cli/stay.js";
import { explained, keyFrom, type OpenedEtcd, openEtcd, type WhichEtcd } from "./open.js";
import { patchLines, type ShownKey, type ShownValue, shownKey, shownValue, valueText } from "./value.js";

export interface WatchOptions {
  readonly fromRev?: number;
  /** ms */
  readonly duration?: number;
  readonly showSecrets?: boolean;
}

/** One change of a key. */
interface ShownEvent extends ShownKey {
  readonly type: "PUT" | "DELETE";
  readonly value?: ShownValue;
  /** against the version before, or nothing for a new key; absent if etcd no longer has that version */
  readonly changes?: readonly Change[];
}

/** The wait before a broken stream is opened again. */
const RESUME_DELAY_MS = 1_000;

/**
 * Prints each change of the keys of a prefix, until Ctrl-C or the end of --duration.
 * @throws LabError as `openEtcd`; FAILED when etcd no longer has the changes
 */
export async function runWatch(context: CliContext, prefix: string, options: WatchOptions & WhichEtcd): Promise<void> {
  await using etcd = await openEtcd(context, options);
  const clock = new SystemClock();
  await stay(context, { clock, durationMs: options.duration, status: `watching ${keyFrom(prefix)}` }, [
    (signal) => follow(context, etcd, prefix, options, signal),
  ]);
}

async function follow(
  context: CliContext,
  etcd: OpenedEtcd,
  prefix: string,
  { fromRev = 0, showSecrets = false }: WatchOptions,
  signal: AbortSignal,
): Promise<void> {
  // 0: from now on
  let startRevision = fromRev;
  const range = prefixRange(keyFrom(prefix));
  while (!signal.aborted) {
    try {
      for await (const response of etcd.client.watch(
        { createRequest: { ...range, startRevision, prevKv: true } },
        signal,
      )) {
        if (response.canceled) throw cancelled(startRevision, Number(response.compactRevision), response.cancelReason);
        const revision = Number(response.header?.revision ?? 0);
        if (response.created) {
          if (startRevision > revision + 1)
            context.notice(`etcd is at revision ${revision}: the watch waits for revision ${startRevision}`);
          startRevision ||= revision + 1;
          continue;
        }
        await etcd.codec.prepare(
          response.events.flatMap(({ kv, prevKv }) => [kv, prevKv].filter((one) => one !== undefined)),
        );
        for (const event of response.events) print(context, shownEvent(etcd, event, showSecrets));
        // The revision of the header can be newer than that of the events.
        startRevision = Math.max(startRevision, Number(response.events.at(-1)?.kv?.modRevision ?? 0) + 1);
      }
    } catch (error) {
      if (!(error instanceof EtcdError)) throw error;
      context.notice(`${explained(error).message}; the watch continues with revision ${startRevision}`);
    }
    await new SystemClock().sleep(RESUME_DELAY_MS, signal).catch(() => {});
  }
}

function cancelled(revision: number, compactRevision: number, reason: string): LabError {
  if (compactRevision === 0)
    return new LabError("REFUSED", `etcd ended the watch: ${reason}`, "These are etcd's words.");
  const message = `revision ${revision} has been compacted; the oldest is ${compactRevision}`;
  return new LabError("FAILED", message, `Begin there: --from-rev ${compactRevision}.`);
}

function shownEvent({ codec }: OpenedEtcd, { type, kv, prevKv }: Event, showsSecrets: boolean): ShownEvent | undefined {
  if (kv === undefined) return undefined;
  const before = prevKv === undefined ? undefined : shownValue(codec, prevKv, showsSecrets);
  if (type === EventType.DELETE) return { type: "DELETE", ...shownKey(kv), ...defined({ value: before }) };
  const value = shownValue(codec, kv, showsSecrets);
  const isNew = kv.createRevision === kv.modRevision;
  return { type: "PUT", ...shownKey(kv), value, ...defined({ changes: changesOf(before, value, isNew) }) };
}

function changesOf(
  before: ShownValue | undefined,
  { object }: ShownValue,
  isNew: boolean,
): readonly Change[] | undefined {
  return object === undefined || (before?.object === undefined && !isNew)
    ? undefined
    : jsonDiff(before?.object ?? {}, object);
}

function print(context: CliContext, event: ShownEvent | undefined): void {
  if (event === undefined) return;
  const { type, key, modRevision, version, value, changes } = event;
  const what = type === "PUT" ? `version ${version}; ` : "it was ";
  const lines = patchLines(changes ?? []).map((line) => `  ${line}`);
  const same = changes?.length === 0 ? ["  no visible change (or a masked one)"] : [];
  const head = `${modRevision} ${type} ${key}`;
  const about = `  ${what}${value === undefined ? "compacted" : valueText(value)}`;
  context.print({ text: [head, about, ...lines, ...same].join("\n"), json: event });
}
