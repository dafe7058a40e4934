import { execFileSync } from "node:child_process";
import { mkdtemp, open, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ByteCollector, readAtMost, readFileAtMost, readRegularFile } from "../../../src/util/os/read-at-most.js";

describe("collected bytes", () => {
  test("a million one-byte chunks are kept in a few buffers", () => {
    const collector = new ByteCollector();
    const chunk = Buffer.from("x");
    for (let i = 0; i < 1_000_000; i++) collector.push(chunk);
    expect([collector.length, collector.pieceCount < 100]).toEqual([1_000_000, true]);
    expect(collector.bytes().equals(Buffer.alloc(1_000_000, "x"))).toBe(true);
  });

  test("small and large chunks stay in order, and small ones share a buffer across large ones", () => {
    const collector = new ByteCollector();
    const chunks = Array.from({ length: 300 }, (_, i) => Buffer.alloc(i % 3 === 0 ? 5000 : 7, i));
    for (const chunk of chunks) collector.push(chunk);
    expect(collector.bytes().equals(Buffer.concat(chunks))).toBe(true);
    expect(new ByteCollector().bytes()).toHaveLength(0);
  });

  test("the only chunk is not copied", () => {
    const collector = new ByteCollector();
    const chunk = Buffer.from("small");
    collector.push(chunk);
    expect(collector.bytes().buffer).toBe(chunk.buffer);
    expect(collector.bytes().equals(chunk)).toBe(true);
  });
});

describe("reading with a limit", () => {
  test("a stream ends at the limit", async () => {
    let given = 0;
    async function* endless() {
      for (;;) {
        given++;
        yield Buffer.alloc(100);
      }
    }
    await expect(readAtMost(endless(), 1000)).rejects.toMatchObject({
      code: "EFBIG",
      message: "it has more than 1000 bytes",
    });
    expect(given).toBe(11);
  });

  test("files, devices and folders", async () => {
    const folder = await mkdtemp(join(tmpdir(), "read-"));
    const path = join(folder, "file");
    await writeFile(path, "x".repeat(1000));
    expect(await readFileAtMost(path, undefined, 1000)).toHaveLength(1000);
    await expect(readFileAtMost(path, undefined, 999)).rejects.toMatchObject({ code: "EFBIG" });
    await expect(readFileAtMost("/dev/zero")).rejects.toThrow("it has more than 10 MiB");
    expect(await readFileAtMost("/dev/null")).toHaveLength(0);
    await expect(readFileAtMost(folder)).rejects.toMatchObject({ code: "EISDIR" });
    await expect(readFileAtMost(join(folder, "none"))).rejects.toMatchObject({ code: "ENOENT" });
  });

  test("a pipe waits for its writer, and stops at the signal", async () => {
    const folder = await mkdtemp(join(tmpdir(), "read-"));
    const path = join(folder, "pipe");
    execFileSync("mkfifo", [path]);
    const stop = new AbortController();
    const waiting = readFileAtMost(path, stop.signal);
    stop.abort(new Error("stopped"));
    await expect(waiting).rejects.toThrow("stopped");
    const reading = readFileAtMost(path);
    const writer = await open(path, "w");
    await writer.write("one ");
    await writer.write("two");
    await writer.close();
    expect((await reading).toString()).toBe("one two");
  });
});

describe("a regular file", () => {
  test("is read, and other things are refused at once", async () => {
    const folder = await mkdtemp(join(tmpdir(), "kubelab-regular-"));
    const [file, pipe] = [join(folder, "file"), join(folder, "pipe")];
    await writeFile(file, "text");
    execFileSync("mkfifo", [pipe]);
    expect(await readRegularFile(file)).toBe("text");
    for (const [path, code] of [
      [pipe, "EINVAL"],
      ["/dev/zero", "EINVAL"],
      [folder, "EISDIR"],
      [join(folder, "none"), "ENOENT"],
    ] as const) {
      await expect(readRegularFile(path), path).rejects.toMatchObject({ code });
    }
  });
});
