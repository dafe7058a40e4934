import assert from "node:assert/strict";
import { test } from "vitest";
import { openCriChannel } from "../../../src/staging/cri/client.js";
import type { CriHandlers } from "../../../src/staging/cri/server.js";
import { RUNTIME_SERVICE } from "../../../src/staging/cri/services.js";
import { Trace } from "../../../src/trace/trace.js";
import { FakeClock } from "../../support/fake-clock.js";
import { only, recordingTrace } from "../../support/trace.js";
import { openChannel, startRuntime } from "./support.js";

/** A runtime whose calls report a fact each. */
async function reportingRuntime() {
  const { trace, events } = recordingTrace(new FakeClock());
  const say = (text: string) => trace.emit({ kind: "note", text }, { actor: "runtime" });
  const handlers: CriHandlers["runtime"] = {
    startContainer: async ({ containerId }) => {
      await Promise.resolve();
      say(`started ${containerId}`);
      return {};
    },
    async *getContainerEvents() {
      say("listening");
      yield { containerId: "c1", containerEventType: 1 };
    },
  };
  return { server: await startRuntime(handlers, { trace }), facts: events };
}

test("what a runtime reports about a call is caused by the fact of the client", async () => {
  const { server, facts } = await reportingRuntime();
  const { channel, events } = openChannel(server.endpoint);
  await channel.call(RUNTIME_SERVICE.startContainer, { containerId: "c1" }, {});
  await channel.call(RUNTIME_SERVICE.startContainer, { containerId: "c2" }, {});
  const calls = only(events, "rpc").map(({ id }) => id);
  assert.equal(new Set(calls).size, 2);
  assert.deepEqual(
    facts.map(({ causedBy }) => causedBy),
    calls,
  );
});

test("a stream is two facts: what happens in it and its end are caused by the first", async () => {
  const { server, facts } = await reportingRuntime();
  const { channel, events } = openChannel(server.endpoint);
  for await (const _event of channel.stream(RUNTIME_SERVICE.getContainerEvents, {}, {}));
  const [began, ended] = only(events, "rpc");
  assert.deepEqual([began?.outcome, ended?.outcome], ["streaming", "the stream ended after 1 messages"]);
  assert.notEqual(began?.id, ended?.id);
  assert.deepEqual([facts[0]?.causedBy, ended?.causedBy], [began?.id, began?.id]);
});

test("a client that keeps no causes begins a chain", async () => {
  const { server, facts } = await reportingRuntime();
  const clock = new FakeClock();
  const silent = new Trace(clock);
  const terminal = new Trace(clock);
  terminal.addSink({ level: 2, write: () => {} });
  for (const trace of [silent, terminal]) {
    await using channel = openCriChannel(server.endpoint, { clock, trace, actor: "kubelet" });
    await channel.call(RUNTIME_SERVICE.startContainer, { containerId: "c1" }, {});
    assert.equal(channel.causes.of("c1"), undefined);
  }
  assert.deepEqual(
    facts.map(({ causedBy, origin }) => [causedBy, origin]),
    [
      [undefined, "client"],
      [undefined, "client"],
    ],
  );
});

test("a call has the cause of its caller, although its answer arrives outside of it", async () => {
  const { server } = await reportingRuntime();
  const { channel, trace, events } = openChannel(server.endpoint);
  const start = (containerId: string) => channel.call(RUNTIME_SERVICE.startContainer, { containerId }, {});
  await Promise.all([
    trace.because({ causedBy: "aaaaaaaaaaaaaaaa", pod: "default/web" }, () => start("c1")),
    trace.origin("timer", () => start("c2")),
  ]);
  const facts = only(events, "rpc").map(({ causedBy, origin, pod }) => [causedBy, origin, pod]);
  assert.deepEqual(facts.sort(), [
    [undefined, "timer", undefined],
    ["aaaaaaaaaaaaaaaa", undefined, "default/web"],
  ]);
});

test("a channel knows which call last changed a container", async () => {
  const server = await startRuntime({
    runPodSandbox: () => ({ podSandboxId: "s1" }),
    createContainer: () => ({ containerId: "c1" }),
    startContainer: () => ({}),
    stopContainer: () => ({}),
    listContainers: () => ({}),
  });
  const { channel, events } = openChannel(server.endpoint);
  const { causes } = channel;
  const last = () => only(events, "rpc").at(-1)?.id;
  assert.equal(causes.of("s1"), undefined);
  await channel.call(RUNTIME_SERVICE.runPodSandbox, {}, {});
  assert.equal(causes.of("s1"), last());
  await channel.call(RUNTIME_SERVICE.createContainer, {}, {});
  assert.equal(causes.of("c1"), last());
  await channel.call(RUNTIME_SERVICE.startContainer, { containerId: "c1" }, {});
  const started = last();
  await channel.call(RUNTIME_SERVICE.listContainers, {}, {});
  assert.equal(causes.of("c1"), started);
  const stopping = channel.call(RUNTIME_SERVICE.stopContainer, { containerId: "c1" }, {});
  const cause = causes.of("c1");
  await stopping;
  assert.equal(cause, last(), "the container may exit before the call ends");
});
