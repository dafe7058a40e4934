import { describe, expect, test } from "vitest";
import { KubeRuntime } from "../../../src/kubelet/kuberuntime/kube-runtime.js";
import type { ListedContainer, ListedSandbox, PodReader } from "../../../src/kubelet/kuberuntime/runtime-service.js";
import type { Init } from "../../../src/staging/apimachinery/protobuf/fields.js";
import { type RpcResult, rpcFailure } from "../../../src/staging/cri/grpc/status.js";
import { CONTAINER_NAME_LABEL, POD_UID_LABEL } from "../../../src/staging/cri/labels.js";
import type { ContainerStatus } from "../../../src/staging/cri/messages/container.js";
import { ContainerEventResponse, ContainerStatusResponse } from "../../../src/staging/cri/messages/container-calls.js";
import { ContainerState, NamespaceMode, PodSandboxState } from "../../../src/staging/cri/messages/enums.js";
import { PodSandboxStatusResponse } from "../../../src/staging/cri/messages/sandbox.js";
import { container, pod, sandbox, signal } from "./listed.js";

/** Answers from tables; what is in neither is not found. */
class TableReader implements PodReader {
  sandboxes: ListedSandbox[] = [];
  containers: ListedContainer[] = [];
  readonly filters: unknown[] = [];
  readonly sandboxStatuses = new Map<string, Init<typeof PodSandboxStatusResponse> | Error>();
  readonly containerStatuses = new Map<string, Init<typeof ContainerStatus>>();

  async listPodSandbox(filter: unknown): Promise<RpcResult<readonly ListedSandbox[]>> {
    this.filters.push(filter);
    return { outcome: "ok", value: this.sandboxes };
  }
  async listContainers(filter: unknown): Promise<RpcResult<readonly ListedContainer[]>> {
    this.filters.push(filter);
    return { outcome: "ok", value: this.containers };
  }
  async podSandboxStatus(id: string) {
    const found = this.sandboxStatuses.get(id);
    if (found === undefined) return rpcFailure("NotFound", `no sandbox ${id}`);
    if (found instanceof Error) return rpcFailure("Unknown", found.message);
    return { outcome: "ok", value: PodSandboxStatusResponse.create(found) } as const;
  }
  async containerStatus(id: string) {
    const status = this.containerStatuses.get(id);
    if (status === undefined) return rpcFailure("NotFound", `no container ${id}`);
    return { outcome: "ok", value: ContainerStatusResponse.create({ status }) } as const;
  }
  async *getContainerEvents(): AsyncGenerator<never> {}
}

function sandboxStatus(
  id: string,
  { state = PodSandboxState.SANDBOX_READY as number, createdAt = 1n, ip = "10.0.0.1", more = [] as string[] } = {},
) {
  return {
    status: {
      id,
      state,
      createdAt,
      metadata: { name: "web", uid: "u1", namespace: "default" },
      network: { ip, additionalIps: more.map((one) => ({ ip: one })) },
    },
  };
}

function containerStatus(
  id: string,
  state: number,
  rest: Init<typeof ContainerStatus> = {},
): Init<typeof ContainerStatus> {
  return {
    id,
    state,
    metadata: { name: id },
    image: { image: "nginx" },
    imageRef: "sha256:1",
    createdAt: 5_000_000n,
    startedAt: 6_000_000n,
    finishedAt: 7_000_000n,
    exitCode: 9,
    reason: "Error",
    message: "said",
    labels: { [CONTAINER_NAME_LABEL]: `name-${id}` },
    ...rest,
  };
}

describe("getPods", () => {
  test("requests both lists without a filter, or only running items", async () => {
    const reader = new TableReader();
    const runtime = new KubeRuntime({ service: reader });
    await runtime.getPods(true, signal);
    await runtime.getPods(false, signal);
    expect(reader.filters).toEqual([
      {},
      {},
      { state: { state: PodSandboxState.SANDBOX_READY } },
      { state: { state: ContainerState.CONTAINER_RUNNING } },
    ]);
  });
  test("a failing list is thrown as Go prints it", async () => {
    const reader = new TableReader();
    reader.listContainers = async () => rpcFailure("Unavailable", "no socket");
    await expect(new KubeRuntime({ service: reader }).getPods(true, signal)).rejects.toThrow(
      "rpc error: code = Unavailable desc = no socket",
    );
  });
});

