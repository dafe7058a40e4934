import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type Client,
  credentials,
  loadPackageDefinition,
  type ServiceClientConstructor,
  type ServiceError,
} from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { afterAll, beforeAll, test } from "vitest";
import { type RunningRuntime, startRuntime } from "../../../src/cluster/runtime/start.js";
import { v1alpha2Of } from "../../../src/staging/cri/grpc/rpc.js";
import { expectOk } from "../../../src/staging/cri/grpc/status.js";
import { criProtoText } from "../../../src/staging/cri/proto-text.js";
import { RUNTIME_SERVICE } from "../../../src/staging/cri/services.js";
import { Trace } from "../../../src/trace/trace.js";
import { SystemClock } from "../../../src/util/clock.js";
import { SystemRandom } from "../../../src/util/random.js";
import { openChannel } from "../../staging/cri/support.js";
import { newFolder } from "./lab.js";

/**
 * The runtime as a generic client sees it, with only the .proto file: names in snake_case, enums and 64 bit numbers as
 * texts, as grpcurl shows them.
 */
type Values = Readonly<Record<string, unknown>>;
type Call = (request: object, callback: (error: ServiceError | null, value: Values) => void) => void;
interface Stream extends AsyncIterable<Values> {
  cancel(): void;
}

let running: RunningRuntime;
let runtime: Client;
let images: Client;
beforeAll(async () => {
  const clock = new SystemClock();
  running = await startRuntime({ clock, random: new SystemRandom(), trace: new Trace(clock), pullMs: 1 });
  const file = join(newFolder(), "cri.proto");
  writeFileSync(file, criProtoText());
  const definition = loadSync(file, { keepCase: true, longs: String, enums: String, defaults: true, oneofs: true });
  const { v1 } = loadPackageDefinition(definition)["runtime"] as unknown as {
    v1: Readonly<Record<"RuntimeService" | "ImageService", ServiceClientConstructor>>;
  };
  const insecure = credentials.createInsecure();
  runtime = new v1.RuntimeService(running.endpoint, insecure);
  images = new v1.ImageService(running.endpoint, insecure);
});
afterAll(async () => {
  runtime.close();
  images.close();
  await running.close();
});

function ask(client: Client, method: string, request: object = {}): Promise<Values> {
  const call = (client as unknown as Readonly<Record<string, Call>>)[method];
  return new Promise((resolve, reject) => {
    call?.call(client, request, (error, value) => (error === null ? resolve(value) : reject(error)));
  });
}

test("a pod from its image to its removal, with its events, log and statistics", async () => {
  const stream = (runtime as unknown as Readonly<Record<string, (request: object) => Stream>>)["GetContainerEvents"]?.(
    {},
  );
  const events: string[] = [];
  const listening = (async () => {
    try {
      for await (const event of stream ?? []) events.push(String(event["container_event_type"]));
    } catch (error) {
      assert.match(String(error), /CANCELLED/);
    }
  })();
  assert.equal((await ask(runtime, "Version")).runtime_name, "kubelab");
  const { image_ref } = await ask(images, "PullImage", { image: { image: "busybox:1.36" } });
  assert.match(String(image_ref), /^sha256:[0-9a-f]{64}$/);
  const config = {
    metadata: { name: "web", namespace: "default", uid: "u1" },
    log_directory: newFolder(),
    labels: { app: "web" },
  };
  const { pod_sandbox_id } = await ask(runtime, "RunPodSandbox", { config });
  const { container_id } = await ask(runtime, "CreateContainer", {
    pod_sandbox_id,
    sandbox_config: config,
    config: {
      metadata: { name: "main", attempt: 2 },
      image: { image: "busybox:1.36" },
      command: ["sh", "-c", 'echo "hello $WHO"; exec sleep 600'],
      envs: [{ key: "WHO", value: "世界" }],
      log_path: "main.log",
    },
  });
  await ask(runtime, "StartContainer", { container_id });
  const exec = await ask(runtime, "ExecSync", { container_id, cmd: ["sh", "-c", "echo $WHO; exit 5"], timeout: 10 });
  assert.deepEqual([String(exec.stdout), exec.exit_code], ["世界\n", 5]);
  const { containers } = await ask(runtime, "ListContainers", {
    filter: { pod_sandbox_id, state: { state: "CONTAINER_RUNNING" } },
  });
  assert.deepEqual(
    (containers as Values[]).map(({ id, state }) => [id, state]),
    [[container_id, "CONTAINER_RUNNING"]],
  );
  const { items } = await ask(runtime, "ListPodSandbox", { filter: { label_selector: { app: "web" } } });
  assert.equal((items as Values[]).length, 1);
  const { stats } = await ask(runtime, "ContainerStats", { container_id });
  assert.ok(Number((stats as { memory: { working_set_bytes: { value: string } } }).memory.working_set_bytes.value) > 0);
  await ask(runtime, "StopContainer", { container_id });
  const { status } = await ask(runtime, "ContainerStatus", { container_id, verbose: true });
  const { state, exit_code, reason, started_at, finished_at } = status as Values;
  assert.deepEqual([state, exit_code, reason], ["CONTAINER_EXITED", 137, "Error"]);
  assert.ok(BigInt(String(finished_at)) > BigInt(String(started_at)));
  assert.match(readFileSync(join(config.log_directory, "main.log"), "utf8"), /^\S+Z stdout F hello 世界\n$/);
  await ask(runtime, "RemovePodSandbox", { pod_sandbox_id });
  await assert.rejects(ask(runtime, "ContainerStatus", { container_id }), { code: 5 });
  stream?.cancel();
  await listening;
  assert.equal(
    events.map((name) => name.replace(/^CONTAINER_|_EVENT$/g, "")).join(" "),
    "CREATED STARTED CREATED STARTED STOPPED STOPPED DELETED DELETED",
  );
});

