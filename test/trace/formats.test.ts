import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "vitest";
import type { TraceEvent } from "../../src/trace/events.js";
import { ACTORS } from "../../src/trace/events.js";
import { chromeTrace } from "../../src/trace/formats/chrome.js";
import { mermaidDiagram } from "../../src/trace/formats/mermaid.js";
import { otlpTrace } from "../../src/trace/formats/otlp.js";
import { TraceGraph } from "../../src/trace/graph/graph.js";
import type { Level } from "../../src/trace/trace.js";
import { fact, note, request, rpc, state, watch } from "./facts.js";
import { HOSTILE } from "./hostile.js";

interface Mermaid {
  parse(text: string): Promise<{ readonly diagramType: string }>;
}

/** Loaded by a name that tsc does not follow: its types pull in those of a hundred other packages. */
const PACKAGE: string = "mermaid";
const { default: mermaid } = (await import(PACKAGE)) as { readonly default: Mermaid };

const hex = (n: number) => n.toString(16).padStart(16, "0");

/** kubectl apply, what the API server did, the kubelet's watch event, and its call of the runtime. */
const RUN: readonly TraceEvent[] = [
  note(hex(1), { atMs: 1_000, origin: "command" }),
  fact(hex(2), { kind: "step", title: "Create the pod" }, { atMs: 1_000, origin: "command" }),
  request(hex(3), { atMs: 1_012, durationMs: 10, causedBy: hex(2), version: "u@1" }),
  fact(hex(4), { kind: "decision", what: "allow", why: "rbac" }, { atMs: 1_005, actor: "apiserver", causedBy: hex(3) }),
  state(hex(5), { atMs: 1_010, actor: "apiserver", causedBy: hex(3), version: "u@1" }),
  watch(hex(6), { atMs: 1_015, actor: "kubelet", instance: "node-1", causedBy: "u@1" }),
  rpc(hex(7), {
    atMs: 1_040,
    durationMs: 20,
    actor: "kubelet",
    instance: "node-1",
    causedBy: hex(6),
    pod: "default/web",
  }),
  rpc(hex(8), {
    atMs: 1_050,
    durationMs: 25,
    actor: "kubelet",
    instance: "node-1",
    causedBy: hex(6),
    code: "NotFound",
  }),
  state(hex(9), { atMs: 1_030, actor: "runtime", instance: "node-1", causedBy: hex(7) }),
];

/** One fact of each kind with the text in each field. */
function hostileFacts(text: string): TraceEvent[] {
  const stamp = { instance: text, pod: text, chapter: text };
  const upstream = { file: text, func: text };
  const facts = [
    { kind: "step", title: text, upstream },
    {
      kind: "request",
      method: text,
      path: text,
      server: text,
      identity: text,
      durationMs: 3,
      auditId: text,
      failure: text,
    },
    { kind: "rpc", service: text, method: text, endpoint: text, durationMs: 3, code: text, outcome: text },
    { kind: "decision", what: text, why: text, upstream, constants: [{ name: text, value: text }] },
    { kind: "state", subject: text, what: text, from: text, to: text, version: text },
    { kind: "watch", type: "ADDED", resource: text, object: text },
    { kind: "event", type: "Warning", reason: text, message: text, object: text },
    { kind: "note", text },
    { kind: "table", title: text, columns: [text], rows: [[text]] },
    { kind: "frame", direction: "sent", framing: "SPDY", type: text, length: 1, head: text, channel: text },
    { kind: "error", message: text, hint: text },
  ] as const;
  return facts.map((one, i) =>
    fact(hex(i + 1), one, {
      ...stamp,
      actor: ACTORS[i % ACTORS.length] ?? "user",
      ...(i === 0 ? {} : { causedBy: hex(i) }),
    }),
  );
}

const textOf = (pieces: Iterable<string>) => [...pieces].join("");

test("mermaid: requests, calls and watch events are arrows, the rest are notes, in the order of time", () => {
  assert.equal(
    textOf(mermaidDiagram(TraceGraph.of(RUN))),
    `sequenceDiagram
  participant p1 as user
  participant p2 as kubelet node-1
  participant p3 as apiserver
  participant p4 as runtime node-1
  Note over p1: 0000000000000001
  Note over p1: Create the pod
  p1->>p3: POST<br/>/api/v1/namespaces/default/pods
  Note over p3: allow
  Note over p3: Pod default/web: object stored
  p3-->>p1: 201 (10 ms)
  p3-->>p2: watch event ADDED pods<br/>default/web
  p2->>p4: RuntimeService/RunPodSandbox
  p2->>p4: RuntimeService/RunPodSandbox
  Note over p4: Pod default/web: object stored
  p4-->>p2: OK (20 ms)
  p4-->>p2: NotFound (25 ms)
`,
  );
});

