import assert from "node:assert/strict";
import { appendFileSync, mkdtempSync, renameSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, test } from "vitest";
import { type FileLine, LineSplitter } from "../../../../src/kubelet/kuberuntime/logs/lines.js";
import { newLogOptions, type PodLogOptions } from "../../../../src/kubelet/kuberuntime/logs/options.js";
import { LogOutput } from "../../../../src/kubelet/kuberuntime/logs/output.js";
import { readLogs } from "../../../../src/kubelet/kuberuntime/logs/read-logs.js";
import { findTailLineStart } from "../../../../src/kubelet/kuberuntime/logs/tail.js";
import { FakeClock, START_MS, untilTrue } from "../../../support/fake-clock.js";
import { only, recordingTrace } from "../../../support/trace.js";

const folder = mkdtempSync(join(tmpdir(), "kubelab-logs-"));
let files = 0;

function logFile(content: string | Buffer): string {
  const path = join(folder, `${files++}.log`);
  writeFileSync(path, content);
  return path;
}

/** A line written `seconds` after the fake clock's start. */
function line(second: number, text: string, stream = "stdout", tag = "F"): string {
  return `${new Date(START_MS + second * 1000).toISOString()} ${stream} ${tag} ${text}\n`;
}

class Reading {
  readonly clock = new FakeClock(START_MS + 100_000);
  readonly #recorded = recordingTrace(this.clock);
  readonly #stop = new AbortController();
  readonly #run: AsyncGenerator<{ readonly stream: string; readonly bytes: Uint8Array }, void>;
  isRunning = true;
  /** how often the container's state was read */
  asked = 0;

  constructor(path: string, options: PodLogOptions = {}) {
    const deps = {
      clock: this.clock,
      trace: this.#recorded.trace,
      isContainerRunning: async () => {
        this.asked++;
        return this.isRunning;
      },
    };
    const request = { path, containerId: "c1", options: newLogOptions(options, this.clock.now()) };
    this.#run = readLogs(deps, request, this.#stop.signal);
  }

