import assert from "node:assert/strict";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Face } from "../../server/support.js";

const CORE = "/api/v1/namespaces/default/events";
const V1 = "/apis/events.k8s.io/v1/namespaces/default/events";
const TIME = "2017-09-19T13:49:16.000000Z";
const LATER = "2017-09-19T13:49:11.000000Z";
const REGARDING = { kind: "Pod", namespace: "default", name: "web" };
const MERGE = { "content-type": "application/merge-patch+json" };

type Fields = Readonly<Record<string, unknown>>;

/** All fields of a new event of events.k8s.io/v1. */
const NEW: Fields = {
  eventTime: TIME,
  reportingController: "test-controller",
  reportingInstance: "test-node",
  action: "Do",
  reason: "Test",
  regarding: REGARDING,
  related: { kind: "Node", name: "n1" },
  note: "a note",
  type: "Normal",
};

const v1 = (name: string, fields: Fields = {}) => ({
  apiVersion: "events.k8s.io/v1",
  kind: "Event",
  metadata: { name },
  ...NEW,
  ...fields,
});

const core = (name: string, fields: Fields = {}) => ({
  apiVersion: "v1",
  kind: "Event",
  metadata: { name },
  involvedObject: REGARDING,
  ...fields,
});

const post = (path: string, body: unknown, query = "") => face.ask(`${path}${query}`, { method: "POST", body });
const without = ({ metadata: _metadata, ...rest }: Fields) => rest;

let face: Face;
beforeAll(async () => {
  face = await Face.open();
});
afterAll(() => face.close());

