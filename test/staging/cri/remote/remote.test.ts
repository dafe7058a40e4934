import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type {
  Decoded,
  DecodedFields,
  FieldTable,
  InitFields,
} from "../../../../src/staging/apimachinery/protobuf/fields.js";
import { CallCauses } from "../../../../src/staging/cri/call-causes.js";
import type { CriChannel } from "../../../../src/staging/cri/client.js";
import { parseEndpoint } from "../../../../src/staging/cri/grpc/endpoint.js";
import type { AnyRpc } from "../../../../src/staging/cri/grpc/rpc.js";
import type { CallOptions } from "../../../../src/staging/cri/grpc/running-call.js";
import { RpcError, type RpcResult, rpcFailure } from "../../../../src/staging/cri/grpc/status.js";
import { ContainerStatus } from "../../../../src/staging/cri/messages/container.js";
import { PodSandboxStatus } from "../../../../src/staging/cri/messages/sandbox.js";
import { RemoteImageService } from "../../../../src/staging/cri/remote/remote-image.js";
import { RemoteRuntimeService } from "../../../../src/staging/cri/remote/remote-runtime.js";
import { RemoteStats } from "../../../../src/staging/cri/remote/remote-stats.js";
import { verifyContainerStatus, verifySandboxStatus } from "../../../../src/staging/cri/remote/verify.js";

/** A channel that records calls, with canned answers. */
class FakeChannel implements CriChannel {
  readonly endpoint = parseEndpoint("unix:///fake.sock");
  readonly causes = new CallCauses();
  readonly asked: { readonly name: string; readonly timeoutMs: number | undefined; readonly request: object }[] = [];

  constructor(readonly answer: object | RpcError = {}) {}

  async call<Res extends FieldTable>(
    rpc: { readonly name: string; readonly response: { create(value: InitFields<Res>): DecodedFields<Res> } },
    request: object,
    options: CallOptions,
  ): Promise<RpcResult<DecodedFields<Res>>> {
    assert.ok(options.signal, "every call can be aborted");
    this.asked.push({ name: rpc.name, timeoutMs: options.timeoutMs, request });
    if (this.answer instanceof RpcError) return this.answer.failure;
    return { outcome: "ok", value: rpc.response.create(this.answer as InitFields<Res>) };
  }

  async *stream<Res extends FieldTable>(rpc: AnyRpc, request: object, { timeoutMs }: CallOptions) {
    this.asked.push({ name: rpc.name, timeoutMs, request });
    yield* [] as DecodedFields<Res>[];
  }

  async close(): Promise<void> {}
  async [Symbol.asyncDispose](): Promise<void> {}
}

const signal = new AbortController().signal;