for (const text of HOSTILE) {
  test(`mermaid: its own parser reads ${JSON.stringify(text.slice(0, 40))}`, async () => {
    const diagram = textOf(mermaidDiagram(TraceGraph.of(hostileFacts(text))));
    assert.equal((await mermaid.parse(diagram)).diagramType, "sequence");
    assert.doesNotMatch(diagram.replaceAll(/--?>>|<br\/>/g, ""), /[<>]/);
    assert.equal(diagram.split("\n").filter((line) => /^ {2}Note over p\d+(,p\d+)?: \S/.test(line)).length, 8, diagram);
  });
}

test("mermaid: a long trace shows the levels that fit, and says how many facts are left out", async () => {
  const many = Array.from({ length: 5_000 }, (_, i) =>
    request(hex(i + 1), { level: i % 100 === 0 ? 1 : 3, path: `/${"x".repeat(900)}` }),
  );
  const diagram = textOf(mermaidDiagram(TraceGraph.of(many)));
  assert.ok(diagram.length < 50_000, `${diagram.length}`);
  assert.match(diagram, /4950 of 5000 facts are left out/);
  await mermaid.parse(diagram);
  const one = textOf(mermaidDiagram(TraceGraph.of(many.map((event) => ({ ...event, level: 1 })))));
  assert.ok(one.length < 50_000, `${one.length}`);
  assert.match(one, /\d+ of 5000 facts are left out/);
  await mermaid.parse(one);
});

const of = (id: number, level: Level, text: string, stamp: Partial<TraceEvent> = {}) =>
  note(hex(id), { level, text, ...stamp } as object);
const POD = { pod: "default/web" };

test("mermaid: of the level that does not fit whole, facts about a pod come first", () => {
  const facts = [
    ...Array.from({ length: 300 }, (_, i) => of(i + 10, 2, "other")),
    of(1, 2, "of the pod", POD),
    of(2, 3, "a detail", POD),
    of(3, 1, "a step"),
  ];
  const diagram = textOf(mermaidDiagram(TraceGraph.of(facts)));
  assert.deepEqual(
    ["of the pod", "a detail", "a step"].map((text) => diagram.includes(text)),
    [true, false, true],
  );
  assert.match(diagram, /53 of 303 facts are left out/);
});

test("mermaid: of the servers' facts only those about a pod are drawn and their causes, unless too few are left", () => {
  const server = [of(1, 3, "cause"), of(2, 3, "noise"), of(3, 3, "of the pod", { ...POD, causedBy: hex(1) })];
  const drawn = (count: number) => {
    const steps = Array.from({ length: count }, (_, i) => of(i + 10, 1, "step"));
    const diagram = textOf(mermaidDiagram(TraceGraph.of([...server, ...steps])));
    return ["cause", "noise", "of the pod"].filter((text) => diagram.includes(`: ${text}\n`));
  };
  assert.deepEqual(drawn(100), ["cause", "of the pod"]);
  assert.deepEqual(drawn(20), ["cause", "noise", "of the pod"]);
});

test("mermaid: a server that reports nothing at first has the column of its later facts; controllers share one", () => {
  const diagram = textOf(
    mermaidDiagram(
      TraceGraph.of([
        rpc(hex(1), { actor: "kubelet", instance: "n1" }),
        note(hex(2), { actor: "runtime", instance: "n1" }),
        note(hex(3), { actor: "controller", instance: "nodeipam" }),
        note(hex(4), { actor: "controller" }),
      ]),
    ),
  );
  assert.deepEqual(
    [...diagram.matchAll(/participant \w+ as (.*)/g)].map(([, name]) => name),
    ["kubelet n1", "controller", "runtime n1"],
  );
  assert.match(diagram, /Note over p2: nodeipam: 0000000000000003\n/);
});

