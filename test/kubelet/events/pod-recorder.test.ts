import { describe, expect, test } from "vitest";
import { ApiPodEventRecorder } from "../../../src/kubelet/events/pod-recorder.js";
import { LabError } from "../../../src/util/errors.js";
import { SeededRandom } from "../../../src/util/seeded-random.js";
import { FakeClock, settle } from "../../support/fake-clock.js";
import { type MemoryAnswer, MemoryClient } from "../../support/memory-client.js";
import { only, recordingTrace } from "../../support/trace.js";
import { makePod } from "../podworkers/pods.js";

class Half extends SeededRandom {
  override float(): number {
    return 0.5;
  }
}

const CREATED = () => ({ status: 201, body: {} });

function start(answer: (method: string) => MemoryAnswer | Error = CREATED, kubeVersion = "1.25") {
  const clock = new FakeClock();
  const client = new MemoryClient(({ method }) => answer(method));
  const { trace, events } = recordingTrace(clock);
  const stop = new AbortController();
  const options = { nodeName: "n1", kubeVersion };
  const recorder = new ApiPodEventRecorder({ client, clock, random: new Half(1), trace }, options, stop.signal);
  const methods = async () => {
    await recorder.flush();
    return client.requests.map(({ method }) => method);
  };
  return { clock, client, recorder, methods, facts: events, stop };
}

const POD = makePod("a");

test("an event names the pod, its part and the node", async () => {
  const { client, recorder, facts } = start();
  recorder.event(POD, "Normal", "Started", "Started container app", { fieldPath: "spec.containers{app}" });
  await recorder.flush();
  expect(client.requests[0]).toMatchObject({
    method: "POST",
    path: "/api/v1/namespaces/default/events",
    body: {
      kind: "Event",
      metadata: { name: expect.stringMatching(/^a\.[0-9a-f]+$/), namespace: "default" },
      involvedObject: { kind: "Pod", name: "a", uid: "uid-a", fieldPath: "spec.containers{app}" },
      source: { component: "kubelet", host: "n1" },
      count: 1,
      firstTimestamp: "2026-01-01T00:00:00Z",
    },
  });
  expect(only(facts, "event")).toMatchObject([{ object: "Pod/default/a", reason: "Started" }]);
});

test("the write of an event is an effect of it", async () => {
  const { client, clock, facts } = start();
  const causes: (string | undefined)[] = [];
  const { trace, events } = recordingTrace(clock);
  const request = client.request.bind(client);
  client.request = (asked) => {
    causes.push(trace.cause);
    return request(asked);
  };
  const recorder = new ApiPodEventRecorder(
    { client, clock, random: new SeededRandom(1), trace },
    { nodeName: "n1", kubeVersion: "1.25" },
    new AbortController().signal,
  );
  recorder.event(POD, "Normal", "Started", "Started container app");
  await recorder.flush();
  expect(causes).toEqual(only(events, "event").map(({ id }) => id));
  expect(facts).toEqual([]);
});

