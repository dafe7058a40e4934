import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "vitest";
import { CriLog, type LogStream, MAX_LINE_BYTES } from "../../../src/cluster/runtime/logs/cri-log.js";
import { containerLogPath } from "../../../src/cluster/runtime/logs/log-path.js";
import { rfc3339Nano } from "../../../src/cluster/runtime/nano-time.js";
import { newFolder, RuntimeLab, stateOf } from "./lab.js";

const long = "x".repeat(MAX_LINE_BYTES);

/** the written pieces; the log without timestamps */
const WRITES: readonly (readonly [string, readonly (readonly [LogStream, string])[], readonly string[]])[] = [
  ["a line", [["stdout", "hi\n"]], ["stdout F hi"]],
  ["an empty line", [["stdout", "\n"]], ["stdout F "]],
  ["two lines at once", [["stderr", "a\nb\n"]], ["stderr F a", "stderr F b"]],
  [
    "a line in pieces",
    [
      ["stdout", "a"],
      ["stdout", "b"],
      ["stdout", "c\n"],
    ],
    ["stdout F abc"],
  ],
  [
    "both streams, each with a line under way",
    [
      ["stdout", "o"],
      ["stderr", "e\n"],
      ["stdout", "ut\n"],
    ],
    ["stderr F e", "stdout F out"],
  ],
  ["an end without a newline", [["stdout", "a\nrest"]], ["stdout F a", "stdout P rest"]],
  ["a line that just fits", [["stdout", `${long}\n`]], [`stdout F ${long}`]],
  ["a line that is one too long", [["stdout", `${long}y\n`]], [`stdout P ${long}`, "stdout F y"]],
  ["a line of three parts", [["stdout", `${long}${long}z\n`]], [`stdout P ${long}`, `stdout P ${long}`, "stdout F z"]],
  [
    "characters of several bytes, cut in the middle",
    [
      ["stdout", "é"],
      ["stdout", "\n"],
    ],
    ["stdout F é"],
  ],
];

function write(path: string, pieces: readonly (readonly [LogStream, string])[]): void {
  const log = new CriLog(
    path,
    () => 0n,
    (error) => assert.fail(String(error)),
  );
  for (const [stream, text] of pieces) {
    // Byte by byte is the hardest case.
    if (text.length < 100) for (const byte of Buffer.from(text)) log.write(stream, Buffer.of(byte));
    else log.write(stream, Buffer.from(text));
  }
  log.end("stdout");
  log.end("stderr");
  log.close();
}

for (const [name, pieces, want] of WRITES) {
  test(`log: ${name}`, () => {
    const path = join(newFolder(), "0.log");
    write(path, pieces);
    const lines = readFileSync(path, "utf8").split("\n");
    assert.equal(lines.pop(), "");
    assert.deepEqual(
      lines,
      want.map((line) => `1970-01-01T00:00:00Z ${line}`),
    );
  });
}

const TIMES = [
  [0n, "1970-01-01T00:00:00Z"],
  [1_767_225_600_000_000_001n, "2026-01-01T00:00:00.000000001Z"],
  [1_767_225_600_120_000_000n, "2026-01-01T00:00:00.12Z"],
] as const;
for (const [ns, text] of TIMES) {
  test(`time: ${ns} ns is ${text}`, () => assert.equal(rfc3339Nano(ns), text));
}

