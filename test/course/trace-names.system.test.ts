import assert from "node:assert/strict";
import { afterAll, beforeAll, describe, test } from "vitest";
import type { TraceEvent } from "../../src/trace/events.js";
import { plainText } from "../../src/trace/terminal/options.js";
import { factText } from "../../src/trace/terminal/render-event.js";
import { TestEtcd } from "../support/etcd.js";
import { suiteNeeding } from "../support/requirements.js";
import { factsOf, ROWS, type Row, type RunName } from "./trace-names.js";

const OPTIONS = plainText({ width: () => 1_000, verbosity: 2, startMs: 0 });

function upstreamOf(event: TraceEvent): string {
  const upstream = "upstream" in event ? event.upstream : undefined;
  return upstream === undefined ? "" : `${upstream.file} ${upstream.func}`;
}

/** Looks for a fact with the text and the function. */
function shows(facts: readonly TraceEvent[], [, point, , upstream, text]: Row): void {
  const found = facts.filter((event) => text.test(factText(event, OPTIONS).text));
  const named = found.filter((event) => upstreamOf(event) === upstream);
  assert.notEqual(found.length, 0, `${point}: no fact ${text}`);
  assert.notEqual(named.length, 0, `${point}: ${text} names ${[...new Set(found.map(upstreamOf))].join(", ")}`);
}

const WITHOUT_ETCD = ["pleg", "node", "journey", "request", "binding"] as const satisfies readonly RunName[];
for (const run of WITHOUT_ETCD) {
  describe(`the trace of ${run} names the functions of the documents`, () => {
    let facts: readonly TraceEvent[];
    beforeAll(async () => {
      facts = await factsOf(run, "");
    });
    test.each(ROWS.filter((row) => row[2] === run))("%s: %s", (...row) => shows(facts, row));
  });
}

suiteNeeding(["etcd"], "the trace of a cluster on etcd names the functions of the documents", () => {
  let etcd: TestEtcd;
  let facts: readonly TraceEvent[];
  beforeAll(async () => {
    etcd = await TestEtcd.start();
    facts = await factsOf("etcd", etcd.url);
  });
  afterAll(() => etcd.stop());
  test.each(ROWS.filter((row) => row[2] === "etcd"))("%s: %s", (...row) => shows(facts, row));
});
