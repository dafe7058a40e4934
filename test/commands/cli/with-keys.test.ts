import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { describe, test } from "vitest";
import { withKeys } from "../../../src/commands/cli/terminal-keys.js";
import type { ProcessStreams } from "../../../src/testbed/context.js";

/** A terminal whose modes are noted. */
function terminal(isTTY = true) {
  const modes: boolean[] = [];
  const stdin = Object.assign(new PassThrough(), { isTTY, setRawMode: (isRaw: boolean) => void modes.push(isRaw) });
  const stderr = Object.assign(new PassThrough(), { isTTY });
  return { streams: { stdin, stdout: stderr, stderr } as unknown as ProcessStreams, stdin, modes };
}

const never = new AbortController().signal;
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("keys that are typed while something is prepared", () => {
  test("are read, so that the terminal does not show them, and mean nothing", async () => {
    const { streams, stdin, modes } = terminal();
    const result = await withKeys(streams, never, async (signal) => {
      stdin.write("\u001b[B\u001b[A");
      await turn();
      return signal.aborted ? "interrupted" : "prepared";
    });
    assert.equal(result, "prepared");
    assert.deepEqual(modes, [true, false]);
  });
  test("Ctrl-C aborts what is prepared", async () => {
    const { streams, stdin, modes } = terminal();
    const aborted = withKeys(streams, never, async (signal) => {
      stdin.write("\u0003");
      while (!signal.aborted) await turn();
      return signal.reason as Error;
    });
    assert.equal((await aborted).name, "AbortError");
    assert.deepEqual(modes, [true, false]);
  });
  test("without a terminal nothing is read", async () => {
    const { streams, modes } = terminal(false);
    assert.equal(await withKeys(streams, never, async (signal) => signal === never), true);
    assert.deepEqual(modes, []);
  });
});