describe("both groups show one event", () => {
  const SERIES = { count: 2, lastObservedTime: LATER };
  const DEPRECATED = {
    deprecatedSource: { component: "kubelet", host: "n1" },
    deprecatedFirstTimestamp: "2017-09-19T13:49:16Z",
    deprecatedLastTimestamp: "2017-09-19T13:49:17Z",
    deprecatedCount: 3,
  };
  const EMPTY = { deprecatedSource: {}, deprecatedFirstTimestamp: null, deprecatedLastTimestamp: null };
  const CORE_EMPTY = { source: {}, firstTimestamp: null, lastTimestamp: null };
  const CORE_NEW = {
    involvedObject: REGARDING,
    reason: "Test",
    message: "a note",
    type: "Normal",
    eventTime: TIME,
    action: "Do",
    related: { kind: "Node", name: "n1" },
    reportingComponent: "test-controller",
    reportingInstance: "test-node",
  };
  const CORE_SOURCE = {
    source: { component: "kubelet", host: "n1" },
    firstTimestamp: "2017-09-19T13:49:16Z",
    lastTimestamp: "2017-09-19T13:49:17Z",
    count: 3,
  };
  const table: readonly [what: string, path: string, sent: Fields, asV1: Fields, asCore: Fields][] = [
    ["a new one", V1, v1("a"), { ...NEW, ...EMPTY }, { ...CORE_NEW, ...CORE_EMPTY }],
    [
      "a series",
      V1,
      v1("b", { series: SERIES }),
      { ...NEW, series: SERIES, ...EMPTY },
      { ...CORE_NEW, series: SERIES, ...CORE_EMPTY },
    ],
    [
      "one with a source",
      CORE,
      core("c", { ...CORE_NEW, ...CORE_SOURCE }),
      { ...NEW, ...DEPRECATED },
      { ...CORE_NEW, ...CORE_SOURCE },
    ],
    [
      "one without optional fields",
      CORE,
      core("d"),
      { eventTime: null, regarding: REGARDING, ...EMPTY },
      {
        involvedObject: REGARDING,
        ...CORE_EMPTY,
        eventTime: null,
        reportingComponent: "",
        reportingInstance: "",
      },
    ],
  ];
  for (const [what, path, sent, asV1, asCore] of table) {
    test(`${what}: in the answer, a get, a list and a table`, async () => {
      const { name } = sent["metadata"] as { name: string };
      const created = await post(path, sent);
      assert.equal(created.status, 201, created.text);
      const kinds: Record<string, Fields> = {
        [V1]: { apiVersion: "events.k8s.io/v1", ...asV1 },
        [CORE]: { apiVersion: "v1", ...asCore },
      };
      assert.deepEqual(without(created.body), { kind: "Event", ...kinds[path] });
      for (const view of [V1, CORE]) {
        const { body } = await face.ask(`${view}/${name}`);
        assert.deepEqual(without(body), { kind: "Event", ...kinds[view] });
        const { body: list } = await face.ask(`${view}?fieldSelector=metadata.name%3D${name}`);
        const { apiVersion, ...fields } = kinds[view] ?? assert.fail();
        assert.deepEqual([list.apiVersion, list.items.map(without)], [apiVersion, [fields]]);
      }
      const accept = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };
      const tables = await Promise.all([V1, CORE].map((view) => face.ask(`${view}/${name}`, { headers: accept })));
      const [ours, theirs] = tables.map(({ body }) => body.rows[0].cells);
      assert.deepEqual(ours, theirs);
    });
  }

  test("a watch shows each in its own form", async () => {
    await post(V1, v1("watched"));
    const query = "?watch=1&timeoutSeconds=1&resourceVersion=0&fieldSelector=metadata.name%3Dwatched";
    for (const [view, field] of [
      [V1, "note"],
      [CORE, "message"],
    ] as const) {
      const response = await face.open(`${view}${query}`);
      const [chunk] = (await response[Symbol.asyncIterator]().next()).value.toString().split("\n");
      const { type, object } = JSON.parse(chunk);
      assert.deepEqual([type, object[field]], ["ADDED", "a note"]);
      response.destroy();
    }
  });

  const selectors: readonly [view: string, selector: string, status: number, found: readonly string[]][] = [
    [V1, "regarding.name=selected", 200, ["s"]],
    [V1, "reportingController=selecting", 200, ["s"]],
    [V1, "involvedObject.name=selected", 400, []],
    [V1, "reportingComponent=selecting", 400, []],
    [V1, "source=selecting", 200, ["s"]],
    [CORE, "involvedObject.name=selected", 200, ["s"]],
    [CORE, "reportingComponent=selecting", 200, ["s"]],
    [CORE, "source=selecting", 200, ["s"]],
    [CORE, "regarding.name=selected", 400, []],
  ];
  test("each group has field labels of its own", async () => {
    await post(V1, v1("s", { regarding: { ...REGARDING, name: "selected" }, reportingController: "selecting" }));
    for (const [view, selector, status, found] of selectors) {
      const answer = await face.ask(`${view}?fieldSelector=${encodeURIComponent(selector)}`);
      const names = (answer.body.items ?? []).map(({ metadata }: { metadata: { name: string } }) => metadata.name);
      assert.deepEqual([selector, answer.status, names], [selector, status, found]);
    }
  });
});

describe("writes through events.k8s.io/v1", () => {
  test("patch, update and apply change the series; core shows it", async () => {
    await post(V1, v1("series"));
    const first = { series: { count: 2, lastObservedTime: LATER } };
    const patched = await face.ask(`${V1}/series`, { method: "PATCH", body: first, headers: MERGE });
    assert.deepEqual([patched.status, patched.body.series], [200, first.series]);
    const second = { ...patched.body, series: { count: 100, lastObservedTime: TIME } };
    const updated = await face.ask(`${V1}/series`, { method: "PUT", body: second });
    assert.deepEqual([updated.status, updated.body.series], [200, second.series]);
    const body = v1("series", { series: { count: 101, lastObservedTime: TIME } });
    const headers = { "content-type": "application/apply-patch+yaml" };
    const applied = await face.ask(`${V1}/series?fieldManager=me&force=true`, { method: "PATCH", body, headers });
    assert.deepEqual([applied.status, applied.body.series.count], [200, 101]);
    const { body: seen } = await face.ask(`${CORE}/series`);
    assert.deepEqual(seen.series, { count: 101, lastObservedTime: TIME });
  });

  test("an apply and a PUT of a missing event create it", async () => {
    const headers = { "content-type": "application/apply-patch+yaml" };
    const body = v1("applied");
    const applied = await face.ask(`${V1}/applied?fieldManager=me`, { method: "PATCH", body, headers });
    const put = await face.ask(`${V1}/put`, { method: "PUT", body: v1("put") });
    assert.deepEqual([applied.status, put.status], [201, 201]);
  });

  test("names of the other group are unknown fields", async () => {
    const strict = await post(V1, v1("strict", { message: "x", reportingComponent: "y" }), "?fieldValidation=Strict");
    expect([strict.status, strict.body.message]).toEqual([
      400,
      'Event in version "v1" cannot be handled as a Event: strict decoding error: unknown field "message", unknown field "reportingComponent"',
    ]);
  });

  test("a deleted collection is gone in both groups", async () => {
    const labels = { "testevent-set": "true" };
    for (const name of ["set-1", "set-2"]) await post(V1, { ...v1(name), metadata: { name, labels } });
    const query = "?labelSelector=testevent-set%3Dtrue";
    assert.equal((await face.ask(`${CORE}${query}`)).body.items.length, 2);
    assert.equal((await face.ask(`${V1}${query}`, { method: "DELETE" })).status, 200);
    for (const view of [CORE, V1]) assert.deepEqual((await face.ask(`${view}${query}`)).body.items, []);
  });
});