/** Which call gets which deadline, with a request timeout of 100 s. */
describe("deadlines", () => {
  const runtime: readonly (readonly [string, number | undefined, (r: RemoteRuntimeService) => unknown])[] = [
    ["Version", 100_000, (r) => r.version("0.1.0", signal)],
    ["Status", 100_000, (r) => r.status(false, signal)],
    ["RunPodSandbox", 200_000, (r) => r.runPodSandbox({}, "", signal)],
    ["StopPodSandbox", 100_000, (r) => r.stopPodSandbox("s", signal)],
    ["RemovePodSandbox", 100_000, (r) => r.removePodSandbox("s", signal)],
    ["PodSandboxStatus", 100_000, (r) => r.podSandboxStatus("s", false, signal)],
    ["ListPodSandbox", 100_000, (r) => r.listPodSandbox(undefined, signal)],
    ["CreateContainer", 100_000, (r) => r.createContainer("s", {}, {}, signal)],
    ["StartContainer", 100_000, (r) => r.startContainer("c", signal)],
    ["StopContainer", 130_000, (r) => r.stopContainer("c", 30, signal)],
    ["StopContainer", 100_000, (r) => r.stopContainer("c", 0, signal)],
    ["RemoveContainer", 100_000, (r) => r.removeContainer("c", signal)],
    ["ListContainers", 100_000, (r) => r.listContainers(undefined, signal)],
    ["ContainerStatus", 100_000, (r) => r.containerStatus("c", false, signal)],
    ["UpdateContainerResources", 100_000, (r) => r.updateContainerResources("c", {}, signal)],
    ["ReopenContainerLog", 100_000, (r) => r.reopenContainerLog("c", signal)],
    ["ExecSync", undefined, (r) => r.execSync("c", ["true"], 0, signal)],
    ["ExecSync", 101_500, (r) => r.execSync("c", ["true"], 1_500, signal)],
    ["Exec", 100_000, (r) => r.exec({}, signal)],
    ["Attach", 100_000, (r) => r.attach({}, signal)],
    ["PortForward", 100_000, (r) => r.portForward({}, signal)],
    ["UpdateRuntimeConfig", 100_000, (r) => r.updateRuntimeConfig({}, signal)],
    ["RuntimeConfig", 100_000, (r) => r.runtimeConfig(signal)],
    ["CheckpointContainer", 100_000, (r) => r.checkpointContainer({ timeout: 5 }, signal)],
    ["CheckpointContainer", 300_000, (r) => r.checkpointContainer({ timeout: 300 }, signal)],
    ["GetContainerEvents", undefined, (r) => r.getContainerEvents(signal).next()],
  ];
  for (const [name, timeoutMs, call] of runtime) {
    test(`${name}: ${timeoutMs ?? "none"}`, async () => {
      const channel = new FakeChannel();
      await call(new RemoteRuntimeService(channel, 100_000));
      assert.deepEqual(
        channel.asked.map((one) => [one.name, one.timeoutMs]),
        [[name, timeoutMs]],
      );
    });
  }

  const images: readonly (readonly [string, number | undefined, (r: RemoteImageService) => unknown])[] = [
    ["ListImages", 100_000, (r) => r.listImages(undefined, signal)],
    ["ImageStatus", 100_000, (r) => r.imageStatus({}, false, signal)],
    ["PullImage", undefined, (r) => r.pullImage({}, undefined, undefined, signal)],
    ["RemoveImage", 100_000, (r) => r.removeImage({}, signal)],
    ["ImageFsInfo", undefined, (r) => r.imageFsInfo(signal)],
  ];
  for (const [name, timeoutMs, call] of images) {
    test(`${name}: ${timeoutMs ?? "none"}`, async () => {
      const channel = new FakeChannel();
      await call(new RemoteImageService(channel, 100_000));
      assert.deepEqual(
        channel.asked.map((one) => [one.name, one.timeoutMs]),
        [[name, timeoutMs]],
      );
    });
  }

  const stats: readonly (readonly [string, number | undefined, (r: RemoteStats) => unknown])[] = [
    ["ContainerStats", 100_000, (r) => r.containerStats("c", signal)],
    ["ListContainerStats", undefined, (r) => r.listContainerStats(undefined, signal)],
    ["PodSandboxStats", 100_000, (r) => r.podSandboxStats("s", signal)],
    ["ListPodSandboxStats", 100_000, (r) => r.listPodSandboxStats(undefined, signal)],
    ["ListMetricDescriptors", 100_000, (r) => r.listMetricDescriptors(signal)],
    ["ListPodSandboxMetrics", 100_000, (r) => r.listPodSandboxMetrics(signal)],
  ];
  for (const [name, timeoutMs, call] of stats) {
    test(`${name}: ${timeoutMs ?? "none"}`, async () => {
      const channel = new FakeChannel();
      await call(new RemoteStats(channel, 100_000));
      assert.deepEqual(
        channel.asked.map((one) => [one.name, one.timeoutMs]),
        [[name, timeoutMs]],
      );
    });
  }

  test("without another wish it is two minutes", async () => {
    const channel = new FakeChannel();
    await new RemoteRuntimeService(channel).startContainer("c", signal);
    await new RemoteImageService(channel).listImages(undefined, signal);
    assert.deepEqual(
      channel.asked.map(({ timeoutMs }) => timeoutMs),
      [120_000, 120_000],
    );
  });
});

describe("what is sent", () => {
  test("the grace period and the timeouts, in seconds", async () => {
    const channel = new FakeChannel();
    const remote = new RemoteRuntimeService(channel, 100_000);
    await remote.stopContainer("c", 30, signal);
    await remote.execSync("c", ["ls", "/"], 2_999, signal);
    await remote.checkpointContainer({ containerId: "c", location: "/x", timeout: 5 }, signal);
    assert.deepEqual(
      channel.asked.map(({ request }) => request),
      [
        { containerId: "c", timeout: 30 },
        { containerId: "c", cmd: ["ls", "/"], timeout: 2 },
        { containerId: "c", location: "/x", timeout: 100 },
      ],
    );
    const refused = await remote.checkpointContainer({ timeout: -1 }, signal);
    assert.equal(
      refused.outcome === "ok" ? "" : refused.text,
      "CheckpointContainer requires the timeout value to be > 0",
    );
    assert.equal(channel.asked.length, 3);
  });
});

