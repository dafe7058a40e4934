import assert from "node:assert/strict";
import { test } from "vitest";
import { evaluateWithin } from "../../../../src/lab/labs/checks/check.js";
import type { CheckView } from "../../../../src/lab/labs/checks/leaf-check.js";
import { LabJump } from "../../../../src/lab/labs/environment/jump.js";
import { check } from "../../../../src/lab/labs/format/schema.js";
import { SystemClock } from "../../../../src/util/clock.js";
import { sayIn } from "../../../../src/util/i18n/catalogue.js";
import { MemoryPlace } from "../../../support/memory-place.js";

const signal = new AbortController().signal;
const PATH = "/api/v1/nodes/n1";
const isGone = check.parse({ object: PATH, exists: false, within: "5m" });

function world() {
  const place = new MemoryPlace();
  place.objects.set(PATH, { metadata: { name: "n1" } });
  const clock = new SystemClock();
  const view: CheckView = {
    client: place.client,
    folder: place.folder,
    output: () => undefined,
    say: sayIn("en"),
    run: (line) => place.run(line, undefined, signal),
  };
  const jump = new LabJump(clock);
  const wait = (onWaiting?: () => void) =>
    evaluateWithin(isGone, view, { clock, wall: new SystemClock(), patienceMs: 0, jump }, signal, onWaiting);
  return { place, clock, jump, wait };
}

test("a wait that jumps ends at the second in which its check holds, and the time passes again", async () => {
  const { place, clock, jump, wait } = world();
  const startMs = clock.now();
  clock.timer(40_000, () => void place.objects.delete(PATH), { what: "the node dies", setBy: "gracePeriod" });
  assert.ok((await wait(() => jump.ask())).ok);
  const passedMs = clock.now() - startMs;
  assert.ok(passedMs >= 40_000 && passedMs < 45_000, `${passedMs} ms`);
  assert.equal(clock.isPaused, false);
});

test("a jump ends with the limit of a check that never holds, and is for one wait only", async () => {
  const { clock, jump, wait } = world();
  jump.ask();
  assert.equal(await jump.pass(1, signal), false, "nobody waits");
  const startMs = clock.now();
  assert.equal((await wait(() => jump.ask())).ok, false);
  assert.ok(clock.now() - startMs >= 300_000);
  assert.equal(await jump.pass(1, signal), false);
});

test("a time that somebody holds stays held after a jump", async () => {
  const { place, clock, jump, wait } = world();
  clock.pause();
  clock.timer(2_000, () => void place.objects.delete(PATH));
  assert.ok((await wait(() => jump.ask())).ok);
  assert.ok(clock.isPaused);
});
