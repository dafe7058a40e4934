import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { FSYNC_POLICIES, type FsyncPolicy } from "../../../../../src/cluster/apiserver/storage/disk/config.js";
import { newFolder, openFolder, PREFIX } from "./fixtures.js";

const ROUNDS = 6;
const MOST_LINES = 1500;

interface Write {
  readonly key: string;
  /** undefined: deleted */
  readonly value: string | undefined;
  /** 0: another write came first; undefined: not answered */
  readonly revision: number | undefined;
}

/** Lets random clients write until the process is killed, at a random moment. */
async function writeUntilKilled(folder: string, fsync: FsyncPolicy, round: number): Promise<Write[]> {
  const program = [
    "scripts/run.mjs",
    "test/cluster/apiserver/storage/disk/writer-process.ts",
    folder,
    fsync,
    String(round),
  ];
  const child = spawn(process.execPath, program, { stdio: ["ignore", "pipe", "inherit"] });
  const lineCount = 1 + Math.floor(Math.random() * MOST_LINES);
  const begun = new Map<string, Write>();
  const answered: Write[] = [];
  let count = 0;
  let text = "";
  child.stdout.on("data", (chunk: Buffer) => {
    text += chunk.toString();
    const lines = text.split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) {
      const [id = "", key = "", word, revision] = line.split(" ");
      const write = { key, value: word === "-" ? undefined : word };
      if (revision === undefined) begun.set(id, { ...write, revision });
      else if (begun.delete(id)) answered.push({ ...write, revision: Number(revision) });
      count++;
    }
    if (count >= lineCount) child.kill("SIGKILL");
  });
  await once(child, "close");
  return [...answered.filter(({ revision }) => revision !== 0), ...begun.values()];
}

/** The values that a key can have: the last that was answered, or one whose answer was not seen. */
function possibleValues(writes: readonly Write[], key: string, before: string | undefined): (string | undefined)[] {
  const mine = writes.filter((write) => write.key === key);
  const answered = mine.filter(({ revision }) => revision !== undefined);
  const last = answered.sort((a, b) => (a.revision ?? 0) - (b.revision ?? 0)).at(-1);
  const open = mine.filter(({ revision }) => revision === undefined).map(({ value }) => value);
  return [last === undefined ? before : last.value, ...open];
}

for (const fsync of FSYNC_POLICIES) {
  test(`eight random clients, killed again and again: no answered write is lost (fsync ${fsync})`, async () => {
    const folder = newFolder();
    const { storage } = await openFolder(folder);
    await storage.close();
    let newest = 1;
    let before = new Map<string, string | undefined>();
    for (let round = 0; round < ROUNDS; round++) {
      const writes = await writeUntilKilled(folder, fsync, round);
      const revisions = writes.flatMap(({ revision }) => revision ?? []);
      expect(new Set(revisions).size, "each write has a revision of its own").toBe(revisions.length);
      expect(Math.min(...revisions, newest + 1), "revisions continue").toBe(newest + 1);
      const { storage: opened } = await openFolder(folder);
      const continued = await opened.currentRevision();
      expect(continued).toBeGreaterThanOrEqual(Math.max(...revisions, newest));
      newest = continued;
      const { entries } = await opened.list(PREFIX);
      const found = new Map(entries.map(({ key, object }) => [key, object["value"] as string | undefined]));
      for (const key of new Set([...writes.map((write) => write.key), ...before.keys()])) {
        expect(possibleValues(writes, key, before.get(key)), key).toContain(found.get(key));
      }
      before = found;
      await opened.close();
    }
  });
}
