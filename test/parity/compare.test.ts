import { describe, expect, test } from "vitest";
import { compareItems, isSevere } from "./compare.js";
import type { Item } from "./item.js";

const POD = "/api/v1/namespaces/default/pods/p";

function answer(response: object, path = POD): Item {
  return { name: "i", request: { method: "GET", path }, response: { status: 200, headers: {}, ...response } };
}

function differencesOf(topic: string, recorded: Item, ours: Item): readonly string[] {
  return compareItems(topic, [recorded], [ours]).differences.flatMap(({ lines }) => lines);
}

describe("random values are not differences", () => {
  const list = (...names: string[]) =>
    answer({ body: { items: names.map((name) => ({ metadata: { name } })) } }, `${POD}?resourceVersion=0`);
  const events = (...names: string[]) =>
    answer({ events: names.map((name) => ({ type: "ADDED", object: { metadata: { name } } })) });
  const taints = (...all: object[]) => answer({ body: { spec: all.length === 0 ? {} : { taints: all } } });
  const text = (message: string) => answer({ body: { kind: "Status", message } });
  const object = (headers: object) => answer({ headers, body: { kind: "Pod", metadata: {} } });
  const rows: [what: string, topic: string, recorded: Item, ours: Item][] = [
    ["the order of a list from the cache", "auth", list("a", "b"), list("b", "a")],
    ["the order of a watch's initial objects", "watch", events("a", "b"), events("b", "a")],
    ["a taint that a controller has just added", "lease-node", taints({ key: "k", timeAdded: "<time>" }), taints()],
    [
      "managedFields inside a text",
      "lease-node",
      text('is invalid: "{\\"metadata\\":{\\"uid\\":\\"u\\",\\"managedFields\\":[{\\"a\\":[1]}]}}"'),
      text('is invalid: "{\\"metadata\\":{\\"uid\\":\\"u\\"}}"'),
    ],
    ["how an object's answer is framed", "auth", object({ "transfer-encoding": "chunked" }), object({})],
  ];
  test.each(rows)("%s", (_what, topic, recorded, ours) => expect(differencesOf(topic, recorded, ours)).toEqual([]));
});

describe("facts are differences", () => {
  const list = (...names: string[]) =>
    answer({ body: { items: names.map((name) => ({ metadata: { name } })) } }, "/api/v1/pods");
  const rows: [what: string, topic: string, recorded: Item, ours: Item][] = [
    ["the order of a list from etcd", "auth", list("a", "b"), list("b", "a")],
    [
      "a taint of another client",
      "lease-node",
      answer({ body: { taints: [{ key: "k" }] } }),
      answer({ body: { taints: [] } }),
    ],
    [
      "how a discovery document is framed",
      "discovery",
      answer({ headers: { "transfer-encoding": "chunked" } }, "/apis"),
      answer({}, "/apis"),
    ],
  ];
  test.each(rows)("%s", (_what, topic, recorded, ours) => expect(differencesOf(topic, recorded, ours)).not.toEqual([]));
});

describe("prose can differ but must be present", () => {
  const table = (column: object) =>
    answer({ body: { kind: "Table", columnDefinitions: [{ name: "Name", ...column }] } });
  const theirs = table({ type: "string", description: "What upstream says." });
  const rows: [what: string, ours: object, differences: number, proseOnly: number][] = [
    ["the same", { type: "string", description: "What upstream says." }, 0, 0],
    ["other words", { type: "string", description: "In our words." }, 0, 1],
    ["no words", { type: "string", description: "" }, 1, 0],
    ["no description", { type: "string" }, 1, 0],
    ["different words, and a different type", { type: "integer", description: "In our words." }, 1, 0],
  ];
  test.each(rows)("%s", (_what, ours, differences, proseOnly) => {
    const result = compareItems("tables", [theirs], [table(ours)]);
    expect([result.differences.length, result.proseOnly]).toEqual([differences, proseOnly]);
    expect(result.differences.flatMap(({ lines }) => lines).join()).not.toContain("In our words");
  });
});

describe("timelines", () => {
  const node = (t: number, changed: object) => ({ t, watch: "MODIFIED", object: "Node/n", changed });
  const noSchedule = { "/spec/taints/unreachable:NoSchedule/effect": [null, "NoSchedule"] };
  const noExecute = { "/spec/taints/unreachable:NoExecute/effect": [null, "NoExecute"] };
  const unknown = { "/status/conditions/Ready/status": ["True", "Unknown"] };
  const healed = { "/status/conditions/Ready/lastHeartbeatTime": ["<time>", "<time>"] };
  const mark = (t: number, text: string) => ({ t, mark: text });
  const lines = (recorded: object[], ours: object[]) =>
    differencesOf("node-lifecycle", { name: "i", timeline: recorded }, { name: "i", timeline: ours });

  test("writes of one instant have no order", () => {
    const recorded = [mark(0, "T0: dies"), node(41, unknown), node(41, noSchedule)];
    expect(lines(recorded, [mark(0, "T0: dies"), node(44, { ...noSchedule, ...unknown })])).toEqual([]);
  });
  test("a mark races with the change that it reports", () => {
    const start = mark(0, "T0: dies");
    const late = [start, node(8, healed), mark(0, "T0: heals")];
    expect(lines(late, [start, mark(0, "T0: heals"), node(0, healed)])).toEqual([]);
  });
  test("a missing taint is reported", () => {
    expect(lines([node(41, noSchedule), node(46, noExecute)], [node(41, noSchedule)])).not.toEqual([]);
  });
  test("a delay of one period is reported", () => {
    expect(lines([node(43, unknown)], [node(53, unknown)])).toEqual(["/timeline/0/t/seconds: recorded 43, here 53"]);
  });
});

describe("severe", () => {
  const status = (code: number) => answer({ status: code });
  const event = (type: string) => answer({ events: [{ type }] });
  const reason = (text: string) => answer({ body: { kind: "Status", reason: text } });
  const rows: [what: string, recorded: Item, ours: Item, severe: boolean][] = [
    ["a status code", status(200), status(404), true],
    ["a reason", reason("Invalid"), reason("BadRequest"), true],
    ["the type of a watch's event", event("MODIFIED"), event("ADDED"), true],
    ["a missing event", event("ADDED"), answer({ events: [] }), true],
    ["a text", answer({ body: { message: "a" } }), answer({ body: { message: "b" } }), false],
    ["a header", answer({ headers: { vary: "a" } }), answer({ headers: { vary: "b" } }), false],
  ];
  test.each(rows)("%s", (_what, recorded, ours, severe) => {
    expect(compareItems("watch", [recorded], [ours]).differences.map(isSevere)).toEqual([severe]);
  });
  test("a missing item", () => {
    expect(compareItems("watch", [status(200)], []).differences.map(isSevere)).toEqual([true]);
  });
});