const EVERY_CALL: readonly (readonly [string, () => Client])[] = [
  ...[
    "Version",
    "Status",
    "RuntimeConfig",
    "ListPodSandbox",
    "ListContainers",
    "ListContainerStats",
    "ListPodSandboxStats",
    "ListMetricDescriptors",
    "ListPodSandboxMetrics",
    "UpdateRuntimeConfig",
  ].map((name) => [name, () => runtime] as const),
  ...["ListImages", "ImageFsInfo"].map((name) => [name, () => images] as const),
];
for (const [name, client] of EVERY_CALL) {
  test(`${name} without arguments is answered`, async () => {
    await ask(client(), name);
  });
}

test("invalid UTF-8 and unknown fields cause no error", async () => {
  const bytes = Buffer.from([0x0a, 0x04, 0x0a, 0x02, 0xff, 0xfe, 0xfa, 0x3f, 0x01, 0x61]);
  const answer = await new Promise<Error | undefined>((resolve) => {
    const path = "/runtime.v1.RuntimeService/ListContainers";
    runtime.makeUnaryRequest(
      path,
      () => bytes,
      (value: Buffer) => value,
      {},
      (error) => resolve(error ?? undefined),
    );
  });
  assert.equal(answer, undefined);
  const broken = await new Promise<ServiceError | null>((resolve) => {
    const path = "/runtime.v1.RuntimeService/ListContainers";
    runtime.makeUnaryRequest(
      path,
      () => Buffer.from([0x0a, 0xff]),
      (value: Buffer) => value,
      {},
      resolve,
    );
  });
  assert.ok(broken !== null, "what is no message is refused");
  await ask(runtime, "Version");
});

test("clients of v1alpha2 and v1 see the same sandboxes", async () => {
  const { channel } = openChannel(running.endpoint);
  const { version, runPodSandbox } = RUNTIME_SERVICE;
  const answer = expectOk(await channel.call(v1alpha2Of(version), {}, {}), "get the version");
  assert.equal(answer.runtimeApiVersion, "v1alpha2");
  assert.equal((await ask(runtime, "Version"))["runtime_api_version"], "v1");
  const config = { metadata: { name: "old", namespace: "default", uid: "u-old", attempt: 0 } };
  const { podSandboxId } = expectOk(await channel.call(v1alpha2Of(runPodSandbox), { config }, {}), "run a sandbox");
  const { items } = await ask(runtime, "ListPodSandbox", { filter: { id: podSandboxId } });
  assert.equal((items as readonly unknown[]).length, 1);
  await ask(runtime, "RemovePodSandbox", { pod_sandbox_id: podSandboxId });
});
