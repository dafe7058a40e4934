import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import { damagedLog } from "./damage.js";
import { type Line, readLines } from "./lines.js";
import { decodeRecord } from "./record.js";

/** A change as the log has it. */
export interface LoggedChange {
  readonly revision: number;
  /** the newest revision that an fsync had covered when this was written */
  readonly synced: number;
  readonly key: string;
  /** without resourceVersion; undefined: the key was deleted */
  readonly value?: KubeObject;
}

export interface Replayed {
  /** of the last change */
  readonly revision: number;
  /** bytes up to the end of the last change */
  readonly size: number;
  /** bytes behind it, which were not written completely */
  readonly tornBytes: number;
}

/** The JSON of a change. @param value of JSON */
export function changeJson(
  { revision, synced }: Pick<LoggedChange, "revision" | "synced">,
  key: string,
  value?: string,
): string {
  const start = `{"revision":${revision},"synced":${synced},"key":${JSON.stringify(key)}`;
  return value === undefined ? `${start}}` : `${start},"value":${value}}`;
}

/**
 * Reads the changes of a log that follow `afterRevision`, each once and in order.
 *
 * What the last fsync did not cover can be missing after a crash: the file ends early, or blocks that were not written read as
 * NULs, perhaps in front of others of the same batch. No such write was answered, and all of them are left out. Anything else is
 * damage.
 *
 * @param isLast only the last log can end in the middle of a write
 *
 * Mirrors go.etcd.io/etcd/server/storage/wal/decoder.go (isTornEntry) and wal.go (ReadAll).
 * @throws LabError BAD_FILE; the file system's error
 */
export async function replayLog(
  path: string,
  afterRevision: number,
  isLast: boolean,
  apply: (change: LoggedChange) => void,
): Promise<Replayed> {
  let revision = afterRevision;
  let size = 0;
  let end = 0;
  let isTorn = false;
  const damaged = (why: string) => damagedLog(path, size, why, isLast);
  for await (const line of readLines(path)) {
    end = line.offset + line.bytes.length + (line.isWhole ? 1 : 0);
    const change = line.isWhole ? (decodeRecord(line.bytes) as LoggedChange | undefined) : undefined;
    if (isTorn) {
      if (change !== undefined && change.synced > revision) throw damaged("changes follow that were written later");
      continue;
    }
    if (change === undefined) {
      if (!isUnwritten(line)) throw damaged("the checksum is wrong");
      isTorn = true;
      continue;
    }
    if (change.revision !== revision + 1) {
      throw damaged(`revision ${change.revision} follows revision ${revision}`);
    }
    apply(change);
    revision++;
    size = end;
  }
  if (isTorn && !isLast) throw damaged("it ends there, and another log follows it");
  return { revision, size, tornBytes: end - size };
}

function isUnwritten({ bytes, isWhole }: Line): boolean {
  return !isWhole || bytes.includes(0);
}