describe("getPodStatus", () => {
  function setUp() {
    const reader = new TableReader();
    return { reader, runtime: new KubeRuntime({ service: reader, files: { readTail: async () => undefined } }) };
  }

  test("requests only this pod, by its uid", async () => {
    const { reader, runtime } = setUp();
    expect(await runtime.getPodStatus(pod, signal)).toEqual({
      ...pod,
      ips: [],
      sandboxStatuses: [],
      containerStatuses: [],
    });
    expect(reader.filters).toEqual([
      { labelSelector: { [POD_UID_LABEL]: "u1" } },
      { labelSelector: { [POD_UID_LABEL]: "u1" } },
    ]);
  });

  test("fields that a state does not have are not there", async () => {
    const { reader, runtime } = setUp();
    reader.containers = ["created", "running", "exited", "odd"].map((id) => container(id));
    reader.containerStatuses.set("created", containerStatus("created", 0));
    reader.containerStatuses.set("running", containerStatus("running", 1));
    reader.containerStatuses.set("exited", containerStatus("exited", 2));
    reader.containerStatuses.set("odd", containerStatus("odd", 42));
    const { containerStatuses } = await runtime.getPodStatus(pod, signal);
    const common = { createdAtMs: 5, image: "nginx", imageId: "sha256:1", hash: 0, restartCount: 0 };
    expect(containerStatuses).toEqual([
      { ...common, containerId: "created", name: "name-created", state: "created", exitCode: 0 },
      { ...common, containerId: "running", name: "name-running", state: "running", exitCode: 0, startedAtMs: 6 },
      {
        ...common,
        containerId: "exited",
        name: "name-exited",
        state: "exited",
        exitCode: 9,
        startedAtMs: 6,
        finishedAtMs: 7,
        reason: "Error",
        message: "said",
      },
      { ...common, containerId: "odd", name: "name-odd", state: "unknown", exitCode: 0, startedAtMs: 6 },
    ]);
  });

  test("the newest sandbox comes first, and gives the addresses if it is ready", async () => {
    const { reader, runtime } = setUp();
    reader.sandboxes = [sandbox("old", 0, 1n), sandbox("new", 0, 2_000n)];
    reader.sandboxStatuses.set("old", sandboxStatus("old", { createdAt: 1n, ip: "10.0.0.1" }));
    reader.sandboxStatuses.set("new", sandboxStatus("new", { createdAt: 2_000n, ip: "10.0.0.2", more: ["fd00::2"] }));
    const status = await runtime.getPodStatus(pod, signal);
    expect([status.sandboxStatuses.map(({ sandboxId }) => sandboxId), status.ips]).toEqual([
      ["new", "old"],
      ["10.0.0.2", "fd00::2"],
    ]);
    reader.sandboxStatuses.set(
      "new",
      sandboxStatus("new", { createdAt: 2_000n, state: PodSandboxState.SANDBOX_NOTREADY }),
    );
    expect((await runtime.getPodStatus(pod, signal)).ips).toEqual([]);
  });

  for (const [what, ip, more] of [
    ["an address that is none", "10.0.0.256", []],
    ["a second address that is none", "10.0.0.1", ["fd00::zz"]],
    ["no address: the host's network", "", []],
  ] as const) {
    test(`${what} gives no addresses`, async () => {
      const { reader, runtime } = setUp();
      reader.sandboxes = [sandbox("s1")];
      reader.sandboxStatuses.set("s1", sandboxStatus("s1", { ip, more: [...more] }));
      expect((await runtime.getPodStatus(pod, signal)).ips).toEqual([]);
    });
  }

  test("what goes away after it was listed is left out; other failures end it", async () => {
    const { reader, runtime } = setUp();
    reader.sandboxes = [sandbox("gone"), sandbox("s1")];
    reader.containers = [container("gone"), container("c1")];
    reader.sandboxStatuses.set("s1", sandboxStatus("s1"));
    reader.containerStatuses.set("c1", containerStatus("c1", 1));
    const status = await runtime.getPodStatus(pod, signal);
    expect([status.sandboxStatuses.length, status.containerStatuses.length]).toEqual([1, 1]);
    reader.sandboxStatuses.set("s1", new Error("shim is dead"));
    await expect(runtime.getPodStatus(pod, signal)).rejects.toThrow("rpc error: code = Unknown desc = shim is dead");
  });

  test("a response without a status is an error, not a crash", async () => {
    const { reader, runtime } = setUp();
    reader.sandboxes = [sandbox("s1")];
    reader.sandboxStatuses.set("s1", {});
    await expect(runtime.getPodStatus(pod, signal)).rejects.toThrow("pod sandbox status is nil");
  });

  test("a listed pod is not listed again, and gives the same", async () => {
    const { reader, runtime } = setUp();
    reader.sandboxes = [sandbox("old", 1, 1n), sandbox("s1", 0, 5n)];
    reader.containers = [container("c1")];
    reader.sandboxStatuses.set("old", sandboxStatus("old", { state: 1 }));
    reader.sandboxStatuses.set("s1", sandboxStatus("s1", { createdAt: 5n }));
    reader.containerStatuses.set("c1", containerStatus("c1", 1));
    const [listed] = await runtime.getPods(true, signal);
    if (listed === undefined) throw new Error("no pod");
    reader.filters.length = 0;
    const status = await runtime.getListedPodStatus(listed, signal);
    expect(reader.filters).toEqual([]);
    expect(status).toEqual(await runtime.getPodStatus(listed, signal));
  });
});

describe("generatePodStatus", () => {
  const runtime = new KubeRuntime({ service: new TableReader(), files: { readTail: async () => undefined } });
  test("takes everything from the event", async () => {
    const { status } = sandboxStatus("s1");
    const event = ContainerEventResponse.create({
      containerId: "c1",
      podSandboxStatus: { ...status, linux: { namespaces: { options: { network: NamespaceMode.NODE } } } },
      containersStatuses: [containerStatus("c1", 1)],
    });
    expect(await runtime.generatePodStatus(event)).toMatchObject({
      podUid: "u1",
      ips: ["10.0.0.1"],
      sandboxStatuses: [{ sandboxId: "s1", state: "ready", usesHostNetwork: true }],
      containerStatuses: [{ containerId: "c1", state: "running" }],
    });
  });
  for (const [what, podSandboxStatus] of [
    ["no sandbox", undefined],
    ["a sandbox without metadata", { id: "s1" }],
  ] as const) {
    test(`${what}: its pod is unknown`, async () => {
      expect(await runtime.generatePodStatus(ContainerEventResponse.create({ podSandboxStatus }))).toBeUndefined();
    });
  }
});