  /** all that is still to come */
  async rest(): Promise<string> {
    const parts: Uint8Array[] = [];
    for await (const { bytes } of this.#run) parts.push(bytes);
    return Buffer.concat(parts).toString();
  }

  async streams(): Promise<string> {
    const seen: string[] = [];
    for await (const { stream, bytes } of this.#run) seen.push(`${stream}:${Buffer.from(bytes)}`);
    return seen.join("|");
  }

  async next(): Promise<string | undefined> {
    const { value } = await this.#run.next();
    return value === undefined ? undefined : Buffer.from(value.bytes).toString();
  }

  /** Until the reader has come to the end of the file, and sleeps. */
  async untilWaiting(): Promise<void> {
    await untilTrue(() => this.clock.sleeping > 0);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#run.return(undefined);
  }

  get errors(): string[] {
    return only(this.#recorded.events, "error").map(({ message }) => message);
  }
}

const LOG = [
  line(1, "one"),
  line(2, "two", "stderr"),
  line(3, "thr", "stdout", "P"),
  line(4, "ee"),
  line(5, "four"),
].join("");
const times = (seconds: number) => new Date(START_MS + seconds * 1000).toISOString().replace("Z", "000000Z");

const table: readonly [string, PodLogOptions, string][] = [
  ["all", {}, "one\ntwo\nthree\nfour\n"],
  ["tail 2: parts count as lines", { tailLines: 2 }, "ee\nfour\n"],
  ["tail 0", { tailLines: 0 }, ""],
  ["tail more than there are", { tailLines: 99 }, "one\ntwo\nthree\nfour\n"],
  ["since: 97 s ago", { sinceSeconds: 97 }, "three\nfour\n"],
  ["since a time", { sinceTimeMs: START_MS + 4000 }, "ee\nfour\n"],
  ["since the later of two", { sinceSeconds: 97, sinceTimeMs: START_MS + 5000 }, "four\n"],
  ["tail and since", { tailLines: 2, sinceTimeMs: START_MS + 5000 }, "four\n"],
  ["since the future", { sinceTimeMs: START_MS + 1e6 }, ""],
  ["limit in a line", { limitBytes: 5 }, "one\nt"],
  ["limit at a line's end", { limitBytes: 4 }, "one\n"],
  ["limit beyond the end", { limitBytes: 999 }, "one\ntwo\nthree\nfour\n"],
  ["times", { timestamps: true, tailLines: 1 }, `${times(5)} four\n`],
  ["times of parts", { timestamps: true, tailLines: 3 }, `${times(3)} thr${times(4)} ee\n${times(5)} four\n`],
  ["the limit counts times too", { timestamps: true, limitBytes: 33 }, `${times(1)} on`],
];

describe("logs: options on a log of five lines", () => {
  for (const [what, options, want] of table) {
    test(what, async () => assert.equal(await new Reading(logFile(LOG), options).rest(), want));
  }

  test("streams are separated, and consecutive output comes in one piece", async () => {
    assert.equal(await new Reading(logFile(LOG)).streams(), "stdout:one\n|stderr:two\n|stdout:three\nfour\n");
  });
});

describe("logs: files that are not as they should be", () => {
  const rows: readonly [string, string, PodLogOptions, string, RegExp | undefined][] = [
    ["empty", "", {}, "", undefined],
    ["a last line without its end", `${LOG}${line(6, "five").trimEnd()}`, {}, "one\ntwo\nthree\nfour\nfive", undefined],
    ["... is not counted in a tail", `${LOG}${line(6, "five").trimEnd()}`, { tailLines: 1 }, "four\n", undefined],
    [
      "a broken line",
      `${line(1, "a")}rubbish\n${line(2, "b")}`,
      {},
      "a\nb\n",
      /^a line of .* cannot be parsed as a log: timestamp is not found: "rubbish\\n"$/,
    ],
    ["two broken lines", `${line(1, "a")}x\ny z\n`, {}, "a\n", /^2 lines of .*"x\\n"$/],
    ["Docker's format", '{"log":"d\\n","stream":"stdout","time":"2026-01-01T00:00:00Z"}\n', {}, "d\n", undefined],
  ];
  for (const [what, content, options, want, error] of rows) {
    test(what, async () => {
      const reading = new Reading(logFile(content), options);
      assert.equal(await reading.rest(), want);
      if (error === undefined) assert.deepEqual(reading.errors, []);
      else assert.match(reading.errors.join(), error);
    });
  }

  test("another format", async () => {
    await assert.rejects(new Reading(logFile("hello\n")).rest(), {
      name: "LogError",
      message: 'failed to get parse function: unsupported log format: "hello\\n"',
    });
  });

  test("no file", async () => {
    const path = join(folder, "none.log");
    await assert.rejects(new Reading(path).rest(), {
      message: `failed to try resolving symlinks in path "${path}": lstat ${path}: no such file or directory`,
    });
  });

  test("a folder", async () => {
    await assert.rejects(new Reading(folder).rest(), {
      message: `failed to open log file "${folder}": it is not a regular file`,
    });
  });

  test("a link is followed", async () => {
    const link = join(folder, "link.log");
    symlinkSync(logFile(LOG), link);
    assert.equal(await new Reading(link, { tailLines: 1 }).rest(), "four\n");
  });

  test("a line of 5 MB comes whole, without being held", async () => {
    const text = "x".repeat(5_000_000);
    const reading = new Reading(logFile(line(1, text) + line(2, "after")));
    assert.equal(await reading.rest(), `${text}\nafter\n`);
  });
});

describe("logs: following", () => {
  test("waits at the end for more, and ends when the container has ended and all is read", async () => {
    const path = logFile(line(1, "one"));
    const reading = new Reading(path, { follow: true });
    assert.equal(await reading.next(), "one\n");
    const second = reading.next();
    await reading.untilWaiting();
    appendFileSync(path, line(2, "two"));
    assert.equal(await second, "two\n");
    appendFileSync(path, line(3, "three"));
    reading.isRunning = false;
    assert.equal(await reading.rest(), "three\n");
    assert.equal(reading.clock.sleeping, 0);
  });

  test("looks at the container each second, also when nothing is written", async () => {
    const reading = new Reading(logFile(""), { follow: true });
    const rest = reading.rest();
    for (let second = 1; second <= 3; second++) {
      await reading.untilWaiting();
      assert.equal(reading.asked, second);
      if (second < 3) await reading.clock.advance(1000);
    }
    reading.isRunning = false;
    await reading.clock.advance(1000);
    assert.equal(await rest, "");
  });

  test("a line that is written in two goes comes whole", async () => {
    const path = logFile("");
    const whole = line(1, "whole");
    const reading = new Reading(path, { follow: true });
    const first = reading.next();
    await reading.untilWaiting();
    appendFileSync(path, whole.slice(0, 30));
    await untilTrue(() => reading.asked >= 2);
    await reading.untilWaiting();
    appendFileSync(path, whole.slice(30));
    assert.equal(await first, "whole\n");
    await reading.stop();
  });

  test("continues in the new file, after the rest of the old one", async () => {
    const path = logFile(line(1, "old 1"));
    const reading = new Reading(path, { follow: true });
    assert.equal(await reading.next(), "old 1\n");
    const rest = reading.rest();
    await reading.untilWaiting();
    renameSync(path, `${path}.1`);
    appendFileSync(`${path}.1`, line(2, "old 2"));
    writeFileSync(path, line(3, "new 1"));
    reading.isRunning = false;
    assert.equal(await rest, "old 2\nnew 1\n");
  });

  test("a file that is emptied is read from its beginning", async () => {
    const path = logFile(line(1, "before"));
    const reading = new Reading(path, { follow: true });
    assert.equal(await reading.next(), "before\n");
    const next = reading.next();
    await reading.untilWaiting();
    truncateSync(path, 0);
    await untilTrue(() => reading.asked >= 2);
    await reading.untilWaiting();
    appendFileSync(path, line(2, "after"));
    assert.equal(await next, "after\n");
    await reading.stop();
  });

  test("tail shows the last lines and all that comes", async () => {
    const path = logFile(LOG);
    const reading = new Reading(path, { follow: true, tailLines: 1 });
    assert.equal(await reading.next(), "four\n");
    appendFileSync(path, line(6, "five"));
    reading.isRunning = false;
    assert.equal(await reading.rest(), "five\n");
  });

  test("ends at the limit", async () => {
    assert.equal(await new Reading(logFile(LOG), { follow: true, limitBytes: 3 }).rest(), "one");
  });

  test("ends with its signal, and leaves no timer", async () => {
    const reading = new Reading(logFile(""), { follow: true });
    const rest = reading.rest();
    await reading.untilWaiting();
    await reading.stop();
    assert.equal(await rest, "");
    assert.equal(reading.clock.sleeping, 0);
  });

  test("ends with the failure when the runtime does not answer", async () => {
    const clock = new FakeClock();
    const { trace } = recordingTrace(clock);
    const isContainerRunning = () => Promise.reject(new Error("rpc error: code = NotFound desc = gone"));
    const request = { path: logFile(""), containerId: "c1", options: newLogOptions({ follow: true }, 0) };
    const run = readLogs({ clock, trace, isContainerRunning }, request, new AbortController().signal);
    await assert.rejects(run.next(), { message: "rpc error: code = NotFound desc = gone" });
  });

  test("the next block is read when the last was taken", async () => {
    const path = logFile(line(1, "x".repeat(1000)).repeat(1000));
    const reading = new Reading(path);
    assert.ok((await reading.next())?.length ?? 0 < 70_000);
    truncateSync(path, 100_000);
    assert.ok((await reading.rest()).length < 100_000, "more was read ahead than a block");
  });
});

describe("logs: the last lines of a file", () => {
  test("are found in few reads, however long the file is", async () => {
    const size = 1e12;
    let reads = 0;
    const file = {
      async read(buffer: Buffer, _offset: number, length: number) {
        reads++;
        buffer.fill("0123456\n", 0, length);
        return { bytesRead: length };
      },
    };
    assert.equal(await findTailLineStart(file, size, 1000), size - 8000);
    assert.equal(reads, 1);
  });

  test("agree with a naive count, whatever the lengths", async () => {
    const lengths = fc.array(fc.oneof(fc.nat(3), fc.integer({ min: 60_000, max: 70_000 })), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(lengths, fc.nat(14), fc.boolean(), async (all, tail, isWhole) => {
        const content = all.map((length) => `${"x".repeat(length)}\n`).join("") + (isWhole ? "" : "open");
        const path = logFile(content);
        await using handle = await open(path);
        const lines = content.split("\n").slice(0, -1);
        const want = lines.slice(0, Math.max(0, lines.length - tail)).reduce((sum, one) => sum + one.length + 1, 0);
        assert.equal(await findTailLineStart(handle, content.length, tail), want);
      }),
      { numRuns: 60 },
    );
  });
});

test("logs: tail, since, limit and times agree with a naive model, however the file is cut into blocks", () => {
  const entry = fc.record({
    second: fc.nat(20),
    text: fc.string({ maxLength: 50 }).map((text) => text.replaceAll("\n", " ")),
    isPart: fc.boolean(),
    isErr: fc.boolean(),
  });
  const asked = fc.record({
    tailLines: fc.option(fc.nat(12), { nil: undefined }),
    limitBytes: fc.option(fc.integer({ min: 1, max: 300 }), { nil: undefined }),
    sinceTimeMs: fc.option(
      fc.nat(20).map((second) => START_MS + second * 1000),
      { nil: undefined },
    ),
    timestamps: fc.boolean(),
  });
  fc.assert(
    fc.property(
      fc.array(entry, { maxLength: 10 }),
      asked,
      fc.integer({ min: 1, max: 64 }),
      (entries, question, step) => {
        const { tailLines, limitBytes, sinceTimeMs, timestamps } = question;
        const options = newLogOptions(
          {
            timestamps,
            ...(tailLines === undefined ? {} : { tailLines }),
            ...(limitBytes === undefined ? {} : { limitBytes }),
            ...(sinceTimeMs === undefined ? {} : { sinceTimeMs }),
          },
          0,
        );
        const wanted = tailLines === undefined ? entries : entries.slice(Math.max(0, entries.length - tailLines));
        const model = Buffer.concat(
          wanted
            .filter(({ second }) => sinceTimeMs === undefined || START_MS + second * 1000 >= sinceTimeMs)
            .map(({ second, text, isPart }) =>
              Buffer.from(`${timestamps ? `${times(second)} ` : ""}${text}${isPart ? "" : "\n"}`),
            ),
        ).subarray(0, limitBytes);
        const file = Buffer.from(
          wanted
            .map(({ second, text, isPart, isErr }) =>
              line(second, text, isErr ? "stderr" : "stdout", isPart ? "P" : "F"),
            )
            .join(""),
        );
        // Longer lines come in pieces, the first of which holds the line's head.
        const splitter = new LineSplitter(60);
        const output = new LogOutput(options, (broken, why) => assert.fail(`${why}: ${broken}`));
        const pieces: Uint8Array[] = [];
        const take = (lines: FileLine[]) => pieces.push(...output.take(lines).map(({ bytes }) => bytes));
        for (let at = 0; at < file.length; at += step) take(splitter.push(file.subarray(at, at + step)));
        take(splitter.end());
        assert.equal(Buffer.concat(pieces).toString(), model.toString());
      },
    ),
  );
});
