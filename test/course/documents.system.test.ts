import assert from "node:assert/strict";
import { afterAll, beforeAll, describe, test } from "vitest";
import type { TraceEvent } from "../../src/trace/events.js";
import { plainText } from "../../src/trace/terminal/options.js";
import { factText } from "../../src/trace/terminal/render-event.js";
import { TestEtcd } from "../support/etcd.js";
import { suiteNeeding } from "../support/requirements.js";
import { COURSE } from "./course-cluster.js";
import { COURSE_KUBELET } from "./course-kubelet.js";
import type { Output } from "./outputs.js";
import { Outputs } from "./scenarios.js";
import { type Chapter, ETCD, type Row } from "./table.js";
import { API_SERVER } from "./walk-api-server.js";
import { KUBELET_START } from "./walk-start.js";
import { WHAT_A_KUBELET_IS } from "./what-a-kubelet-is.js";
import { WORKFLOW } from "./workflow.js";

/** The documents in their order; each chapter's points too. */
const DOCUMENTS: readonly (readonly [title: string, chapters: readonly Chapter[]])[] = [
  ["the course: environment to TLS bootstrap", COURSE],
  ["the course: PLEG to exec", COURSE_KUBELET],
  ["the walk from the API server to SyncPod", API_SERVER],
  ["the walk through the kubelet's start", KUBELET_START],
  ["what a kubelet is", WHAT_A_KUBELET_IS],
  ["the kubelet's workflow", WORKFLOW],
];

const OPTIONS = plainText({ width: () => 1_000, verbosity: 2, startMs: 0 });
/** Far more than the slowest run takes: a row waits for its command, which other rows share. */
const TIMEOUT_MS = 300_000;
const outputs = new Outputs();

function upstreamOf(event: TraceEvent): string {
  const upstream = "upstream" in event ? event.upstream : undefined;
  return upstream === undefined ? "" : `${upstream.file} ${upstream.func}`;
}

/** Looks for the text in the facts and in what was printed, and for the function of the fact. */
function check({ text, facts }: Output, [point, run, shows, note]: Row): void {
  const found = facts.filter((event) => shows.test(factText(event, OPTIONS).text));
  assert.ok(found.length > 0 || shows.test(text), `${point}: ${run} does not show ${shows}:\n${text.slice(-2_000)}`);
  if (note === undefined || "differs" in note) return;
  const named = found.map(upstreamOf);
  assert.ok(named.includes(note.upstream), `${point}: ${shows} names ${[...new Set(named)].join(", ")}`);
}

const all = DOCUMENTS.flatMap(([, chapters]) => chapters.flatMap(({ rows }) => rows));

test("the table has 150 points and more, and each difference has its reason", () => {
  assert.ok(all.length >= 150, String(all.length));
  for (const [point, , , note] of all) {
    if (note !== undefined && "differs" in note) assert.match(note.differs, /^\w.{20,}\.$/, point);
  }
});

for (const [title, chapters] of DOCUMENTS) {
  describe(title, () => {
    for (const { title: chapter, rows } of chapters) {
      for (const row of rows.filter(([, run]) => run !== ETCD)) {
        const [point, run] = row;
        test(`${chapter}: ${point}`, { timeout: TIMEOUT_MS }, async () => check(await outputs.of(run, ""), row));
      }
    }
  });
}

suiteNeeding(["etcd"], "the documents, on etcd", () => {
  let etcd: TestEtcd;
  beforeAll(async () => {
    etcd = await TestEtcd.start();
  });
  afterAll(() => etcd.stop());
  for (const row of all.filter(([, run]) => run === ETCD)) {
    test(row[0], { timeout: TIMEOUT_MS }, async () => check(await outputs.of(ETCD, etcd.url), row));
  }
});
