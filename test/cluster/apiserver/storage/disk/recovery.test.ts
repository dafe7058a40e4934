import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { listDataFiles } from "../../../../../src/cluster/apiserver/storage/disk/data-files.js";
import { encodeRecord } from "../../../../../src/cluster/apiserver/storage/disk/record.js";
import type { DiskStorage } from "../../../../../src/cluster/apiserver/storage/disk/store.js";
import { CompactedError } from "../../../../../src/cluster/apiserver/storage/storage.js";
import { LabError } from "../../../../../src/util/errors.js";
import { markOf } from "../../../../../src/util/os/processes.js";
import { untilTrue } from "../../../../support/fake-clock.js";
import { contents, newFolder, openFolder, PREFIX, put } from "./fixtures.js";

/** What a folder has after a few changes: `a2@4 c0@5 | 6`. */
async function made(): Promise<string> {
  const folder = newFolder();
  const { storage } = await openFolder(folder);
  await put(storage, "a");
  await put(storage, "b", "ä \u2028 \u{1F600}");
  await put(storage, "a", 2);
  await put(storage, "c");
  await storage.delete(`${PREFIX}b`, 3);
  expect(await contents(storage)).toBe("a2@4 c0@5 | 6");
  await storage.close();
  return folder;
}

async function failure(folder: string): Promise<string> {
  const error = await openFolder(folder).then(
    async ({ storage }) => storage.close(),
    (reason: unknown) => reason,
  );
  return error instanceof LabError ? `${error.code} ${error.message.replaceAll(folder, "DIR")}` : String(error);
}

/** The lines of the log. */
function linesOf(folder: string): string[] {
  return readFileSync(join(folder, "1.log"), "utf8").split("\n").slice(0, -1);
}

function writeLines(folder: string, lines: readonly string[]): void {
  writeFileSync(join(folder, "1.log"), `${lines.join("\n")}\n`);
}

test("a folder that is opened again has the same state, identity and revisions, and continues both", async () => {
  const folder = newFolder();
  const first = await openFolder(folder);
  await put(first.storage, "a");
  await first.storage.close();
  const second = await openFolder(folder);
  expect(await contents(second.storage)).toBe("a0@2 | 2");
  expect(second.identity).toEqual(first.identity);
  expect(second.problems).toEqual([]);
  expect(await put(second.storage, "a", 1)).toBe(3);
  const { entry } = await second.storage.get(`${PREFIX}a`);
  expect(entry).toMatchObject({ createRevision: 2, modRevision: 3 });
  await second.storage.close();
});

test("a watch from before the restart resumes inside the log; from before the snapshot it gets 410", async () => {
  const folder = await made();
  const { storage } = await openFolder(folder, { maxLogBytes: 1 });
  expect(await watched(storage, 3, 3)).toEqual(["put a 4", "put c 5", "delete b 6"]);
  await put(storage, "d");
  await untilTrue(() => readdirSync(folder).includes("7.snapshot") && !readdirSync(folder).includes("1.log"));
  await put(storage, "e");
  await storage.close();
  const { storage: next } = await openFolder(folder);
  expect(await contents(next)).toBe("a2@4 c0@5 d0@7 e0@8 | 8");
  expect(await watched(next, 7, 1)).toEqual(["put e 8"]);
  await expect(watched(next, 6, 1)).rejects.toThrow(CompactedError);
  await next.close();
});

async function watched(storage: DiskStorage, afterRevision: number, count: number): Promise<string[]> {
  const seen: string[] = [];
  for await (const { type, key, revision } of storage.watch(PREFIX, afterRevision, new AbortController().signal)) {
    if (seen.push(`${type} ${key.slice(PREFIX.length)} ${revision}`) === count) break;
  }
  return seen;
}