describe("counting", () => {
  test("the same again is a PATCH of the first; another message is another event", async () => {
    const { client, clock, recorder, methods } = start();
    recorder.event(POD, "Warning", "BackOff", "again");
    await clock.advance(5000);
    recorder.event(POD, "Warning", "BackOff", "again");
    recorder.event(POD, "Warning", "BackOff", "other");
    expect(await methods()).toEqual(["POST", "PATCH", "POST"]);
    const first = client.requests[0]?.body as { metadata: { name: string } };
    expect(client.requests[1]).toMatchObject({
      path: `/api/v1/namespaces/default/events/${first.metadata.name}`,
      body: { count: 2, lastTimestamp: "2026-01-01T00:00:05Z", message: "again" },
    });
  });

  test("an event that the API server has deleted is created again, with its count and its name", async () => {
    const { client, recorder, methods } = start((method) => ({ status: method === "PATCH" ? 404 : 201, body: {} }));
    recorder.event(POD, "Warning", "BackOff", "again");
    recorder.event(POD, "Warning", "BackOff", "again");
    expect(await methods()).toEqual(["POST", "PATCH", "POST"]);
    const first = client.requests[0]?.body as { metadata: object } | undefined;
    expect(client.requests[2]?.body).toMatchObject({ count: 2, metadata: first?.metadata });
  });

  test("the tenth event that differs only in its message aggregates those that follow", async () => {
    const { client, recorder } = start(CREATED, "1.27");
    for (let i = 1; i <= 12; i++) recorder.event(POD, "Warning", "Failed", `message ${i}`);
    await recorder.flush();
    expect(client.requests.map(({ method }) => method)).toEqual([...Array<string>(10).fill("POST"), "PATCH", "PATCH"]);
    expect(client.requests[11]?.body).toMatchObject({
      count: 3,
      message: "(combined from similar events): message 12",
    });
  });

  test("words that differ by container count together; the same words about two containers are two events", async () => {
    const { client, recorder } = start(CREATED, "1.27");
    const about = (name: string, message: string) =>
      recorder.event(POD, "Normal", "Started", message, { fieldPath: `spec.containers{${name}}` });
    for (let i = 1; i <= 11; i++) about(`c${i}`, `Started container c${i}`);
    recorder.event(POD, "Warning", "BackOff", "again", { fieldPath: "spec.containers{c1}" });
    recorder.event(POD, "Warning", "BackOff", "again", { fieldPath: "spec.containers{c2}" });
    await recorder.flush();
    const said = client.requests.map(({ method, body }) => `${method} ${(body as { message: string }).message}`);
    expect(said.slice(8)).toEqual([
      "POST Started container c9",
      "POST (combined from similar events): Started container c10",
      "PATCH (combined from similar events): Started container c11",
      "POST again",
      "POST again",
    ]);
  });

  test("after 25 about one pod it is quiet, but for one in five minutes; other pods are not affected", async () => {
    const { clock, recorder, methods } = start(CREATED, "1.27");
    for (let i = 0; i < 40; i++) recorder.event(POD, "Warning", "BackOff", "again");
    expect(await methods()).toHaveLength(25);
    recorder.event(makePod("b"), "Warning", "BackOff", "again");
    expect(await methods()).toHaveLength(26);
    await clock.advance(300_000);
    recorder.event(POD, "Warning", "BackOff", "again");
    recorder.event(POD, "Warning", "BackOff", "again");
    expect(await methods()).toHaveLength(27);
  });
});

test("a refusing API server causes no failure, and is not asked again", async () => {
  const { recorder, methods } = start(() => ({ status: 403, body: {} }));
  recorder.event(POD, "Normal", "Pulled", "x");
  recorder.event(POD, "Normal", "Pulled", "x");
  expect(await methods()).toEqual(["POST", "POST"]);
});

describe("an unreachable API server", () => {
  const AWAY = new LabError("CLUSTER_UNREACHABLE", "refused", "");

  test("is asked again every 10 s, after a random first wait; later events wait their turn", async () => {
    let isAway = true;
    const { client, clock, recorder } = start(() => (isAway ? AWAY : CREATED()));
    recorder.event(POD, "Normal", "Pulled", "first");
    recorder.event(POD, "Normal", "Pulled", "second");
    await settle();
    expect(client.requests).toHaveLength(1);
    await clock.advance(5_000);
    expect(client.requests, "half of 10 s").toHaveLength(2);
    await clock.advance(9_999);
    expect(client.requests).toHaveLength(2);
    isAway = false;
    await clock.advance(1);
    await recorder.flush();
    const said = client.requests.map(({ body }) => (body as { message: string }).message);
    expect(said).toEqual(["first", "first", "first", "second"]);
    expect(client.requests[2]?.body, "it keeps its time").toMatchObject({ lastTimestamp: "2026-01-01T00:00:00Z" });
  });

  test("is asked twelve times for one event", async () => {
    const { client, clock, recorder } = start(() => AWAY);
    recorder.event(POD, "Normal", "Pulled", "x");
    await settle();
    await clock.advance(600_000);
    await recorder.flush();
    expect(client.requests).toHaveLength(12);
  });

  test("is not asked again when the kubelet ends", async () => {
    const { client, clock, recorder, stop } = start(() => AWAY);
    recorder.event(POD, "Normal", "Pulled", "first");
    recorder.event(POD, "Normal", "Pulled", "second");
    await settle();
    stop.abort();
    await recorder.flush();
    expect(client.requests).toHaveLength(2);
    expect(clock.sleeping).toBe(0);
  });
});

describe("the pace", () => {
  const table = [
    // release, at once, after a second more
    ["1.25", 10, 15],
    ["1.27", 100, 150],
  ] as const;
  for (const [release, atOnce, later] of table) {
    test(`${release}: ${atOnce} at once, ${later - atOnce} more a second, all at the end`, async () => {
      const { client, clock, recorder, stop } = start(CREATED, release);
      for (let i = 0; i < 200; i++) recorder.event(makePod(`p-${i}`), "Normal", "Started", "Started container app");
      await settle();
      expect(client.requests).toHaveLength(atOnce);
      await clock.advance(1_000);
      expect(client.requests).toHaveLength(later);
      stop.abort();
      await recorder.flush();
      expect(client.requests).toHaveLength(200);
      expect(clock.sleeping).toBe(0);
    });
  }
});
