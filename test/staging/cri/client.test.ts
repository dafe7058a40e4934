import assert from "node:assert/strict";
import { createServer as createHttp2Server } from "node:http2";
import { describe, test } from "vitest";
import { expectOk, RpcError } from "../../../src/staging/cri/grpc/status.js";
import { Container } from "../../../src/staging/cri/messages/container.js";
import { listContainersOf } from "../../../src/staging/cri/projections.js";
import { RUNTIME_SERVICE } from "../../../src/staging/cri/services.js";
import { LabError } from "../../../src/util/errors.js";
import type { GrpcCode } from "../../../src/util/net/grpc-codes.js";
import { settle } from "../../support/fake-clock.js";
import { only } from "../../support/trace.js";
import { openChannel, socketUrl, startRuntime, VERSION } from "./support.js";

for (const endpoint of ["unix", "tcp"] as const) {
  test(`a call and a stream over ${endpoint}`, async () => {
    const server = await startRuntime(
      {
        listContainers: ({ filter }) => ({ containers: [{ id: "c1", podSandboxId: filter?.podSandboxId }] }),
        async *getContainerEvents() {
          yield { containerId: "c1", containerEventType: 1 };
          yield { containerId: "c1", containerEventType: 2 };
        },
      },
      endpoint === "unix" ? {} : { endpoint: "tcp://127.0.0.1:0" },
    );
    assert.match(server.endpoint, endpoint === "unix" ? /^unix:\/\/\// : /^tcp:\/\/127\.0\.0\.1:[1-9]\d+$/);
    const { channel } = openChannel(server.endpoint);
    const request = { filter: { podSandboxId: "s1" } };
    const list = await channel.call(RUNTIME_SERVICE.listContainers, request, {});
    assert.deepEqual(expectOk(list, "list").containers, [Container.create({ id: "c1", podSandboxId: "s1" })]);
    const events = [];
    for await (const event of channel.stream(RUNTIME_SERVICE.getContainerEvents, {}, {})) events.push(event);
    assert.deepEqual(
      events.map((event) => [event.containerId, event.containerEventType]),
      [
        ["c1", 1],
        ["c1", 2],
      ],
    );
  });
}

describe("a status is a value", () => {
  const table: readonly (readonly [GrpcCode, string])[] = [
    ["NotFound", "not-found"],
    ["Unimplemented", "unimplemented"],
    ["Unavailable", "unavailable"],
    ["DeadlineExceeded", "timed-out"],
    ["InvalidArgument", "failed"],
    ["FailedPrecondition", "failed"],
    ["Internal", "failed"],
    ["Unknown", "failed"],
  ];
  for (const [code, outcome] of table) {
    test(`${code} is ${outcome}`, async () => {
      const server = await startRuntime({
        containerStatus: () => {
          throw new RpcError(code, 'container "節" is 100% gone\nfor ever');
        },
      });
      const { channel } = openChannel(server.endpoint);
      const result = await channel.call(RUNTIME_SERVICE.containerStatus, { containerId: "x" }, {});
      assert.deepEqual(result, {
        outcome,
        code,
        message: 'container "節" is 100% gone\nfor ever',
        text: `rpc error: code = ${code} desc = container "節" is 100% gone\nfor ever`,
      });
      const unreachable = code === "Unavailable" || code === "DeadlineExceeded";
      assert.throws(
        () => expectOk(result, "look"),
        (error) => error instanceof LabError && error.code === (unreachable ? "RUNTIME_UNREACHABLE" : "RUNTIME_FAILED"),
      );
    });
  }

  test("a handler's other errors are Unknown, missing handlers Unimplemented", async () => {
    const server = await startRuntime({
      status: () => {
        throw new Error("disk on fire");
      },
    });
    const { channel } = openChannel(server.endpoint);
    const failed = await channel.call(RUNTIME_SERVICE.status, {}, {});
    assert.equal(failed.outcome === "ok" ? "" : failed.text, "rpc error: code = Unknown desc = disk on fire");
    const missing = await channel.call(RUNTIME_SERVICE.runtimeConfig, {}, {});
    assert.equal(missing.outcome === "ok" ? "" : missing.message, "method RuntimeConfig not implemented");
    await assert.rejects(channel.stream(RUNTIME_SERVICE.getContainerEvents, {}, {}).next(), {
      name: "RpcError",
      code: "Unimplemented",
    });
  });
});

describe("sizes", () => {
  const container = (i: number) => ({
    id: String(i).padStart(64, "0"),
    podSandboxId: String(i >> 1).padStart(64, "f"),
    createdAt: BigInt(i),
    labels: { "io.kubernetes.pod.uid": `uid-${i}`, "io.kubernetes.pod.name": `pod-${i}` },
    annotations: { "io.kubernetes.container.terminationMessagePath": "x".repeat(600) },
  });

  test("a list of 8.5 MB arrives, whole and as a projection", async () => {
    const containers = Array.from({ length: 10_000 }, (_, i) => container(i));
    const server = await startRuntime({ listContainers: () => ({ containers }) });
    const { channel } = openChannel(server.endpoint);
    const whole = expectOk(await channel.call(RUNTIME_SERVICE.listContainers, {}, {}), "list").containers;
    assert.equal(whole.length, 10_000);
    assert.deepEqual(whole[9_999], Container.create(container(9_999)));
    const projection = listContainersOf(Container.pick("id", "createdAt"));
    const part = expectOk(await channel.call(projection, {}, {}), "list").containers;
    assert.deepEqual(part[5], { id: String(5).padStart(64, "0"), createdAt: 5n });
  });

  test("later calls do not change earlier results", async () => {
    let generation = 0;
    const server = await startRuntime({
      listContainers: () => {
        generation++;
        const containers = Array.from({ length: 1_000 }, (_, i) => ({
          ...container(i),
          imageRef: `image-${generation}`,
        }));
        return { containers };
      },
      execSync: () => ({ stdout: Buffer.alloc(200_000, ++generation) }),
    });
    const { channel } = openChannel(server.endpoint);
    const lists = [];
    for (let i = 0; i < 4; i++)
      lists.push(expectOk(await channel.call(RUNTIME_SERVICE.listContainers, {}, {}), "list"));
    const outputs = [];
    for (let i = 0; i < 4; i++) outputs.push(expectOk(await channel.call(RUNTIME_SERVICE.execSync, {}, {}), "exec"));
    assert.deepEqual(
      lists.map(({ containers }) => new Set(containers.map(({ imageRef }) => imageRef))),
      [1, 2, 3, 4].map((n) => new Set([`image-${n}`])),
    );
    assert.deepEqual(
      outputs.map(({ stdout }) => new Set(stdout)),
      [5, 6, 7, 8].map((n) => new Set([n])),
    );
  });

  test("more than the kubelet's 16 MB is refused", async () => {
    const server = await startRuntime({
      execSync: ({ timeout }) => ({ stdout: Buffer.alloc(16 * 1024 * 1024 + Number(timeout)) }),
    });
    const { channel } = openChannel(server.endpoint);
    const fits = await channel.call(RUNTIME_SERVICE.execSync, { timeout: -5 }, {});
    assert.equal(fits.outcome, "ok");
    const tooLarge = await channel.call(RUNTIME_SERVICE.execSync, { timeout: 1 }, {});
    assert.equal(
      tooLarge.outcome === "ok" ? "" : tooLarge.text,
      "rpc error: code = ResourceExhausted desc = Received message larger than max (16777222 vs 16777216)",
    );
    const next = await channel.call(RUNTIME_SERVICE.version, {}, {});
    assert.deepEqual(expectOk(next, "ask"), VERSION);
  });

  test("five thousand events wait for a slow reader, in order", async () => {
    const server = await startRuntime({
      async *getContainerEvents() {
        for (let i = 0; i < 5_000; i++) yield { containerId: String(i) };
      },
    });
    const { channel } = openChannel(server.endpoint);
    let next = 0;
    for await (const event of channel.stream(RUNTIME_SERVICE.getContainerEvents, {}, {})) {
      assert.equal(event.containerId, String(next++));
      if (next % 1_000 === 0) await settle(50);
    }
    assert.equal(next, 5_000);
  });
});

test("each call is a fact with its request, its outcome and its response", async () => {
  const server = await startRuntime({
    listContainers: () => ({ containers: [{ id: "a" }, { id: "b" }] }),
    createContainer: () => ({ containerId: "c" }),
    async *getContainerEvents() {
      yield { containerId: "a" };
    },
  });
  const { channel, events } = openChannel(server.endpoint, true);
  await channel.call(RUNTIME_SERVICE.listContainers, { filter: { id: "a" } }, {});
  await channel.call(RUNTIME_SERVICE.removeContainer, { containerId: "a" }, {});
  const config = { envs: [{ key: "PASSWORD", value: "hunter2" }] };
  await channel.call(RUNTIME_SERVICE.createContainer, { podSandboxId: "s", config }, {});
  for await (const _event of channel.stream(RUNTIME_SERVICE.getContainerEvents, {}, {}));
  const { endpoint } = server;
  const base = { kind: "rpc", service: "RuntimeService", endpoint, durationMs: 0 };
  assert.deepEqual(
    only(events, "rpc").map(({ seq, id, causedBy, atMs, actor, level, ...fact }) => fact),
    [
      {
        ...base,
        method: "ListContainers",
        code: "OK",
        outcome: "2 containers",
        requestBody: { filter: { id: "a" } },
        responseBody: { containers: [{ id: "a" }, { id: "b" }] },
      },
      {
        ...base,
        method: "RemoveContainer",
        code: "Unimplemented",
        outcome: "method RemoveContainer not implemented",
        requestBody: { containerId: "a" },
      },
      {
        ...base,
        method: "CreateContainer",
        code: "OK",
        requestBody: { podSandboxId: "s", config: { envs: [{ key: "PASSWORD", value: "****" }] } },
        responseBody: { containerId: "c" },
      },
      { ...base, method: "GetContainerEvents", outcome: "streaming", requestBody: {} },
      {
        ...base,
        method: "GetContainerEvents",
        code: "OK",
        outcome: "the stream ended after 1 messages",
        requestBody: {},
      },
    ],
  );
});

test("an invalid response message is Internal", async () => {
  const h2 = createHttp2Server().on("stream", (stream) => {
    stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    stream.end(Buffer.from([0, 0, 0, 0, 3, 0x0a, 0x50, 0x61]));
  });
  const url = socketUrl();
  await new Promise<void>((resolve) => h2.listen(url.slice("unix://".length), resolve));
  const { channel } = openChannel(url);
  const result = await channel.call(RUNTIME_SERVICE.version, {}, {});
  assert.equal(
    result.outcome === "ok" ? "" : result.text,
    "rpc error: code = Internal desc = Response message parsing error: unexpected EOF",
  );
  await channel.close();
  await new Promise((resolve) => h2.close(resolve));
});
