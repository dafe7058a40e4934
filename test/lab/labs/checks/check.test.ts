import assert from "node:assert/strict";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "vitest";
import { evaluate, evaluateWithin, withinMs } from "../../../../src/lab/labs/checks/check.js";
import type { CheckView } from "../../../../src/lab/labs/checks/leaf-check.js";
import { type Check, check } from "../../../../src/lab/labs/format/schema.js";
import { LabError } from "../../../../src/util/errors.js";
import { sayIn } from "../../../../src/util/i18n/catalogue.js";
import { MemoryClient } from "../../../support/memory-client.js";
import { InstantClock, MemoryPlace } from "../../../support/memory-place.js";

const signal = new AbortController().signal;
const environment = new MemoryPlace();
const node = { metadata: { name: "n1" }, status: { phase: "Ready", count: 3 } };
environment.objects.set("/api/v1/nodes/n1", node);
environment.objects.set("/api/v1/nodes/n2", { ...node, status: { phase: "Lost", count: 5 } });
writeFileSync(join(environment.folder, "key"), "first line\nsecret 42\n");
writeFileSync(join(environment.folder, "seconds"), "大约9秒\n");
writeFileSync(join(environment.folder, "number"), " 9\n");
writeFileSync(join(environment.folder, "list"), "one\ntwo\n");
chmodSync(join(environment.folder, "key"), 0o600);

const view: CheckView = {
  client: environment.client,
  folder: environment.folder,
  output: (name) => (name === "join" ? { code: 3, stdout: "one\ntwo three\n", stderr: "four\n" } : undefined),
  say: sayIn("en"),
  run: (line) => environment.run(line, undefined, signal),
};