interface ChromeEvent {
  readonly ph: string;
  readonly name: string;
  readonly cat: string;
  readonly ts: number;
  readonly dur: number;
  readonly pid: number;
  readonly tid: number;
  readonly id: string;
  readonly bp?: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** The rules of the Trace Event Format for the phases that are used, and those of Perfetto for slices and flows. */
function checkChrome(text: string): readonly ChromeEvent[] {
  const { traceEvents, ...rest } = JSON.parse(text) as { readonly traceEvents: readonly ChromeEvent[] };
  assert.deepEqual(rest, { displayTimeUnit: "ms" });
  for (const event of traceEvents) {
    assert.ok(Number.isInteger(event.pid), JSON.stringify(event));
    if (event.ph === "M") {
      assert.match(event.name, /^(process_name|process_sort_index|thread_name|thread_sort_index)$/);
      continue;
    }
    assert.match(event.ph, /^[Xsf]$/);
    for (const number of [event.tid, event.ts]) assert.ok(Number.isInteger(number), JSON.stringify(event));
    assert.equal(typeof event.name + typeof event.cat, "stringstring");
    if (event.ph === "X") assert.ok(Number.isInteger(event.dur) && event.dur > 0, JSON.stringify(event));
  }
  const slices = traceEvents.filter(({ ph }) => ph === "X");
  for (const thread of new Set(slices.map(({ tid }) => tid))) checkNesting(slices.filter(({ tid }) => tid === thread));
  const at = new Set(slices.map(({ tid, ts }) => `${tid} ${ts}`));
  for (const { ph, tid, ts, bp } of traceEvents.filter(({ ph }) => ph === "s" || ph === "f")) {
    assert.ok(at.has(`${tid} ${ts}`), "a flow begins or ends where no slice begins");
    assert.equal(bp, ph === "f" ? "e" : undefined);
  }
  const flows = (phase: string) => traceEvents.filter(({ ph }) => ph === phase).map(({ id }) => id);
  assert.deepEqual(flows("s"), flows("f"));
  return traceEvents;
}

function checkNesting(slices: readonly ChromeEvent[]): void {
  const open: number[] = [];
  for (const { ts, dur } of slices.toSorted((a, b) => a.ts - b.ts)) {
    while (open.length > 0 && (open.at(-1) ?? 0) <= ts) open.pop();
    assert.ok(open.length === 0 || ts + dur <= (open.at(-1) ?? 0), "two slices of a thread overlap");
    open.push(ts + dur);
  }
}

test("chrome: slices per actor and instance with their durations, and a flow from each cause", () => {
  const events = checkChrome(textOf(chromeTrace(TraceGraph.of(RUN))));
  const names = events.filter(({ name }) => name === "process_name").map(({ args }) => args["name"]);
  assert.deepEqual(names, ["user", "apiserver", "kubelet", "runtime"]);
  const threads = events.filter(({ name }) => name === "thread_name").map(({ args }) => args["name"]);
  assert.deepEqual(threads, ["user", "apiserver", "node-1", "node-1 (2)", "node-1"]);
  const slice = (id: string) => events.find(({ ph, args }) => ph === "X" && args["id"] === id);
  assert.deepEqual([slice(hex(3))?.ts, slice(hex(3))?.dur], [1_002_000, 10_000]);
  assert.equal(slice(hex(2))?.dur, 11_999, "a step lasts until the end of its request");
  const flow = events.filter(({ ph, id }) => /[sf]/.test(ph) && id === hex(6));
  assert.deepEqual(
    flow.map(({ ts }) => ts),
    [slice(hex(5))?.ts, slice(hex(6))?.ts],
  );
});

test("chrome: bodies stay in the .ndjson trace", () => {
  const text = textOf(
    chromeTrace(TraceGraph.of([request(hex(1), { requestBody: { a: "secret" }, responseBody: [1] })])),
  );
  assert.doesNotMatch(text, /Body|secret/);
});

test("chrome: more than a hundred requests at the same time", () => {
  const many = Array.from({ length: 300 }, (_, i) => request(hex(i + 1), { atMs: 1_000 + i, durationMs: 500 }));
  const slices = checkChrome(textOf(chromeTrace(TraceGraph.of(many)))).filter(({ ph }) => ph === "X");
  assert.equal(slices.length, 300);
});

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly status?: { readonly code: number };
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
}

interface Otlp {
  readonly resourceSpans: readonly {
    readonly resource: {
      readonly attributes: readonly { readonly key: string; readonly value: { readonly stringValue: string } }[];
    };
    readonly scopeSpans: readonly { readonly spans: readonly Span[] }[];
  }[];
}

interface Message {
  fromObject(value: unknown): object;
  encode(message: object): { finish(): Uint8Array };
  decode(bytes: Uint8Array): object;
  toObject(message: object, options: object): unknown;
}

