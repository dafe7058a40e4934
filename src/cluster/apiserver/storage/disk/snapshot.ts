import { open } from "node:fs/promises";
import { dirname } from "node:path";
import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import { replaceFile, syncFolder } from "../../../../util/os/files.js";
import { storedJson, withResourceVersion } from "../resource-version.js";
import type { StoredEntry } from "../storage.js";
import { unusable } from "./damage.js";
import { readLines } from "./lines.js";
import { decodeRecord, encodeRecord } from "./record.js";

/** What is encoded and written at a time: requests are served in between. */
const CHUNK_BYTES = 128 * 1024;

interface SnapshotEntry extends Omit<StoredEntry, "object"> {
  readonly value: KubeObject;
}

interface SnapshotEnd {
  readonly revision: number;
  readonly entries: number;
}

/**
 * Writes the entries, then their number. The file gets its name after all of it is on disk.
 * @throws the abort; the file system's error
 */
export async function writeSnapshot(
  path: string,
  revision: number,
  entries: readonly StoredEntry[],
  signal: AbortSignal,
): Promise<void> {
  await replaceFile(path, async (temporary) => {
    await using file = await open(temporary, "wx", 0o600);
    let lines: Buffer[] = [];
    let bytes = 0;
    const flush = async () => {
      signal.throwIfAborted();
      await file.writeFile(Buffer.concat(lines));
      lines = [];
      bytes = 0;
    };
    for (const { key, object, createRevision, modRevision } of entries) {
      const start = `{"key":${JSON.stringify(key)},"createRevision":${createRevision},"modRevision":${modRevision}`;
      const line = encodeRecord(`${start},"value":${storedJson(object)}}`);
      lines.push(line);
      bytes += line.length;
      if (bytes >= CHUNK_BYTES) await flush();
    }
    const end: SnapshotEnd = { revision, entries: entries.length };
    lines.push(encodeRecord(JSON.stringify(end)));
    await flush();
    await file.sync();
  });
  await syncFolder(dirname(path));
}

/** Hands over each entry. @throws LabError BAD_FILE; the file system's error */
export async function readSnapshot(
  path: string,
  revision: number,
  restore: (entry: StoredEntry) => void,
): Promise<void> {
  let count = 0;
  let end: SnapshotEnd | undefined;
  for await (const { bytes, offset, isWhole } of readLines(path)) {
    const record = isWhole && end === undefined ? decodeRecord(bytes) : undefined;
    if (record === undefined) throw unusable(path, `is damaged at byte ${offset}`);
    if (record["key"] === undefined) {
      end = record as unknown as SnapshotEnd;
      continue;
    }
    const { key, createRevision, modRevision, value } = record as unknown as SnapshotEntry;
    restore({ key, createRevision, modRevision, object: withResourceVersion(value, modRevision) });
    count++;
  }
  if (end?.entries !== count || end.revision !== revision) throw unusable(path, "is not complete");
}
