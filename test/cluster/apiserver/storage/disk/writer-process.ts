/**
 * A storage on disk with random clients, in a process that the test kills. It prints each write when it begins, `ID KEY VALUE`, and
 * when it is answered: `ID KEY VALUE REVISION`. The value of a deletion is `-`.
 */
import { writeSync } from "node:fs";
import type { FsyncPolicy } from "../../../../../src/cluster/apiserver/storage/disk/config.js";
import { openDisk } from "../../../../../src/cluster/apiserver/storage/disk/open.js";
import { SystemClock } from "../../../../../src/util/clock.js";
import { PREFIX, thing } from "./fixtures.js";

const CLIENTS = 8;
const KEYS = 20;
const [folder = "", fsync = "batch", round = "0"] = process.argv.slice(2);

const { storage } = await openDisk(
  {
    clock: new SystemClock(),
    makeIdentity: async () => {
      throw new Error("it has an identity");
    },
    report: () => {},
  },
  { folder, fsync: fsync as FsyncPolicy },
  { maxLogBytes: 20_000 },
);

async function client(number: number): Promise<never> {
  for (let i = 0; ; i++) {
    const key = `${PREFIX}${Math.floor(Math.random() * KEYS)}`;
    const value = `${round}.${number}.${i}`;
    const object = { ...thing(key, value), padding: "x".repeat(Math.floor(Math.random() * 2000)) };
    const { entry } = await storage.get(key);
    const isDeletion = entry !== undefined && Math.random() < 0.3;
    const change = `${value} ${key} ${isDeletion ? "-" : value}`;
    said(change);
    const written = await (entry === undefined
      ? storage.create(key, object)
      : isDeletion
        ? storage.delete(key, entry.modRevision)
        : storage.update(key, object, entry.modRevision));
    said(`${change} ${written?.modRevision ?? 0}`);
  }
}

/** Not through a stream, whose buffer would die with the process. */
function said(line: string): void {
  writeSync(1, `${line}\n`);
}

await Promise.all(Array.from({ length: CLIENTS }, (_, number) => client(number)));
