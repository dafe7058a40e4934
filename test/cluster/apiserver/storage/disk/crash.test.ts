import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { encodeRecord } from "../../../../../src/cluster/apiserver/storage/disk/record.js";
import { changeJson, replayLog } from "../../../../../src/cluster/apiserver/storage/disk/replay.js";
import { LabError } from "../../../../../src/util/errors.js";

const FIRST = 7;
const BLOCK_BYTES = 512;
const path = join(mkdtempSync(join(tmpdir(), "kubelab-crash-")), `${FIRST}.log`);

/** Lengths of the values of each batch. */
const batches = fc.array(fc.array(fc.nat(1500), { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 6 });

interface WrittenLog {
  readonly bytes: Buffer;
  /** where the last batch begins, and the revision before it */
  readonly syncedBytes: number;
  readonly syncedRevision: number;
  readonly lastRevision: number;
}

function written(lengths: readonly (readonly number[])[]): WrittenLog {
  const lines: Buffer[] = [];
  let revision = FIRST;
  let syncedBytes = 0;
  let synced = FIRST;
  for (const batch of lengths) {
    syncedBytes = Buffer.concat(lines).length;
    synced = revision;
    for (const length of batch) {
      const value = JSON.stringify({ text: "ä".repeat(length) });
      lines.push(encodeRecord(changeJson({ revision: ++revision, synced }, `/registry/things/${revision}`, value)));
    }
  }
  return { bytes: Buffer.concat(lines), syncedBytes, syncedRevision: synced, lastRevision: revision };
}

async function replay(bytes: Buffer): Promise<{ revision: number; tornBytes: number; applied: number[] }> {
  writeFileSync(path, bytes);
  const applied: number[] = [];
  const { revision, tornBytes } = await replayLog(path, FIRST, true, (change) => applied.push(change.revision));
  return { revision, tornBytes, applied };
}

test("a crash at any moment of the last batch: all batches before it are there, in order, and nothing that was not written", async () => {
  const crash = fc.record({ batches, cut: fc.double({ min: 0, max: 1, noNaN: true }), lost: fc.array(fc.nat(40)) });
  await fc.assert(
    fc.asyncProperty(crash, async ({ batches: lengths, cut, lost }) => {
      const { bytes, syncedBytes, syncedRevision, lastRevision } = written(lengths);
      const kept = syncedBytes + Math.floor((bytes.length - syncedBytes) * cut);
      const onDisk = Buffer.from(bytes.subarray(0, kept));
      // Blocks reach the disk in any order; those that did not are NULs.
      for (const block of lost) {
        const start = (Math.floor(syncedBytes / BLOCK_BYTES) + block) * BLOCK_BYTES;
        onDisk.fill(0, Math.min(kept, Math.max(start, syncedBytes)), Math.min(kept, start + BLOCK_BYTES));
      }
      const { revision, applied } = await replay(onDisk);
      expect(revision).toBeGreaterThanOrEqual(syncedRevision);
      expect(revision).toBeLessThanOrEqual(lastRevision);
      expect(applied).toEqual(Array.from({ length: revision - FIRST }, (_, i) => FIRST + 1 + i));
    }),
  );
});

test("any byte that changes in what was written is found", async () => {
  const change = fc.record({
    batches,
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    byte: fc.integer({ min: 1, max: 255 }),
  });
  await fc.assert(
    fc.asyncProperty(change, async ({ batches: lengths, at, byte }) => {
      const { bytes, lastRevision } = written(lengths);
      // Without its last line feed, a file ends early.
      const place = Math.floor(at * (bytes.length - 2));
      fc.pre(bytes[place] !== byte);
      expect((await replay(bytes)).revision).toBe(lastRevision);
      bytes[place] = byte;
      await expect(replay(bytes)).rejects.toThrow(LabError);
    }),
  );
});