/** protobufjs code that OpenTelemetry generates from its published .proto files. */
const { opentelemetry } = createRequire(import.meta.url)(
  "@opentelemetry/otlp-transformer/build/src/generated/root.js",
) as {
  readonly opentelemetry: {
    readonly proto: {
      readonly collector: { readonly trace: { readonly v1: { readonly ExportTraceServiceRequest: Message } } };
    };
  };
};

/** Whatever the schema does not know, or knows with another type, is missing or different after a round trip through protobuf. */
function checkOtlp(text: string): readonly Span[] {
  const parsed = JSON.parse(text) as Otlp;
  const { ExportTraceServiceRequest: message } = opentelemetry.proto.collector.trace.v1;
  const asBytes = JSON.parse(text, (key, value: unknown) =>
    /^(?:traceId|spanId|parentSpanId)$/.test(key) ? Buffer.from(String(value), "hex").toString("base64") : value,
  ) as unknown;
  const decoded = message.decode(message.encode(message.fromObject(asBytes)).finish());
  const seen = JSON.parse(JSON.stringify(message.toObject(decoded, { longs: String, bytes: String }))) as object;
  assert.deepEqual({ resourceSpans: [], ...seen }, asBytes);
  const spans = parsed.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans));
  const ids = new Set(spans.map(({ traceId, spanId }) => `${traceId} ${spanId}`));
  for (const { traceId, spanId, parentSpanId, links = [], startTimeUnixNano, endTimeUnixNano } of spans) {
    assert.match(traceId, /^(?!0{32})[0-9a-f]{32}$/);
    assert.match(spanId, /^(?!0{16})[0-9a-f]{16}$/);
    assert.ok(parentSpanId === undefined || ids.has(`${traceId} ${parentSpanId}`), "a parent is in the same trace");
    for (const link of links) assert.ok(ids.has(`${link.traceId} ${link.spanId}`));
    assert.ok(BigInt(startTimeUnixNano) <= BigInt(endTimeUnixNano));
  }
  return spans;
}

test("otlp: a span for each fact, a trace for each tree, a resource for each actor and instance", () => {
  const text = textOf(otlpTrace(TraceGraph.of(RUN)));
  const spans = checkOtlp(text);
  const services = (JSON.parse(text) as Otlp).resourceSpans.map(({ resource }) =>
    resource.attributes.map(({ value }) => value.stringValue).join(" "),
  );
  assert.deepEqual(services, ["user", "kube-apiserver", "kubelet node-1", "container-runtime node-1"]);
  assert.equal(new Set(spans.map(({ traceId }) => traceId)).size, 2);
  const of = (id: string) => spans.find(({ spanId }) => spanId === id);
  assert.equal(of(hex(6))?.parentSpanId, hex(5), "a watch event follows what the API server stored");
  assert.equal(of(hex(8))?.status?.code, 2);
  assert.deepEqual([of(hex(3))?.startTimeUnixNano, of(hex(3))?.endTimeUnixNano], ["1002000000", "1012000000"]);
});

test("otlp: a decision about a request that is not its cause is linked with it; a circle has no parent at one place", () => {
  const decision = { kind: "decision", what: "allow", why: "rbac", auditId: `audit-${hex(1)}` } as const;
  const spans = checkOtlp(textOf(otlpTrace(TraceGraph.of([request(hex(1), {}), fact(hex(2), decision, {})]))));
  assert.deepEqual(
    spans.map(({ links }) => links?.[0]?.spanId),
    [undefined, hex(1)],
  );
  const circle = checkOtlp(
    textOf(otlpTrace(TraceGraph.of([note(hex(1), { causedBy: hex(2) }), note(hex(2), { causedBy: hex(1) })]))),
  );
  const parents = circle.toSorted((a, b) => (a.spanId < b.spanId ? -1 : 1)).map(({ parentSpanId }) => parentSpanId);
  assert.deepEqual(parents, [undefined, hex(1)]);
});

for (const text of HOSTILE) {
  test(`chrome and otlp: the schema holds for ${JSON.stringify(text.slice(0, 40))}`, () => {
    const graph = TraceGraph.of(hostileFacts(text));
    assert.equal(checkChrome(textOf(chromeTrace(graph))).filter(({ ph }) => ph === "X").length, 11);
    assert.equal(checkOtlp(textOf(otlpTrace(graph))).length, 11);
  });
}

test("all formats: a trace without facts", async () => {
  const graph = TraceGraph.of([]);
  await mermaid.parse(textOf(mermaidDiagram(graph)));
  assert.deepEqual(checkChrome(textOf(chromeTrace(graph))), []);
  assert.deepEqual(checkOtlp(textOf(otlpTrace(graph))), []);
});