test("files are for their owner alone, and each write is a line of the log", async () => {
  const folder = await made();
  const modes = readdirSync(folder).map((name) => `${name} ${(statSync(join(folder, name)).mode & 0o777).toString(8)}`);
  expect(modes.sort()).toEqual(["1.log 600", "identity.json 600"]);
  expect((statSync(folder).mode & 0o777).toString(8)).toBe("700");
  const lines = linesOf(folder);
  expect(lines).toHaveLength(5);
  expect(JSON.parse((lines[2] as string).slice(9))).toEqual({
    revision: 4,
    synced: 3,
    key: `${PREFIX}a`,
    value: { kind: "Thing", apiVersion: "v1", metadata: { name: "a" }, value: 2 },
  });
});

test("a write that the crash interrupted is cut off, and said in one line", async () => {
  const table: [string, (folder: string, log: string) => void, string][] = [
    ["the end is missing", (_, log) => truncateSync(log, statSync(log).size - 3), "a2@4 b"],
    ["only the line feed is missing", (_, log) => truncateSync(log, statSync(log).size - 1), "a2@4 b"],
    ["nothing but a checksum", (_, log) => appendFileSync(log, "0123"), "a2@4 c0@5 | 6"],
    ["blocks that were not written", (_, log) => appendFileSync(log, Buffer.alloc(5000)), "a2@4 c0@5 | 6"],
    ["a block that was not written in front of one that was", unwrittenBlock, "a2@4 c0@5 | 6"],
  ];
  for (const [title, damage, rest] of table) {
    const folder = await made();
    const log = join(folder, "1.log");
    damage(folder, log);
    const { storage, problems } = await openFolder(folder);
    expect(await contents(storage), title).toMatch(rest);
    expect(problems, title).toHaveLength(1);
    const size = statSync(log).size;
    expect(problems[0]).toMatch(
      new RegExp(`^${log}: its last \\d+ bytes were not written completely; cut off at byte ${size}$`),
    );
    const next = (await storage.currentRevision()) + 1;
    expect(await put(storage, "new"), title).toBe(next);
    await storage.close();
    const again = await openFolder(folder);
    expect(again.problems, title).toEqual([]);
    expect(await contents(again.storage), title).toContain(`new0@${next} | ${next}`);
    await again.storage.close();
  }
});

/** A second batch, whose first change is NULs. */
function unwrittenBlock(folder: string, log: string): void {
  const [first = ""] = linesOf(folder);
  appendFileSync(log, `${"\0".repeat(first.length)}\n`);
  appendFileSync(log, `${record('{"revision":8,"synced":6,"key":"/registry/things/x","value":{}}')}\n`);
}

function record(json: string): string {
  return encodeRecord(json).toString().trimEnd();
}

test("damage in the middle is refused, with the file and the byte", async () => {
  const second = (lines: string[]) => (lines[0] as string).length + 1;
  const table: [string, (lines: string[]) => string[], string][] = [
    ["a changed value", (lines) => replaced(lines, 1, (line) => line.replace("ä", "ö")), "the checksum is wrong"],
    ["a changed checksum", (lines) => replaced(lines, 1, (line) => `x${line.slice(1)}`), "the checksum is wrong"],
    ["a line of nothing", (lines) => replaced(lines, 1, () => ""), "the checksum is wrong"],
    ["a changed last line", (lines) => replaced(lines, 4, (line) => line.replace("6", "7")), "the checksum is wrong"],
    ["a line is missing", (lines) => lines.filter((_, i) => i !== 1), "revision 4 follows revision 2"],
    ["a line twice", (lines) => [...lines.slice(0, 1), ...lines], "revision 2 follows revision 2"],
    [
      "a lost block in front of later writes",
      (lines) => replaced(lines, 1, (line) => "\0".repeat(line.length)),
      "changes follow that were written later",
    ],
  ];
  for (const [title, damage, why] of table) {
    const folder = await made();
    const lines = linesOf(folder);
    const offset =
      title === "a changed last line" ? Buffer.byteLength(lines.slice(0, 4).join("\n")) + 1 : second(lines);
    writeLines(folder, damage(lines));
    const before = readFileSync(join(folder, "1.log"));
    expect(await failure(folder), title).toBe(`BAD_FILE DIR/1.log is damaged at byte ${offset}: ${why}`);
    expect(readFileSync(join(folder, "1.log")).equals(before), "it is left as it is").toBe(true);
  }
});

