import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, test } from "vitest";
import type { CheckStep, Step } from "../../../../src/lab/labs/format/schema.js";
import { Leaks } from "../../../../src/lab/labs/prove/prove-leaks.js";
import type { LabMessage } from "../../../../src/lab/labs/session/message.js";
import { note } from "../../../trace/facts.js";

const folder = mkdtempSync(join(tmpdir(), "kubelab-leaks-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const WHICH = { id: "which", predict: ["port", "probe"], run: [], outcomes: {} } as unknown as Step;
const PROBE = "spec.template.spec.containers[0].readinessProbe";

function evidence(shows: string): LabMessage {
  return { kind: "evidence", facts: [note("one", {})], afterMs: [0], shows: [[shows]], count: 1 };
}

function task(check: unknown): CheckStep {
  return { id: "cure", check, solve: [] } as unknown as CheckStep;
}

const asks = task({ file: "asked.txt", matches: "." });
const mends = task({ all: [{ not: { object: "/apis/apps/v1/deployments/a", field: PROBE, matches: "x" } }] });
const waits = task({ object: "/api/v1/pods/a", field: "status.phase", is: "Running" });

test.each<[string, CheckStep, string, readonly LabMessage[], readonly string[]]>([
  ["the answer", asks, "ratings", [evidence("host = ratings")], ["ratings"]],
  ["the answer in a line", asks, "ratings", [{ kind: "look", line: "http://ratings" }], ["ratings"]],
  [
    "the answer, which the text says",
    asks,
    "ratings",
    [{ kind: "text", markdown: "ask ratings" }, evidence("ratings")],
    [],
  ],
  [
    "the answer, which a command has printed",
    asks,
    "ratings",
    [{ kind: "output", stream: "stdout", text: "ratings" }],
    [],
  ],
  ["a line of an output", asks, "trace\nratings", [evidence("ratings")], []],
  ["a number", asks, "7", [evidence("status.replicas = 7")], []],
  ["the field to be mended", mends, "", [evidence(`${PROBE}.httpGet.path = /healthy`)], [PROBE]],
  [
    "the field to be mended, which a command of the step reads",
    mends,
    "",
    [{ kind: "running", line: `kubectl get -o jsonpath={.${PROBE}}` }, evidence(PROBE)],
    [],
  ],
  ["another field", mends, "", [evidence("spec.replicas = 3")], []],
  ["a state", waits, "", [evidence("status.phase = Running")], []],
])("evidence of an earlier step shows %s", async (_, step, answer, messages, secrets) => {
  writeFileSync(join(folder, "asked.txt"), `${answer}\n`);
  const leaks = new Leaks(folder);
  assert.deepEqual(await leaks.problemsOf(WHICH, messages), []);
  assert.deepEqual(
    await leaks.problemsOf(step, [evidence("ratings"), evidence(PROBE)]),
    secrets.map((secret) => `which: its evidence shows what cure asks for: ${secret}`),
  );
});
