import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type Client,
  credentials,
  loadPackageDefinition,
  Server,
  ServerCredentials,
  type ServiceClientConstructor,
  type ServiceError,
} from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { onTestFinished, test } from "vitest";
import { expectOk, RpcError } from "../../../src/staging/cri/grpc/status.js";
import { criProtoText } from "../../../src/staging/cri/proto-text.js";
import { RUNTIME_SERVICE } from "../../../src/staging/cri/services.js";
import { openChannel, socketUrl, startRuntime, temporaryFolder } from "./support.js";

/**
 * A client and a server that know nothing of our tables but their .proto text: what grpcurl and the like do.
 */
function loadServices() {
  const file = join(temporaryFolder(), "cri.proto");
  writeFileSync(file, criProtoText());
  const definition = loadSync(file, { keepCase: true, longs: String, enums: String, defaults: true, oneofs: true });
  const { v1 } = loadPackageDefinition(definition)["runtime"] as unknown as {
    v1: { RuntimeService: ServiceClientConstructor; ImageService: ServiceClientConstructor };
  };
  return v1;
}

type Call = (request: object, callback: (error: ServiceError | null, value: unknown) => void) => void;

/** Calls a method of a generated client by name. */
function ask(client: Client, method: string, request: object): Promise<unknown> {
  const call = (client as unknown as Record<string, Call>)[method];
  return new Promise((resolve, reject) => {
    call?.call(client, request, (error, value) => (error === null ? resolve(value) : reject(error)));
  });
}

function otherClient(Service: ServiceClientConstructor, endpoint: string): Client {
  const address = endpoint.startsWith("tcp://") ? endpoint.slice("tcp://".length) : endpoint;
  const client = new Service(address, credentials.createInsecure());
  onTestFinished(() => client.close());
  return client;
}

for (const endpoint of ["unix", "tcp"] as const) {
  test(`a generic client calls our server over ${endpoint}`, async () => {
    const server = await startRuntime(
      {
        listContainers: ({ filter }) => ({
          containers: [
            {
              id: "c1",
              state: 1,
              createdAt: 1_700_000_000_123_456_789n,
              labels: { ...filter?.labelSelector },
              metadata: { name: "節点", attempt: 2 },
            },
          ],
        }),
        containerStatus: ({ containerId }) => {
          throw new RpcError("NotFound", `container "${containerId}" not found`);
        },
        async *getContainerEvents() {
          yield { containerId: "c1", containerEventType: 3, createdAt: 5n };
        },
      },
      {
        image: { pullImage: ({ image, auth }) => ({ imageRef: `${image?.image}@${auth?.username}` }) },
        ...(endpoint === "tcp" ? { endpoint: "tcp://127.0.0.1:0" } : {}),
      },
    );
    const { RuntimeService, ImageService } = loadServices();
    const runtime = otherClient(RuntimeService, server.endpoint);
    const images = otherClient(ImageService, server.endpoint);
    assert.deepEqual(await ask(runtime, "ListContainers", { filter: { label_selector: { a: "b" } } }), {
      containers: [
        {
          id: "c1",
          pod_sandbox_id: "",
          metadata: { name: "節点", attempt: 2 },
          image: null,
          image_ref: "",
          state: "CONTAINER_RUNNING",
          created_at: "1700000000123456789",
          labels: { a: "b" },
          annotations: {},
          image_id: "",
        },
      ],
    });
    await assert.rejects(ask(runtime, "ContainerStatus", { container_id: "x" }), {
      code: 5,
      details: 'container "x" not found',
    });
    await assert.rejects(ask(runtime, "UpdateRuntimeConfig", {}), { code: 12 });
    assert.deepEqual(await ask(images, "PullImage", { image: { image: "nginx" }, auth: { username: "u" } }), {
      image_ref: "nginx@u",
    });
    const stream = (runtime as unknown as Record<string, (request: object) => AsyncIterable<unknown>>)[
      "GetContainerEvents"
    ]?.call(runtime, {});
    assert.ok(stream);
    for await (const event of stream) {
      assert.deepEqual(event, {
        container_id: "c1",
        container_event_type: "CONTAINER_DELETED_EVENT",
        created_at: "5",
        pod_sandbox_status: null,
        containers_statuses: [],
      });
    }
  });
}

test("our client calls a generic server", async () => {
  const { RuntimeService } = loadServices();
  const server = new Server();
  const { ListPodSandbox, StopContainer, GetContainerEvents } = RuntimeService.service;
  assert.ok(ListPodSandbox && StopContainer && GetContainerEvents);
  server.addService(
    { ListPodSandbox, StopContainer, GetContainerEvents },
    {
      ListPodSandbox: (call: { request: unknown }, callback: (error: null, value: unknown) => void) => {
        assert.deepEqual(call.request, {
          filter: { id: "", state: { state: "SANDBOX_NOTREADY" }, label_selector: {} },
        });
        callback(null, { items: [{ id: "s1", state: "SANDBOX_NOTREADY", created_at: "9007199254740993" }] });
      },
      StopContainer: (_call: unknown, callback: (error: object) => void) =>
        callback({ code: 9, details: "not while it is created" }),
      GetContainerEvents: (call: { write(value: unknown): void; end(): void }) => {
        call.write({ container_id: "a", pod_sandbox_status: { id: "s1", labels: { x: "y" } } });
        call.end();
      },
    },
  );
  const url = socketUrl();
  await new Promise<void>((resolve, reject) =>
    server.bindAsync(url, ServerCredentials.createInsecure(), (error) => (error === null ? resolve() : reject(error))),
  );
  onTestFinished(() => server.forceShutdown());
  const { channel } = openChannel(url);
  const request = { filter: { state: { state: 1 } } };
  const { items } = expectOk(await channel.call(RUNTIME_SERVICE.listPodSandbox, request, {}), "list");
  assert.deepEqual(
    items.map(({ id, state, createdAt }) => [id, state, createdAt]),
    [["s1", 1, 9_007_199_254_740_993n]],
  );
  const stopped = await channel.call(RUNTIME_SERVICE.stopContainer, {}, {});
  assert.equal(
    stopped.outcome === "ok" ? "" : stopped.text,
    "rpc error: code = FailedPrecondition desc = not while it is created",
  );
  for await (const event of channel.stream(RUNTIME_SERVICE.getContainerEvents, {}, {})) {
    assert.deepEqual(event.podSandboxStatus?.labels, { x: "y" });
  }
});