function replaced(lines: string[], index: number, change: (line: string) => string): string[] {
  return lines.map((line, i) => (i === index ? change(line) : line));
}

test("the hint for a damaged log keeps what comes before the damage", async () => {
  const folder = await made();
  writeLines(
    folder,
    replaced(linesOf(folder), 3, () => "x"),
  );
  const error = await openFolder(folder).catch((reason: unknown) => reason as LabError);
  const [, size, path] = /truncate -s (\d+) (\S+)$/.exec((error as LabError).hint) ?? [];
  truncateSync(path as string, Number(size));
  const { storage } = await openFolder(folder);
  expect(await contents(storage)).toMatch(/^a2@4 b.*@3 \| 4$/s);
  await storage.close();
});

test("other damage is refused, too, and what is half-written is removed", async () => {
  const markOfParent = await markOf(process.ppid);
  const table: [string, (folder: string) => void, string][] = [
    [
      "no identity",
      (folder) => rmSync(join(folder, "identity.json")),
      "BAD_FILE DIR/identity.json is missing, and with it the cluster's CA and keys",
    ],
    [
      "no keys",
      (folder) => writeFileSync(join(folder, "identity.json"), "{}"),
      "BAD_FILE DIR/identity.json does not have the cluster's CA and keys",
    ],
    [
      "other files",
      (folder) => writeFileSync(join(folder, "notes.txt"), ""),
      'USAGE DIR is not a cluster\'s folder: it has "notes.txt"',
    ],
    [
      "a file",
      (folder) => {
        rmSync(folder, { recursive: true });
        writeFileSync(folder, "");
      },
      "BAD_FILE DIR is a file, not a folder",
    ],
    [
      "a log without those before it",
      (folder) => writeFileSync(join(folder, "9.log"), ""),
      "BAD_FILE DIR/9.log follows revision 9, and those after 6 are missing",
    ],
    [
      "a snapshot that is not complete",
      (folder) => writeFileSync(join(folder, "6.snapshot"), ""),
      "BAD_FILE DIR/6.snapshot is not complete",
    ],
    [
      "a damaged snapshot",
      (folder) => writeFileSync(join(folder, "6.snapshot"), "x\n"),
      "BAD_FILE DIR/6.snapshot is damaged at byte 0",
    ],
    [
      "a process that runs",
      (folder) => writeFileSync(join(folder, "lock"), `${process.ppid} ${markOfParent}\n`),
      `USAGE DIR is in use by another process (pid ${process.ppid})`,
    ],
  ];
  for (const [title, damage, message] of table) {
    const folder = await made();
    damage(folder);
    expect(await failure(folder), title).toBe(message);
  }
  const folder = await made();
  writeFileSync(join(folder, ".9.snapshot.4194305.0123abcd.tmp"), "x");
  writeFileSync(join(folder, "lock"), "1 1\n");
  const { storage } = await openFolder(folder);
  expect(readdirSync(folder).sort()).toEqual(["1.log", "identity.json", "lock"]);
  await storage.close();
});

test("recovery publishes no change, and what comes after it is published once", async () => {
  const folder = await made();
  const published: number[] = [];
  const { storage } = await openFolder(folder, { onPublished: ({ revision }) => void published.push(revision) });
  await put(storage, "d");
  expect(published).toEqual([7]);
  await storage.close();
});

test.each(["1.log", "5.snapshot", "identity.json", "lock"])(
  "a pipe named %s is refused, and never opened",
  async (name) => {
    const folder = newFolder();
    mkdirSync(folder);
    execFileSync("mkfifo", [join(folder, name)]);
    expect((await listDataFiles(folder)).foreign).toEqual([name]);
  },
);
