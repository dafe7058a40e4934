import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Serializer } from "../../../../src/cluster/apiserver/endpoints/responsewriters/serialize.js";
import { Turns } from "../../../../src/util/async/turns.js";
import { Face } from "./support.js";

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";

interface Event {
  readonly type: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read objects of any shape
  readonly object: any;
}

let face: Face;
beforeAll(async () => {
  face = await Face.open();
});
afterAll(() => face.close());

/** The events of a stream, one by one. It has its own connection, because a watch never ends. */
async function* eventsOf(response: IncomingMessage): AsyncGenerator<Event> {
  let rest = "";
  for await (const chunk of response) {
    rest += String(chunk);
    const lines = rest.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield JSON.parse(line) as Event;
  }
  expect(rest).toBe("");
}

function watch(query: string, accept = "application/json", on = face): Promise<IncomingMessage> {
  // Each identity has its own connection.
  return on.open(`${CONFIG_MAPS}?watch=1&${query}`, { as: { ...on.admin }, headers: { accept } });
}

async function take(events: AsyncGenerator<Event>, count: number): Promise<Event[]> {
  const taken: Event[] = [];
  for (let i = 0; i < count; i++) {
    const { done, value } = await events.next();
    if (done === true) break;
    taken.push(value);
  }
  return taken;
}

async function create(name: string, on = face): Promise<string> {
  const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { k: "0" } };
  const answer = await on.ask(CONFIG_MAPS, { method: "POST", body });
  return answer.body.metadata.resourceVersion;
}

describe("watch", () => {
  test("sends each change since the resourceVersion as one line of JSON, without a gap", async () => {
    const resourceVersion = await create("w1");
    const response = await watch(`resourceVersion=${resourceVersion}`);
    expect([response.statusCode, response.headers["content-type"], response.headers["transfer-encoding"]]).toEqual([
      200,
      "application/json",
      "chunked",
    ]);
    const events = eventsOf(response);
    const headers = { "content-type": "application/merge-patch+json" };
    await face.ask(`${CONFIG_MAPS}/w1`, { method: "PATCH", headers, body: { data: { k: "1" } } });
    await face.ask(`${CONFIG_MAPS}/w1`, { method: "DELETE" });
    const seen = await take(events, 2);
    expect(seen.map(({ type, object }) => `${type} ${object.kind} ${object.data.k}`)).toEqual([
      "MODIFIED ConfigMap 1",
      "DELETED ConfigMap 1",
    ]);
    response.destroy();
  });

  test("only the first event contains a Table's columns", async () => {
    await create("t1");
    const response = await watch("", "application/json;as=Table;v=v1;g=meta.k8s.io");
    const events = eventsOf(response);
    await create("t2");
    const [first, second] = await take(events, 2);
    expect(first?.object.columnDefinitions.length).toBeGreaterThan(1);
    expect(second?.object.columnDefinitions).toBeNull();
    expect(second?.object.rows[0].object.kind).toBe("PartialObjectMetadata");
    response.destroy();
  });

  test("reports an old revision inside the stream, an invalid request outside", async () => {
    const future = await watch("resourceVersion=999999999&timeoutSeconds=1");
    expect(future.statusCode).toBe(200);
    future.destroy();
    for (const [query, status] of [
      ["labelSelector=a%3D%3D%3Db", 400],
      ["timeoutSeconds=abc", 400],
      ["resourceVersion=abc", 500],
      ["resourceVersion=0&resourceVersionMatch=NotOlderThan", 422],
    ] as const) {
      expect([query, (await face.ask(`${CONFIG_MAPS}?watch=1&${query}`)).status]).toEqual([query, status]);
    }
    expect((await face.ask(`${CONFIG_MAPS}?watch=1`, { headers: { accept: "application/yaml" } })).status).toBe(406);
  });

  test("ends cleanly at its timeout", async () => {
    const response = await watch("timeoutSeconds=5&resourceVersion=0");
    const events = eventsOf(response);
    await events.next();
    await face.clock.advance(5_000);
    for await (const _event of events);
    expect(response.complete).toBe(true);
  });

  test("ends when the server closes", async () => {
    const other = await Face.open();
    await create("c1", other);
    const response = await watch("", "application/json", other);
    const events = eventsOf(response);
    expect((await take(events, 1)).length).toBe(1);
    const rest = take(events, 100);
    await other.controlPlane.close();
    expect(await rest).toEqual([]);
    expect(response.complete).toBe(true);
    await other.close();
  });

  test("a client that reads nothing is disconnected", async () => {
    await using other = await Face.open();
    const response = await watch("resourceVersion=0", "application/json", other);
    const body = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { generateName: "large-" },
      data: { a: "x".repeat(1 << 20) },
    };
    const gone = once(response, "aborted");
    while (other.clock.sleeping < 2) await other.ask(CONFIG_MAPS, { method: "POST", body });
    await other.clock.advance(60_000);
    response.resume();
    await gone;
    expect(response.complete).toBe(false);
  });

  test("the old path of one object is a watch of it", async () => {
    await create("old");
    const path = "/api/v1/watch/namespaces/default/configmaps/old";
    const response = await face.open(path, { as: { ...face.admin } });
    const [event] = await take(eventsOf(response), 1);
    expect([event?.type, event?.object.metadata.name]).toEqual(["ADDED", "old"]);
    response.destroy();
  });
});

test("an event is serialized once for all its watchers", async () => {
  const serializer = new Serializer();
  const object = { kind: "ConfigMap", apiVersion: "v1", metadata: { name: "x" }, data: { a: "b" } };
  const line = serializer.event("ADDED", object);
  expect(String(line)).toBe(
    '{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x"},"data":{"a":"b"}}}\n',
  );
  expect(serializer.event("ADDED", object)).toBe(line);
  expect(serializer.event("MODIFIED", object)).not.toBe(line);
  const metadata = { resourceVersion: "1" };
  const both = { kind: "ConfigMapList", apiVersion: "v1", metadata, items: [object, object] };
  const list = await serializer.list(both, new Turns(), () => false);
  const text =
    '{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"x"},"data":{"a":"b"}},{"metadata":{"name":"x"},"data":{"a":"b"}}]}\n';
  expect(String(Buffer.concat(list?.parts ?? []))).toBe(text);
  expect(list?.bytes).toBe(text.length);
});
