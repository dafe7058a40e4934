import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "vitest";
import type { OutputOptions } from "../../../src/commands/cli/options.js";
import { CliSession } from "../../../src/commands/cli/session.js";
import { FakeRandom } from "../../support/fake-clock.js";

function open(output: Partial<OutputOptions>) {
  const stderr = new PassThrough();
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr };
  const { signal } = new AbortController();
  const session = new CliSession(
    { env: {}, cwd: "/", random: new FakeRandom(), self: [], signal, streams },
    { commandNames: [], run: async () => 0 },
  );
  session.useOutput({ color: true, ...output });
  return { session, printed: () => String(stderr.read() ?? "") };
}

test("--ui serves the page before the command begins, names it once on stderr, and ends with the command", async () => {
  const { session, printed } = open({ ui: true, verbosity: 0 });
  await session.load();
  assert.equal(printed(), "");
  const { trace } = session.session({});
  assert.ok(session.ui);
  const [line, url = ""] = /^live page: (http:\S+)\n$/.exec(printed()) ?? [];
  assert.ok(line);
  assert.deepEqual([trace.wantsCauses, trace.wantsBodies], [true, true]);
  assert.equal((await fetch(url)).status, 200);
  await session.close();
  await assert.rejects(fetch(url));
});

test("without --ui nothing is served, and no causes are kept", async () => {
  const { session, printed } = open({ verbosity: 0 });
  await session.load();
  const { trace } = session.session({});
  assert.deepEqual([session.ui, printed(), trace.wantsCauses, trace.wantsBodies], [undefined, "", false, false]);
  await session.close();
});

test("a port that is taken is an error before the command begins", async () => {
  const first = open({ ui: 0 });
  await first.session.load();
  first.session.session({});
  const port = Number(/127\.0\.0\.1:(\d+)/.exec(first.printed())?.[1]);
  const second = open({ ui: port });
  await assert.rejects(second.session.load(), { code: "USAGE", message: /127\.0\.0\.1:\d+: the port is taken/ });
  await second.session.close();
  await first.session.close();
});
