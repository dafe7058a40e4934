import assert from "node:assert/strict";
import { test } from "vitest";
import type { TraceEvent } from "../../src/trace/events.js";
import { chromeTrace } from "../../src/trace/formats/chrome.js";
import { TraceGraph } from "../../src/trace/graph/graph.js";
import { note, request, rpc, state, watch } from "./facts.js";
import { HOSTILE } from "./hostile.js";

interface Slice {
  readonly name: string;
}

interface Thread {
  readonly name: string | null;
  readonly entries: readonly Slice[];
}

interface Engine {
  readonly Processor: {
    readonly TraceProcessor: {
      createWithAllHandlers(): {
        parse(events: unknown, options: object): Promise<void>;
        readonly data: {
          readonly Renderer: {
            readonly processes: ReadonlyMap<number, { readonly threads: ReadonlyMap<number, Thread> }>;
          };
          readonly Flows: { readonly flows: readonly (readonly Slice[])[] };
        } | null;
      };
    };
  };
}

/** Loaded by a name that tsc does not follow: it has no types. */
const PACKAGE: string = "@paulirish/trace_engine";
/** What reads traces in Chrome's DevTools. The format has no published schema: a document describes it in prose. */
const { Processor } = (await import(PACKAGE)) as Engine;

async function read(events: readonly TraceEvent[]) {
  const { traceEvents } = JSON.parse([...chromeTrace(TraceGraph.of(events))].join("")) as { traceEvents: unknown };
  const processor = Processor.TraceProcessor.createWithAllHandlers();
  await processor.parse(traceEvents, {});
  assert(processor.data !== null);
  const { Renderer, Flows } = processor.data;
  const threads = [...Renderer.processes.values()].flatMap(({ threads }) => [...threads.values()]);
  return {
    threads: threads.map(({ name, entries }) => [name, ...entries.map((slice) => slice.name)]),
    arrows: Flows.flows.map((slices) => slices.map(({ name }) => name)),
  };
}

const hex = (n: number) => n.toString(16).padStart(16, "0");
const node = { actor: "kubelet", instance: "node-1" } as const;

test("Chrome's DevTools find a thread for each actor, each fact as a slice, and an arrow from each cause", async () => {
  const { threads, arrows } = await read([
    request(hex(1), { atMs: 1_012, durationMs: 10, origin: "command", version: "u@1" }),
    state(hex(2), { atMs: 1_010, actor: "apiserver", causedBy: hex(1), version: "u@1" }),
    watch(hex(3), { atMs: 1_015, ...node, causedBy: "u@1" }),
    rpc(hex(4), { atMs: 1_040, durationMs: 20, ...node, causedBy: hex(3) }),
    rpc(hex(5), { atMs: 1_050, durationMs: 25, ...node, causedBy: hex(3) }),
  ]);
  const [post, stored, seen, run] = [
    "POST /api/v1/namespaces/default/pods",
    "Pod default/web: object stored",
    "watch event ADDED pods default/web",
    "RuntimeService/RunPodSandbox",
  ];
  assert.deepEqual(threads, [
    ["user", post],
    ["apiserver", stored],
    ["node-1", seen, run],
    ["node-1 (2)", run],
  ]);
  assert.deepEqual(arrows, [
    [post, stored],
    [stored, seen],
    [seen, run],
    [seen, run],
  ]);
});

for (const text of HOSTILE) {
  test(`Chrome's DevTools read ${JSON.stringify(text.slice(0, 40))}`, async () => {
    const { threads } = await read([note(hex(1), { text, instance: text } as object)]);
    assert.equal(threads.flat().length, 2);
  });
}
