import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  type LogFile,
  type OpenLogFile,
  openLogFile,
} from "../../../../../src/cluster/apiserver/storage/disk/log-file.js";
import type { DiskStorage } from "../../../../../src/cluster/apiserver/storage/disk/store.js";
import { StatusError } from "../../../../../src/staging/apimachinery/errors.js";
import { failureOf } from "../../../../../src/staging/server/healthz.js";
import { contents, newFolder, openFolder, PREFIX, put, thing } from "./fixtures.js";

type Fault = "write" | "sync" | "truncate" | "open";

function systemError(code: string): Error {
  return Object.assign(new Error(code), { code, syscall: "write" });
}

/** A disk that fails on command, and counts. */
class FaultyDisk {
  readonly faults = new Map<Fault, string>();
  syncs = 0;
  /** resolves the syncs that wait */
  held: (() => void)[] | undefined;

  readonly open: OpenLogFile = async (path) => {
    const file = await openLogFile(path);
    this.#fail("open");
    const faulty: LogFile = {
      path,
      write: async (bytes, offset) => {
        // A full disk takes a part.
        if (this.faults.has("write")) await file.write(bytes.subarray(0, bytes.length >> 1), offset);
        this.#fail("write");
        await file.write(bytes, offset);
      },
      sync: async () => {
        this.#fail("sync");
        this.syncs++;
        await new Promise<void>((resolve) => (this.held === undefined ? resolve() : this.held.push(resolve)));
        await file.sync();
      },
      truncate: async (size) => {
        this.#fail("truncate");
        await file.truncate(size);
      },
      close: () => file.close(),
    };
    return faulty;
  };

  release(): void {
    const { held = [] } = this;
    this.held = undefined;
    for (const resolve of held) resolve();
  }

  #fail(fault: Fault): void {
    const code = this.faults.get(fault);
    if (code !== undefined) throw systemError(code);
  }
}

async function refusal(write: Promise<unknown>): Promise<string> {
  const error = await write.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof StatusError)) return String(error);
  const { code, reason = "no reason", message } = error.status;
  return `${code} ${reason}: ${message}`;
}

const nameOf = (folder: string) => join(folder, "1.log");
const healthOf = (storage: DiskStorage) => refusal(storage.health.checks[0]?.check?.() ?? Promise.resolve());
/** The checks that only /readyz runs, and that fail. */
async function readinessOf({ health }: DiskStorage): Promise<string[]> {
  const failures: string[] = [];
  for (const one of health.checks.filter(({ readyOnly }) => readyOnly)) {
    const failure = await failureOf(one);
    if (failure !== undefined) failures.push(`${one.name}: ${failure}`);
  }
  return failures;
}

test("a full disk: the write is refused with 500, nothing of it stays, and the next ones work when there is room", async () => {
  const folder = newFolder();
  const disk = new FaultyDisk();
  const { storage, problems: reported } = await openFolder(folder, { openLogFile: disk.open });
  await put(storage, "a");
  const before = readFileSync(nameOf(folder));
  disk.faults.set("write", "ENOSPC");
  const full = `500 no reason: cannot write ${nameOf(folder)}: no space left on the device`;
  const creations = ["b", "c"].map((name) => refusal(storage.create(PREFIX + name, thing(name))));
  expect(await Promise.all(creations)).toEqual([full, full]);
  expect(await refusal(storage.update(`${PREFIX}a`, thing("a", 1), 2))).toBe(full);
  expect(await refusal(storage.delete(`${PREFIX}a`, 2))).toBe(full);
  expect(await contents(storage)).toBe("a0@2 | 2");
  expect(readFileSync(nameOf(folder)).equals(before)).toBe(true);
  expect(await healthOf(storage)).toBe("undefined");
  expect(await readinessOf(storage)).toEqual(["storage-writes: no space left on the device"]);
  disk.faults.clear();
  expect(await put(storage, "b")).toBe(3);
  expect(await readinessOf(storage)).toEqual([]);
  expect(reported).toEqual([`cannot write ${nameOf(folder)}: no space left on the device`]);
  await storage.close();
  const { storage: next, problems } = await openFolder(folder);
  expect(problems).toEqual([]);
  expect(await contents(next)).toBe("a0@2 b0@3 | 3");
  await next.close();
});

