import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "vitest";
import { CommandHandler } from "../../../src/lab/virtual/command-handler.js";
import { CommandNotes, endLeftCommands } from "../../../src/lab/virtual/command-notes.js";
import { isAlive } from "../../../src/util/os/processes.js";
import { settle } from "../../support/fake-clock.js";
import { hear, taskOf } from "./tasks.js";

const PATH = process.env["PATH"];
const nodeFolder = () => mkdtempSync(join(tmpdir(), "kubelab-commands-"));

describe.skipIf(process.platform !== "linux")("commands that outlive their kubelet", () => {
  test("a running command is noted, and killed with its children", async () => {
    const folder = nodeFolder();
    const handler = new CommandHandler("sleep 1000 & echo $!; wait", { PATH }, new CommandNotes(folder));
    let child = 0;
    let ended: Promise<readonly number[]> | undefined;
    const { outcome } = await hear(handler, taskOf("p"), {
      onEvent: (event) => {
        if (event.kind !== "log" || ended !== undefined) return;
        child = Number(Buffer.from(event.bytes).toString());
        ended = endLeftCommands(folder);
      },
    });
    assert.equal(outcome?.message, "the command was ended by SIGKILL");
    assert.equal((await ended)?.length, 1);
    // The kernel ends a process some time after the signal.
    while (await isAlive(child)) await settle(1);
  });

  test("the note of an ended command is removed", async () => {
    const folder = nodeFolder();
    await hear(new CommandHandler("true", { PATH }, new CommandNotes(folder)), taskOf("p"));
    assert.deepEqual(readdirSync(join(folder, "commands")), []);
    assert.deepEqual(await endLeftCommands(folder), []);
    assert.equal(existsSync(join(folder, "commands")), false);
  });

  test("a later process with the same PID is not killed, and other files are ignored", async () => {
    const folder = nodeFolder();
    mkdirSync(join(folder, "commands"));
    // If one of these were killed, this process would end.
    for (const name of [`${process.pid}-1`, `${process.pid}-`, `${process.pid}`, "0-0", "1-1", "-5-5", "a"]) {
      writeFileSync(join(folder, "commands", name), "");
    }
    assert.deepEqual(await endLeftCommands(folder), []);
  });
});