const LONG = "x".repeat(129);
const CONTROLLER = "reportingController";
const TOO_LONG = 'Invalid value: "": can have at most 128 characters';
const REQUIRED = "Required value";
const UNSET = 'Invalid value: "": needs to be unset';
const QUALIFIED = [
  "name part must be non-empty",
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
];
const noController = [REQUIRED, ...QUALIFIED.map((one) => `Invalid value: "": ${one}`)].map(
  (one) => `${CONTROLLER}: ${one}`,
);

describe("a new event is checked in upstream's words", () => {
  const table: readonly [path: string, fields: Fields, errors: readonly string[]][] = [
    [V1, { reportingController: undefined }, noController],
    [V1, { reportingController: "a b" }, [`${CONTROLLER}: Invalid value: "a b": ${QUALIFIED[1]}`]],
    [V1, { reportingInstance: undefined }, [`reportingInstance: ${REQUIRED}`]],
    [V1, { reportingInstance: LONG }, [`reportingInstance: ${TOO_LONG}`]],
    [V1, { action: undefined }, [`action: ${REQUIRED}`]],
    [V1, { action: LONG }, [`action: ${TOO_LONG}`]],
    [V1, { reason: undefined }, [`reason: ${REQUIRED}`]],
    [V1, { reason: LONG }, [`reason: ${TOO_LONG}`]],
    [V1, { note: "x".repeat(1024) }, []],
    [V1, { note: "é".repeat(513) }, ['message: Invalid value: "": can have at most 1024 characters']],
    [V1, { type: undefined }, ['type: Invalid value: "": has invalid value: ']],
    [V1, { type: "Bad" }, ['type: Invalid value: "": has invalid value: Bad']],
    [V1, { type: "Warning" }, []],
    [V1, { eventTime: null }, [`eventTime: ${REQUIRED}`]],
    [V1, { series: { count: 1, lastObservedTime: TIME } }, ['series.count: Invalid value: "": should be at least 2']],
    [V1, { series: { count: 2, lastObservedTime: null } }, [`series.lastObservedTime: ${REQUIRED}`]],
    [V1, { deprecatedFirstTimestamp: "2017-09-19T13:49:16Z" }, [`firstTimestamp: ${UNSET}`]],
    [V1, { deprecatedLastTimestamp: "2017-09-19T13:49:16Z" }, [`lastTimestamp: ${UNSET}`]],
    [V1, { deprecatedCount: 1 }, [`count: ${UNSET}`]],
    [V1, { deprecatedSource: { component: "x" } }, [`source: ${UNSET}`]],
    [V1, { regarding: undefined }, []],
    [V1, { regarding: { namespace: "other" } }, []],
    [CORE, {}, []],
    [CORE, { type: "Bad", series: { count: 1 }, count: 1, source: { component: "x" } }, []],
    [CORE, { metadata: { name: "With_Capitals" } }, []],
    [
      CORE,
      { involvedObject: { namespace: "other" } },
      ['involvedObject.namespace: Invalid value: "other": does not match event.namespace'],
    ],
    [
      CORE,
      { eventTime: TIME },
      [...noController, ...["reportingInstance", "action", "reason"].map((one) => `${one}: ${REQUIRED}`)],
    ],
  ];
  for (const [at, [path, fields, errors]] of table.entries()) {
    test(`${path === V1 ? "events.k8s.io/v1" : "v1"} with ${JSON.stringify(fields).slice(0, 80)}`, async () => {
      const name = `checked-${at}`;
      const { status, body } = await post(path, path === V1 ? v1(name, fields) : core(name, fields), "?dryRun=All");
      if (errors.length === 0) return assert.equal(status, 201, body.message);
      const text = errors.length === 1 ? errors[0] : `[${errors.join(", ")}]`;
      expect([status, body.message]).toEqual([422, `Event "${name}" is invalid: ${text}`]);
      expect(body.details).toMatchObject({ name, kind: "Event" });
      expect(body.details.group).toBe(undefined);
    });
  }
});