/** check, holds, what it saw, what it wants */
const table: readonly (readonly [unknown, boolean, RegExp, RegExp?])[] = [
  [{ object: "/api/v1/nodes/n1" }, true, /n1 exists/],
  [{ object: "/api/v1/nodes/n9" }, false, /n9 does not exist/, /n9 to exist/],
  [{ object: "/api/v1/nodes/n9", exists: false }, true, /n9 does not exist/],
  [{ object: "/api/v1/nodes/n1", exists: false }, false, /n1 exists/, /n1 not to exist/],
  [{ object: "/api/v1/nodes/n9", field: "status.phase", is: "Lost" }, false, /n9 does not exist/, /to be Lost/],
  [{ object: "/api/v1/nodes/n1", field: "status.phase", is: "Ready" }, true, /^phase of node n1 is Ready$/],
  [{ object: "/api/v1/nodes/n1", field: "status.phase", is: "Lost" }, false, /is Ready/, /to be Lost/],
  [{ object: "/api/v1/nodes/n1", field: "status.gone", is: "Lost" }, false, /gone .* is not set/, /to be Lost/],
  [{ object: "/api/v1/nodes/n1", field: "status.gone" }, false, /is not set/, /to be set/],
  [{ object: "/api/v1/nodes/n1", field: "status.phase", exists: false }, false, /is Ready/, /not to be set/],
  [{ object: "/api/v1/nodes/n1", field: "status.phase", isNot: "Lost" }, true, /Ready/],
  [{ object: "/api/v1/nodes/n1", field: "status.phase", isNot: "Ready" }, false, /Ready/, /anything but Ready/],
  [{ object: "/api/v1/nodes/n1", field: "status.phase", matches: "^Re" }, true, /Ready/],
  [{ object: "/api/v1/nodes/n1", field: "status.phase", matches: "^x" }, false, /Ready/, /to match \/\^x\//],
  [{ object: "/api/v1/nodes/n1", field: "status.count", atLeast: 3 }, true, /is 3/],
  [{ object: "/api/v1/nodes/n1", field: "status.count", atLeast: 4 }, false, /is 3/, /4 or more/],
  [{ object: "/api/v1/nodes/n1", field: "status.count", atMost: 2 }, false, /is 3/, /2 or less/],
  [{ object: "/api/v1/nodes/n1", field: "status.count", is: 9 }, false, /^count of node n1 is 3$/],
  [{ object: "/api/v1/namespaces/a/pods/b" }, false, /^pod a\/b does not exist$/],
  [{ list: "/api/v1/nodes", is: 2 }, true, /^the number of nodes is 2$/],
  [
    { list: "/api/v1/nodes", where: "status.phase == Lost", is: 1 },
    true,
    /^the number of nodes with status.phase = Lost is 1$/,
  ],
  [{ list: "/api/v1/nodes", where: "status.gone", is: 0 }, true, /is 0/],
  [{ output: "join", matches: "two three" }, true, /^two three$/],
  [{ output: "join", matches: "wo" }, true, /^two three$/],
  [{ output: "join", stream: "stdout", matches: "four" }, false, /last line of join: two three/, /join .*\/four\//],
  [{ output: "join", matches: "three four" }, true, /three four/],
  [{ output: "other", matches: "x" }, false, /other.*has not run here/],
  [{ exit: "join", is: 3 }, true, /join ended with exit code 3/],
  [{ exit: "join", is: 0 }, false, /exit code 3/, /join to end with exit code 0/],
  [{ exit: "other", is: 0 }, false, /has not run here/, /exit code 0/],
  [{ file: "key" }, true, /key has mode 600/],
  [{ file: "key", mode: "644" }, false, /mode 600/, /mode 644/],
  [{ file: "key", matches: "^secret \\d+" }, true, /secret 42/],
  [{ file: "key", matches: "^none" }, false, /last line of key: secret 42/, /\/\^none\//],
  [{ file: "key", exists: false }, false, /exists/, /not to exist/],
  [{ file: "none" }, false, /^none is not there; it belongs in /, /none to exist/],
  [{ file: "none", exists: false }, true, /^none does not exist$/],
  [{ file: "../../etc/passwd" }, false, /passwd/, /below the lab's folder/],
  [{ file: "/etc/passwd" }, false, /passwd/, /below the lab's folder/],
  [{ command: "kubectl delete node n7", matches: "deleted" }, true, /exit code 0/],
  [{ command: "kubectl delete node n7", matches: "kept" }, false, /last line of .*deleted/, /\/kept\//],
  [{ command: "nothing here" }, false, /exit code 127/, /exit code 0/],
  [{ command: "nothing here", answer: "key" }, false, /^key says: first line, secret 42 \(only the answer itself/],
  [{ command: "nothing here", answer: "seconds" }, false, /^seconds says: 大约9秒 \(only the answer itself/],
  [{ command: "nothing here", answer: "number" }, false, /^number says: 9$/, /exit code 0/],
  [{ command: "nothing here", answer: "list" }, false, /^list says: one, two$/, /exit code 0/],
  [{ command: "nothing here", answer: "other" }, false, /^other is not there; it belongs in .*\w$/, /exit code 0/],
  [{ command: "nothing here", exit: 127 }, true, /exit code 127/],
  [{ all: [{ object: "/api/v1/nodes/n1" }, { exit: "join", is: 3 }] }, true, /^node n1 exists$/],
  [{ all: [{ object: "/api/v1/nodes/n1" }, { exit: "join", is: 1 }] }, false, /exit code 3/, /exit code 1/],
  [{ any: [{ object: "/api/v1/nodes/n9" }, { exit: "join", is: 3 }] }, true, /exit code 3/],
  [{ any: [{ object: "/api/v1/nodes/n9" }, { exit: "join", is: 1 }] }, false, /not exist; join/, /exist, or join/],
  [{ not: { exit: "join", is: 1 } }, true, /exit code 3/],
  [{ not: { exit: "join", is: 3 } }, false, /exit code 3/, /anything but this: join ended with exit code 3/],
];

for (const [asked, ok, seen, want] of table) {
  test(`${JSON.stringify(asked)}: ${ok ? "holds" : "does not hold"}`, async () => {
    const verdict = await evaluate(check.parse(asked), view, signal);
    assert.equal(verdict.ok, ok, JSON.stringify(verdict));
    assert.match(verdict.seen, seen);
    if (want !== undefined) assert.match(verdict.ok ? "" : verdict.want, want);
  });
}

describe("what is seen", () => {
  const failing = (stdout: string, stderr: string): CheckView => ({
    ...view,
    run: async () => ({ code: 7, stdout, stderr }),
  });
  test("of a command that fails, the first line of its errors, else of its output", async () => {
    const asked = check.parse({ command: "curl web", matches: "DOCTYPE" });
    const seenOf = async (stdout: string, stderr: string) => {
      const { ok, seen, isRaw = false } = await evaluate(asked, failing(stdout, stderr), signal);
      return [ok, seen, isRaw];
    };
    assert.deepEqual(await seenOf("a page\n", "curl: (7) refused\nexit code 7\n"), [false, "curl: (7) refused", false]);
    assert.deepEqual(await seenOf("\n0 addresses\n", ""), [false, "0 addresses", false]);
    assert.deepEqual(await seenOf("", ""), [false, "`curl web` ended with exit code 7", true]);
  });
  test("a long line is cut between words", async () => {
    const long = { code: 0, stdout: `x${" word".repeat(60)}\n`, stderr: "" };
    const { seen } = await evaluate(
      check.parse({ output: "any", matches: "word" }),
      { ...view, output: () => long },
      signal,
    );
    assert.match(seen, /^x( word){59} \.\.\.$/);
  });
  test("the part that was looked for is kept", async () => {
    const long = { code: 0, stdout: `${"word ".repeat(60)}not found\n`, stderr: "" };
    const asked = check.parse({ output: "any", matches: "not found" });
    const { seen } = await evaluate(asked, { ...view, output: () => long }, signal);
    assert.match(seen, /^\.\.\. (word ){57,58}not found$/);
  });
  test("of several checks, in the learner's language", async () => {
    const both = check.parse({
      all: [
        { file: "key", matches: "42" },
        { output: "join", matches: "two" },
      ],
    });
    const { seen, ...rest } = await evaluate(both, { ...view, say: sayIn("zh") }, signal);
    assert.match(seen, /42；two three$/);
    assert.equal(rest.ok && rest.isPrinted, true);
  });
});

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
  test("does not hold while the API server is away, even if it is negated", async () => {
    const clock = new InstantClock();
    const away = new MemoryClient(() => {
      throw new LabError("CLUSTER_UNREACHABLE", "https://memory refused the connection", "Start it.");
    });
    const one: Check = { not: { object: "/api/v1/nodes/n1" } };
    const verdict = await evaluateWithin(one, { ...view, client: away }, { clock, wall: clock, patienceMs: 0 }, signal);
    assert.deepEqual(verdict, {
      ok: false,
      seen: "https://memory refused the connection",
      want: "an API server that answers",
    });
  });
  test("without it, it is asked once", async () => {
    assert.deepEqual(await waiting(undefined, 99), { ok: false, asked: 1, left: [] });
  });
});
