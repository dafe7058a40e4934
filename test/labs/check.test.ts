import assert from "node:assert/strict";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "vitest";
import { type CheckView, evaluate, evaluateWithin, withinMs } from "../../src/labs/check.js";
import { type Check, check } from "../../src/labs/schema.js";
import { InstantClock, MemoryPlace } from "../support/memory-place.js";

const signal = new AbortController().signal;
const place = new MemoryPlace();
const node = { metadata: { name: "n1" }, status: { phase: "Ready", count: 3 } };
place.objects.set("/api/v1/nodes/n1", node);
place.objects.set("/api/v1/nodes/n2", { ...node, status: { phase: "Lost", count: 5 } });
writeFileSync(join(place.folder, "key"), "first line\nsecret 42\n");
chmodSync(join(place.folder, "key"), 0o600);

const view: CheckView = {
  client: place.client,
  folder: place.folder,
  output: (name) => (name === "join" ? { code: 3, stdout: "one\ntwo three\n", stderr: "four\n" } : undefined),
  run: (line) => place.run(line, undefined, signal),
};

/** check, holds, what it saw, what it wants */
const table: readonly (readonly [unknown, boolean, RegExp, RegExp?])[] = [
  [{ object: "/api/v1/nodes/n1" }, true, /n1 = true/],
  [{ object: "/api/v1/nodes/n9" }, false, /n9 = -/, /n9 != -/],
  [{ object: "/api/v1/nodes/n9", exists: false }, true, /n9 = -/],
  [{ object: "/api/v1/nodes/n1", exists: false }, false, /= true/, /= -/],
  [{ object: "/api/v1/nodes/n1", field: "status.phase", is: "Ready" }, true, /status\.phase .*= Ready/],
  [{ object: "/api/v1/nodes/n1", field: "status.phase", is: "Lost" }, false, /= Ready/, /= Lost/],
  [{ object: "/api/v1/nodes/n1", field: "status.gone", is: "Lost" }, false, /= -/, /= Lost/],
  [{ object: "/api/v1/nodes/n1", field: "status.gone" }, false, /= -/, /!= -/],
  [{ object: "/api/v1/nodes/n1", field: "status.phase", isNot: "Lost" }, true, /Ready/],
  [{ object: "/api/v1/nodes/n1", field: "status.phase", matches: "^Re" }, true, /Ready/],
  [{ object: "/api/v1/nodes/n1", field: "status.count", atLeast: 3 }, true, /= 3/],
  [{ object: "/api/v1/nodes/n1", field: "status.count", atLeast: 4 }, false, /= 3/, />= 4/],
  [{ object: "/api/v1/nodes/n1", field: "status.count", atMost: 2 }, false, /= 3/, /<= 2/],
  [{ list: "/api/v1/nodes", is: 2 }, true, /count = 2/],
  [{ list: "/api/v1/nodes", where: "status.phase == Lost", is: 1 }, true, /count = 1/],
  [{ list: "/api/v1/nodes", where: "status.gone", is: 0 }, true, /count = 0/],
  [{ output: "join", matches: "two three" }, true, /two three/],
  [{ output: "join", stream: "stdout", matches: "four" }, false, /two three/, /\/four\/ in join/],
  [{ output: "join", matches: "three four" }, true, /three four/],
  [{ output: "other", matches: "x" }, false, /other: -/],
  [{ exit: "join", is: 3 }, true, /exit 3/],
  [{ exit: "join", is: 0 }, false, /exit 3/, /exit 0/],
  [{ file: "key" }, true, /key: 600/],
  [{ file: "key", mode: "644" }, false, /600/, /644/],
  [{ file: "key", matches: "^secret \\d+" }, true, /secret 42/],
  [{ file: "key", exists: false }, false, /exists/],
  [{ file: "none" }, false, /none: -/],
  [{ file: "none", exists: false }, true, /none: -/],
  [{ file: "../../etc/passwd" }, false, /passwd/, /below the lab's folder/],
  [{ file: "/etc/passwd" }, false, /passwd/, /below the lab's folder/],
  [{ command: "kubectl delete node n7", matches: "deleted" }, true, /exit 0/],
  [{ command: "nothing here" }, false, /exit 127/, /exit 0/],
  [{ command: "nothing here", exit: 127 }, true, /exit 127/],
  [{ all: [{ object: "/api/v1/nodes/n1" }, { exit: "join", is: 3 }] }, true, /n1.*; .*exit 3/],
  [{ all: [{ object: "/api/v1/nodes/n1" }, { exit: "join", is: 1 }] }, false, /exit 3/, /exit 1/],
  [{ any: [{ object: "/api/v1/nodes/n9" }, { exit: "join", is: 3 }] }, true, /exit 3/],
  [{ any: [{ object: "/api/v1/nodes/n9" }, { exit: "join", is: 1 }] }, false, /n9 = -; join: exit 3/, / \| exit 1/],
  [{ not: { exit: "join", is: 1 } }, true, /exit 3/],
  [{ not: { exit: "join", is: 3 } }, false, /exit 3/, /!\(/],
];

for (const [asked, ok, seen, want] of table) {
  test(`${JSON.stringify(asked)}: ${ok ? "holds" : "does not hold"}`, async () => {
    const verdict = await evaluate(check.parse(asked), view, signal);
    assert.equal(verdict.ok, ok, JSON.stringify(verdict));
    assert.match(verdict.seen, seen);
    if (want !== undefined) assert.match(verdict.ok ? "" : verdict.want, want);
  });
}

describe("within", () => {
  const units: readonly (readonly [string | undefined, number])[] = [
    [undefined, 0],
    ["250ms", 250],
    ["90s", 90_000],
    ["10m", 600_000],
    ["2h", 7_200_000],
  ];
  for (const [text, ms] of units) {
    test(`${text}: ${ms} ms`, () => assert.equal(withinMs({ file: "x", within: text } as Check), ms));
  }

  const waiting = async (within: string | undefined, holdsAfter: number) => {
    const clock = new InstantClock();
    let asked = 0;
    const left: number[] = [];
    const counted: CheckView = {
      ...view,
      output: () => ({ code: ++asked > holdsAfter ? 0 : 1, stdout: "", stderr: "" }),
    };
    const verdict = await evaluateWithin(
      { exit: "join", is: 0, within } as Check,
      counted,
      { clock, wall: clock, patienceMs: 0 },
      signal,
      (_verdict, leftMs) => void left.push(leftMs),
    );
    return { ok: verdict.ok, asked, left };
  };
  test("is asked again until it holds, and told what is left", async () => {
    assert.deepEqual(await waiting("1s", 3), { ok: true, asked: 4, left: [1000, 950, 900] });
  });
  test("is not asked any more when the time is over", async () => {
    assert.deepEqual(await waiting("100ms", 99), { ok: false, asked: 3, left: [100, 50] });
  });
  test("without it, it is asked once", async () => {
    assert.deepEqual(await waiting(undefined, 99), { ok: false, asked: 1, left: [] });
  });
});