test("a disk that fails ends all writes until the next start; reads go on, and the health check says why", async () => {
  for (const faults of [["sync"], ["write", "truncate"]] as const) {
    const folder = newFolder();
    const disk = new FaultyDisk();
    const { storage, problems } = await openFolder(folder, { openLogFile: disk.open });
    await put(storage, "a");
    for (const fault of faults) disk.faults.set(fault, "EIO");
    const why = "EIO; nothing is written until the cluster starts again";
    expect(await refusal(storage.create(`${PREFIX}b`, thing("b")))).toBe(
      `500 no reason: cannot write ${nameOf(folder)}: ${why}`,
    );
    disk.faults.clear();
    expect(await refusal(storage.create(`${PREFIX}c`, thing("c")))).toContain(why);
    expect(await contents(storage)).toBe("a0@2 | 2");
    expect(await healthOf(storage)).toBe(`Error: ${why}`);
    expect(problems).toEqual([`cannot write ${nameOf(folder)}: ${why}`]);
    await storage.close();
  }
});

test("a write is seen and answered after the fsync that contains it; those that wait share the next one", async () => {
  const disk = new FaultyDisk();
  const { storage } = await openFolder(newFolder(), { openLogFile: disk.open });
  const syncsBefore = disk.syncs;
  disk.held = [];
  const first = storage.create(`${PREFIX}a`, thing("a"));
  await untilHeld(disk);
  const others = ["b", "c", "d"].map((name) => storage.create(PREFIX + name, thing(name)));
  const again = storage.create(`${PREFIX}a`, thing("a", 1));
  expect(await contents(storage)).toBe(" | 1");
  disk.release();
  await first;
  await Promise.all(others);
  expect(await again).toBe(undefined);
  expect(await contents(storage)).toBe("a0@2 b0@3 c0@4 d0@5 | 5");
  expect(disk.syncs - syncsBefore).toBe(2);
  await storage.close();
});

test("how often the policies call fsync for three writes of the same moment", async () => {
  for (const [fsync, count] of [
    ["batch", 1],
    ["always", 3],
    ["never", 0],
  ] as const) {
    const disk = new FaultyDisk();
    const { storage } = await openFolder(newFolder(), { openLogFile: disk.open, fsync });
    const before = disk.syncs;
    await Promise.all(["b", "c", "d"].map((name) => storage.create(PREFIX + name, thing(name))));
    expect(disk.syncs - before, fsync).toBe(count);
    await storage.close();
  }
});

test("after a write that failed, one that waited for it is decided by what there is", async () => {
  const disk = new FaultyDisk();
  const { storage } = await openFolder(newFolder(), { openLogFile: disk.open });
  disk.faults.set("write", "ENOSPC");
  const first = refusal(storage.create(`${PREFIX}a`, thing("a")));
  const second = storage.create(`${PREFIX}a`, thing("a", 1));
  expect(await first).toContain("no space left");
  disk.faults.clear();
  await second.catch(() => {});
  await put(storage, "a", 2);
  expect(await contents(storage)).toMatch(/^a2@\d \| \d$/);
  await storage.close();
});

test("without room for a new log or a snapshot, the old log goes on", async () => {
  const folder = newFolder();
  const disk = new FaultyDisk();
  const { storage } = await openFolder(folder, { openLogFile: disk.open, maxLogBytes: 1 });
  disk.faults.set("open", "ENOSPC");
  for (const name of ["a", "b", "c"]) await put(storage, name);
  expect(readdirSync(folder).sort()).toEqual(["1.log", "identity.json", "lock"]);
  await storage.close();
  writeFileSync(join(folder, "lock"), "1 1\n");
  await storage.close();
  expect(readdirSync(folder), "it gives the lock back once").toContain("lock");
  const { storage: next } = await openFolder(folder);
  expect(await contents(next)).toBe("a0@2 b0@3 c0@4 | 4");
  await next.close();
});

async function untilHeld(disk: FaultyDisk): Promise<void> {
  while (disk.held?.length === 0) await new Promise((resolve) => setImmediate(resolve));
}