describe("an update is checked in upstream's words", () => {
  const fixed = (field: string, value: string) => [`${field}: Invalid value: ${value}: field is immutable`];
  const reference = (kind: string, namespace: string, name: string) =>
    `core.ObjectReference{Kind:"${kind}", Namespace:"${namespace}", Name:"${name}", UID:"", APIVersion:"", ResourceVersion:"", FieldPath:""}`;
  const table: readonly [path: string, patch: Fields, errors: readonly string[]][] = [
    [V1, { regarding: { name: "x" } }, fixed("involvedObject", reference("Pod", "default", "x"))],
    [V1, { related: { name: "n2" } }, fixed("related", reference("Node", "", "n2"))],
    [V1, { related: null }, fixed("related", '"null"')],
    [V1, { reason: "Other" }, fixed("reason", '"Other"')],
    [V1, { note: "Other" }, fixed("message", '"Other"')],
    [V1, { type: "Warning" }, fixed("type", '"Warning"')],
    [V1, { action: "Other" }, fixed("action", '"Other"')],
    [V1, { reportingController: "other" }, fixed(CONTROLLER, '"other"')],
    [V1, { reportingInstance: "other" }, fixed("reportingInstance", '"other"')],
    [V1, { eventTime: "2020-01-02T03:04:05.120000Z" }, fixed("eventTime", "2020-01-02 03:04:05.12 +0000 UTC")],
    [V1, { deprecatedSource: { host: "n" } }, fixed("source", 'core.EventSource{Component:"", Host:"n"}')],
    [
      V1,
      { deprecatedFirstTimestamp: "2020-01-02T03:04:05Z" },
      fixed("firstTimestamp", "2020-01-02 03:04:05 +0000 UTC"),
    ],
    [V1, { deprecatedLastTimestamp: "2020-01-02T03:04:05Z" }, fixed("lastTimestamp", "2020-01-02 03:04:05 +0000 UTC")],
    [V1, { deprecatedCount: 7 }, fixed("count", "7")],
    [V1, { series: { count: 1, lastObservedTime: TIME } }, ['series.count: Invalid value: "": should be at least 2']],
    [V1, { metadata: { labels: { a: "b" } } }, []],
    [CORE, { reason: "Other", message: "Other", count: 7, type: "Bad", series: { count: 1 } }, []],
    [CORE, { action: "" }, [`action: ${REQUIRED}`]],
  ];
  for (const [path, patch, errors] of table) {
    test(`${path === V1 ? "events.k8s.io/v1" : "v1"} with ${JSON.stringify(patch)}`, async () => {
      await post(V1, v1("old"));
      const asked = { method: "PATCH", body: patch, headers: MERGE };
      const { status, body } = await face.ask(`${path}/old?dryRun=All`, asked);
      if (errors.length === 0) return assert.equal(status, 200, body.message);
      const text = errors.length === 1 ? errors[0] : `[${errors.join(", ")}]`;
      expect([status, body.message]).toEqual([422, `Event "old" is invalid: ${text}`]);
    });
  }
});
