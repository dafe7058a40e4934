import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { lastOfLog, localFiles, terminationMessage } from "../../../src/kubelet/kuberuntime/termination-message.js";
import type { Init } from "../../../src/staging/apimachinery/protobuf/fields.js";
import { ContainerStatus } from "../../../src/staging/cri/messages/container.js";
import { ContainerState } from "../../../src/staging/cri/messages/enums.js";

const folder = mkdtempSync(join(tmpdir(), "kubelab-termination-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const PATH = "/dev/termination-log";
const files = new Map<string, string | Error>();
const reader = {
  readTail: async (path: string) => {
    const found = files.get(path);
    if (found instanceof Error) throw found;
    return found === undefined ? undefined : Buffer.from(found);
  },
};

async function messageOf(policy: string, rest: Init<typeof ContainerStatus> = {}): Promise<string> {
  const annotations = {
    "io.kubernetes.container.terminationMessagePath": PATH,
    "io.kubernetes.container.terminationMessagePolicy": policy,
  };
  const mounts = [{ containerPath: PATH, hostPath: "/host/message" }];
  const status = {
    state: ContainerState.CONTAINER_EXITED,
    exitCode: 1,
    annotations,
    mounts,
    logPath: "/host/log",
    ...rest,
  };
  return terminationMessage(ContainerStatus.create(status), reader);
}

describe("terminationMessage", () => {
  const line = "2026-01-01T00:00:00.000000000Z stderr F out of luck\n";
  const table: readonly [string, Record<string, string | Error>, string, Init<typeof ContainerStatus>, string][] = [
    ["what was written", { "/host/message": "bye" }, "File", {}, "bye"],
    ["nothing was written, and the log is not asked", { "/host/log": line }, "File", {}, ""],
    ["the log in its place", { "/host/log": line }, "FallbackToLogsOnError", {}, "out of luck\n"],
    [
      "the log in place of an empty file",
      { "/host/message": "", "/host/log": line },
      "FallbackToLogsOnError",
      {},
      "out of luck\n",
    ],
    ["the file wins over the log", { "/host/message": "bye", "/host/log": line }, "FallbackToLogsOnError", {}, "bye"],
    ["no log for one that ended well", { "/host/log": line }, "FallbackToLogsOnError", { exitCode: 0 }, ""],
    [
      "no log for one that never began",
      { "/host/log": line },
      "FallbackToLogsOnError",
      { reason: "ContainerCannotRun" },
      "",
    ],
    ["nothing of one that runs", { "/host/message": "bye" }, "File", { state: ContainerState.CONTAINER_RUNNING }, ""],
    ["no mount, no file", { "/host/message": "bye" }, "File", { mounts: [] }, ""],
    [
      "a file that cannot be read says so",
      { "/host/message": new Error("not yours") },
      "File",
      {},
      "Error on reading termination log /host/message: not yours",
    ],
  ];
  for (const [name, present, policy, rest, want] of table) {
    test(name, async () => {
      files.clear();
      for (const [path, content] of Object.entries(present)) files.set(path, content);
      expect(await messageOf(policy, rest)).toBe(want);
    });
  }
});

describe("lastOfLog", () => {
  const lines = (count: number, text: (i: number) => string) =>
    Buffer.from(Array.from({ length: count }, (_, i) => `t stdout F ${text(i)}\n`).join(""));

  test("parts of a line belong together", () => {
    expect(lastOfLog(Buffer.from("t stdout P one \nt stdout P two \nt stderr F three\n"), false)).toBe(
      "one two three\n",
    );
  });
  test("at most 80 lines", () => {
    expect(
      lastOfLog(
        lines(100, (i) => `${i}`),
        false,
      ).split("\n"),
    ).toHaveLength(81);
    expect(
      lastOfLog(
        lines(100, (i) => `${i}`),
        false,
      ).startsWith("20\n"),
    ).toBe(true);
  });
  test("at most 2048 bytes, the last ones", () => {
    const text = lastOfLog(
      lines(80, () => "x".repeat(100)),
      false,
    );
    expect([text.length, text.endsWith("x\n")]).toEqual([2048, true]);
  });
  test("a line that is still being written, or cut at its beginning, or no log line, is left out", () => {
    expect(lastOfLog(Buffer.from("of a line\nt stdout F whole\nnonsense\nt stdout F unfinished"), true)).toBe(
      "whole\n",
    );
  });
  test("an empty line is a line", () => expect(lastOfLog(Buffer.from("t stdout F \n"), false)).toBe("\n"));
});

describe("files of this machine", () => {
  test("the end of one", async () => {
    writeFileSync(join(folder, "file"), "0123456789");
    expect((await localFiles.readTail(join(folder, "file"), 4))?.toString()).toBe("6789");
    expect((await localFiles.readTail(join(folder, "file"), 100))?.toString()).toBe("0123456789");
  });
  test("none there", async () => expect(await localFiles.readTail(join(folder, "none"), 4)).toBeUndefined());
  test("a folder or a pipe is refused, not waited for", async () => {
    execFileSync("mkfifo", [join(folder, "pipe")]);
    await expect(localFiles.readTail(join(folder, "pipe"), 4)).rejects.toThrow("not a regular file");
    await expect(localFiles.readTail(folder, 4)).rejects.toThrow("not a regular file");
  });
});