/** Responses that upstream takes for errors, in its words. */
describe("what a response must have", () => {
  const table: readonly (readonly [string, object, (channel: CriChannel) => Promise<RpcResult<unknown>>])[] = [
    [
      "not all fields are set in VersionResponse",
      { version: "0.1.0", runtimeName: "x" },
      (c) => new RemoteRuntimeService(c).version("0.1.0", signal),
    ],
    [
      "RuntimeReady or NetworkReady condition are not set",
      { status: { conditions: [{ type: "RuntimeReady", status: true }] } },
      (c) => new RemoteRuntimeService(c).status(false, signal),
    ],
    [
      'PodSandboxId is not set for sandbox {"name":"p"}',
      {},
      (c) => new RemoteRuntimeService(c).runPodSandbox({ metadata: { name: "p" } }, "", signal),
    ],
    [
      'ContainerId is not set for container {"name":"c"}',
      {},
      (c) => new RemoteRuntimeService(c).createContainer("s", { metadata: { name: "c" } }, {}, signal),
    ],
    ["URL is not set", {}, (c) => new RemoteRuntimeService(c).exec({}, signal)],
    ["URL is not set", {}, (c) => new RemoteRuntimeService(c).attach({}, signal)],
    ["URL is not set", {}, (c) => new RemoteRuntimeService(c).portForward({}, signal)],
    ["status.Id is not set", { status: {} }, (c) => new RemoteRuntimeService(c).podSandboxStatus("s", false, signal)],
    ["status.Id is not set", { status: {} }, (c) => new RemoteRuntimeService(c).containerStatus("c", false, signal)],
    [
      'Id or size of image "x" is not set',
      { image: { id: "sha256:1" } },
      (c) => new RemoteImageService(c).imageStatus({ image: "x" }, false, signal),
    ],
    [
      'imageRef of image "x" is not set',
      {},
      (c) => new RemoteImageService(c).pullImage({ image: "x" }, undefined, undefined, signal),
    ],
  ];
  for (const [text, answer, call] of table) {
    test(text, async () => {
      const result = await call(new FakeChannel(answer));
      assert.deepEqual(result, { outcome: "failed", code: "Unknown", message: text, text });
    });
  }

  test("a status that is missing altogether is left to the caller", async () => {
    const remote = new RemoteRuntimeService(new FakeChannel({}));
    for (const result of [
      await remote.containerStatus("c", false, signal),
      await remote.podSandboxStatus("s", false, signal),
    ]) {
      assert.ok(result.outcome === "ok" && result.value.status === undefined);
    }
    const images = await new RemoteImageService(new FakeChannel({})).imageStatus({ image: "x" }, false, signal);
    assert.ok(images.outcome === "ok" && images.value.image === undefined);
  });

  test("failures pass through; the error of a timed-out exec names its command", async () => {
    const gone = new RemoteRuntimeService(new FakeChannel(new RpcError("NotFound", "no such container")));
    assert.deepEqual(await gone.containerStatus("c", false, signal), rpcFailure("NotFound", "no such container"));
    const late = new RemoteRuntimeService(new FakeChannel(new RpcError("DeadlineExceeded", "late")));
    const result = await late.execSync("c", ["sleep", "5"], 1_000, signal);
    assert.ok(result.outcome === "timed-out");
    assert.equal(result.text, 'command "sleep 5" timed out');
  });
});

const sandbox = {
  id: "s",
  metadata: { name: "p", namespace: "default", uid: "u" },
  createdAt: 1n,
};
const container = { id: "c", metadata: { name: "c" }, createdAt: 1n, image: { image: "x" }, imageRef: "x@1" };

const sandboxes = [
  [undefined, {}],
  ["status.Id is not set", { id: "" }],
  ["status.Metadata is not set", { metadata: undefined }],
  ["metadata.Name, metadata.Namespace or metadata.Uid is not in metadata", { metadata: { name: "p", uid: "u" } }],
  ["status.CreatedAt is not set", { createdAt: 0n }],
] as const;
for (const [want, change] of sandboxes) {
  test(`verifySandboxStatus: ${want ?? "nothing is missing"}`, () => {
    const seen = verifySandboxStatus(PodSandboxStatus.create({ ...sandbox, ...change }));
    assert.equal(seen?.slice(0, want?.length), want);
  });
}

const containers = [
  [undefined, {}],
  ["status.Id is not set", { id: "" }],
  ["status.Metadata is not set", { metadata: undefined }],
  ["metadata.Name is not in metadata", { metadata: { attempt: 1 } }],
  ["status.CreatedAt is not set", { createdAt: 0n }],
  ["status.Image is not set", { image: undefined }],
  ["status.Image is not set", { image: {} }],
  ["status.ImageRef is not set", { imageRef: "" }],
] as const;
for (const [want, change] of containers) {
  test(`verifyContainerStatus: ${want ?? "nothing is missing"} (${Object.keys(change)})`, () => {
    const status: Decoded<typeof ContainerStatus> = ContainerStatus.create({ ...container, ...change });
    assert.equal(verifyContainerStatus(status)?.slice(0, want?.length), want);
  });
}