/** log_directory, log_path, resulting path; "refused" */
const PATHS: readonly (readonly [string, string, string | undefined])[] = [
  ["/var/log/pods/p", "c/0.log", "/var/log/pods/p/c/0.log"],
  ["/var/log/pods/p/", "./c//0.log", "/var/log/pods/p/c/0.log"],
  ["/var/log/pods/p", "/c/0.log", "/var/log/pods/p/c/0.log"],
  ["/var/log/pods/p", "a/../0.log", "/var/log/pods/p/0.log"],
  ["", "c/0.log", undefined],
  ["/var/log/pods/p", "", undefined],
  ["/var/log/pods/p", "../q/0.log", "refused"],
  ["/var/log/pods/p", "../../../../etc/passwd", "refused"],
  ["/var/log/pods/p", "../p2/0.log", "refused"],
  ["/var/log/pods/p", "c/..", "refused"],
  ["/var/log/pods/p", "a\0b", "refused"],
  ["relative", "0.log", "refused"],
];
for (const [folder, path, want] of PATHS) {
  test(`log path: ${JSON.stringify(path)} in ${JSON.stringify(folder)} is ${want}`, () => {
    if (want === "refused") assert.throws(() => containerLogPath(folder, path), { code: "InvalidArgument" });
    else assert.equal(containerLogPath(folder, path), want);
  });
}

test("a container's log is at the kubelet's path, complete at the container's end, and reopened on request", async () => {
  const lab = new RuntimeLab();
  const logDirectory = join(newFolder(), "logs");
  const container = lab.run(
    { command: ["sh", "-c", "echo one; sleep 5; echo two; echo err >&2; printf end"], logPath: "main/0.log" },
    lab.sandbox({ logDirectory }),
  );
  const path = join(logDirectory, "main/0.log");
  await lab.settle();
  assert.match(readFileSync(path, "utf8"), /^2026-01-01T00:00:00\S*Z stdout F one\n$/);
  renameSync(path, `${path}.1`);
  container.running?.log?.reopen();
  await lab.clock.advance(5000);
  assert.equal(stateOf(container), "exited (0, Completed)");
  assert.deepEqual(readFileSync(path, "utf8").replace(/^\S+ /gm, "").split("\n"), [
    "stdout F two",
    "stderr F err",
    "stdout P end",
    "",
  ]);
  assert.match(readFileSync(`${path}.1`, "utf8"), /F one\n$/);
});

test("the log has what other processes write to the first process's streams", async () => {
  const lab = new RuntimeLab();
  const logDirectory = newFolder();
  const container = lab.run({ command: ["sleep", "60"], logPath: "0.log" }, lab.sandbox({ logDirectory }));
  await lab.settle();
  const script =
    "echo out > /proc/1/fd/1; echo err >> /proc/1/fd/2; ls /nowhere 2> /proc/1/fd/2; echo x > /proc/99/fd/1";
  const { exitCode, stdout, stderr } = await lab.sh(script, container);
  assert.deepEqual([exitCode, String(stdout)], [1, ""]);
  assert.equal(String(stderr), "sh: can't create /proc/99/fd/1: No such file or directory\n");
  const log = readFileSync(join(logDirectory, "0.log"), "utf8").replace(/^\S+ /gm, "");
  assert.equal(log, "stdout F out\nstderr F err\nstderr F ls: /nowhere: No such file or directory\n");
});

test("a log folder that links elsewhere is refused, and stays empty", () => {
  const lab = new RuntimeLab();
  const elsewhere = newFolder();
  const logDirectory = newFolder();
  mkdirSync(join(logDirectory, "ok"));
  symlinkSync(elsewhere, join(logDirectory, "main"));
  const container = lab.create({ command: ["echo", "hi"], logPath: "main/0.log" }, lab.sandbox({ logDirectory }));
  assert.throws(() => lab.containers.start(container), { code: "InvalidArgument" });
  assert.equal(stateOf(container), "exited (128, StartError)");
  assert.deepEqual(readdirSync(elsewhere), []);
  assert.ok(existsSync(join(logDirectory, "ok")));
});

test("a log file that is a symbolic link is not followed", () => {
  const lab = new RuntimeLab();
  const target = join(newFolder(), "target");
  const logDirectory = newFolder();
  symlinkSync(target, join(logDirectory, "0.log"));
  const container = lab.create({ command: ["echo", "hi"], logPath: "0.log" }, lab.sandbox({ logDirectory }));
  assert.throws(() => lab.containers.start(container));
  assert.ok(!existsSync(target));
});
