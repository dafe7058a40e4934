import { describe, expect, test } from "vitest";
import type { ContainerStatus } from "../../../src/cri/messages/container.js";
import { ContainerEventResponse, ContainerStatusResponse } from "../../../src/cri/messages/container-calls.js";
import { ContainerState, NamespaceMode, PodSandboxState } from "../../../src/cri/messages/enums.js";
import { PodSandboxStatusResponse } from "../../../src/cri/messages/sandbox.js";
import { type RpcResult, rpcFailure } from "../../../src/cri/status.js";
import { KubeRuntime } from "../../../src/kubelet/kuberuntime/kube-runtime.js";
import {
  CONTAINER_NAME_LABEL,
  getContainerInfoFromAnnotations,
  newContainerAnnotations,
  newContainerLabels,
  newPodLabels,
  POD_NAME_LABEL,
  POD_NAMESPACE_LABEL,
  POD_UID_LABEL,
} from "../../../src/kubelet/kuberuntime/labels.js";
import { groupIntoPods, PodGrouper } from "../../../src/kubelet/kuberuntime/pods.js";
import type { ListedContainer, ListedSandbox, PodReader } from "../../../src/kubelet/kuberuntime/runtime-service.js";
import type { Init } from "../../../src/protobuf/fields.js";

const signal = new AbortController().signal;
const pod = { podUid: "u1", name: "web", namespace: "default" };

function sandbox(id: string, state = 0, createdAt = 1n, uid = "u1"): ListedSandbox {
  return { id, state, createdAt, metadata: { name: `pod-${uid}`, uid, namespace: "default" } };
}

function container(id: string, state = 1, uid: string | null = "u1"): ListedContainer {
  const labels = { [POD_UID_LABEL]: uid, [POD_NAME_LABEL]: `pod-${uid}`, [POD_NAMESPACE_LABEL]: "default" };
  return {
    id,
    state,
    image: {},
    metadata: { name: `name-${id}` },
    labels: uid === null ? {} : (labels as Record<string, string>),
  };
}

describe("groupIntoPods", () => {
  /** `uid[containers|sandboxes]` with each one's state */
  const text = (sandboxes: ListedSandbox[], containers: ListedContainer[]) =>
    groupIntoPods(sandboxes, containers).map(({ podUid, containers: own, sandboxes: homes }) => {
      const list = (items: typeof own) => items.map(({ containerId, state }) => `${containerId}:${state}`).join(",");
      return `${podUid}[${list(own)}|${list(homes)}]`;
    });

  const table: readonly [string, ListedSandbox[], ListedContainer[], string[]][] = [
    [
      "a pod of a sandbox and two containers",
      [sandbox("s1")],
      [container("c1"), container("c2", 2)],
      ["u1[c1:running,c2:exited|s1:running]"],
    ],
    ["two sandboxes with one uid are one pod", [sandbox("s1", 1), sandbox("s2")], [], ["u1[|s1:exited,s2:running]"]],
    [
      "the newest pod comes first",
      [sandbox("s1", 0, 1n, "old"), sandbox("s2", 0, 2n, "new")],
      [],
      ["new[|s2:running]", "old[|s1:running]"],
    ],
    ["a container whose sandbox is gone", [], [container("c1", 2)], ["u1[c1:exited|]"]],
    ["a sandbox without metadata is left out", [{ ...sandbox("s1"), metadata: undefined }], [], []],
    ["a container without metadata is left out", [], [{ ...container("c1"), metadata: undefined }], []],
    ["a container without labels belongs to a pod without a uid", [], [container("c1", 1, null)], ["[c1:running|]"]],
    [
      "all such containers are one pod",
      [],
      [container("c1", 1, null), container("c2", 1, null)],
      ["[c1:running,c2:running|]"],
    ],
    [
      "a container without an image is left out, its pod is not",
      [],
      [{ ...container("c1"), image: undefined }],
      ["u1[|]"],
    ],
    ["an entry without an ID is left out, its pod is not", [sandbox("")], [container("")], ["u1[|]"]],
    ["states of tomorrow are unknown", [sandbox("s1", 7)], [container("c1", 9)], ["u1[c1:unknown|s1:unknown]"]],
    ["created and unknown containers", [], [container("c1", 0), container("c2", 3)], ["u1[c1:created,c2:unknown|]"]],
  ];
  for (const [name, sandboxes, containers, want] of table) {
    test(name, () => expect(text(sandboxes, containers)).toEqual(want));
  }
  test("a label called __proto__ is only a label", () => {
    const labels = JSON.parse(`{"__proto__":"x","${POD_UID_LABEL}":"u1"}`) as Record<string, string>;
    expect(groupIntoPods([], [{ ...container("c1"), labels }])).toHaveLength(1);
  });
});

describe("PodGrouper", () => {
  test("what has not changed is the same object, whatever the order of the lists", () => {
    const grouper = new PodGrouper();
    const [s1, s2] = [sandbox("s1", 0, 1n, "u1"), sandbox("s2", 0, 2n, "u2")];
    const first = grouper.group([s1, s2], [container("c1"), container("c2", 1, "u2")]);
    const same = grouper.group([{ ...s2 }, { ...s1 }], [container("c1"), container("c2", 1, "u2")]);
    expect(same.every((pod, i) => pod === first[i])).toBe(true);
    const changed = grouper.group([s1, s2], [container("c1", 2), container("c2", 1, "u2")]);
    expect([changed[0] === first[0], changed[1] === first[1]]).toEqual([true, false]);
    expect(changed[1]?.containers).toEqual([{ containerId: "c1", name: "name-c1", state: "exited" }]);
  });
  test("the same lists give the same pods", () => {
    const grouper = new PodGrouper();
    const [sandboxes, containers] = [[sandbox("s1")], [container("c1")]];
    expect(grouper.group(sandboxes, containers)).toBe(grouper.group(sandboxes, containers));
    expect(grouper.group([...sandboxes], [...containers])).toBe(grouper.group(sandboxes, containers));
    expect(grouper.group(sandboxes, [])).toHaveLength(1);
  });
  for (const [what, change] of [
    ["name", { name: "other", uid: "u1", namespace: "default" }],
    ["namespace", { name: "pod-u1", uid: "u1", namespace: "other" }],
  ] as const) {
    test(`another ${what} of the same pod is a change`, () => {
      const grouper = new PodGrouper();
      grouper.group([sandbox("s1")], []);
      const [pod] = grouper.group([{ ...sandbox("s1"), metadata: change }], []);
      expect([pod?.name, pod?.namespace]).toEqual([change.name, change.namespace]);
    });
  }
});

describe("labels and annotations", () => {
  const owner = {
    metadata: { name: "web", namespace: "default", uid: "u1", labels: { app: "web", [POD_UID_LABEL]: "lie" } },
    spec: { terminationGracePeriodSeconds: 0 },
  };
  test("a sandbox carries the pod's labels, the kubelet's own win", () => {
    expect(newPodLabels(owner)).toEqual({
      app: "web",
      [POD_NAME_LABEL]: "web",
      [POD_NAMESPACE_LABEL]: "default",
      [POD_UID_LABEL]: "u1",
    });
  });
  test("a container carries whose it is, not the pod's labels", () => {
    expect(newContainerLabels({ name: "app" }, owner)).toEqual({
      [CONTAINER_NAME_LABEL]: "app",
      [POD_NAME_LABEL]: "web",
      [POD_NAMESPACE_LABEL]: "default",
      [POD_UID_LABEL]: "u1",
    });
  });
  test("a container's annotations are read back as written", () => {
    const spec = {
      name: "app",
      terminationMessagePath: "/dev/termination-log",
      terminationMessagePolicy: "File",
      lifecycle: { preStop: { exec: { command: ["sync"] } } },
      ports: [{ containerPort: 80 }],
    };
    const annotations = newContainerAnnotations(spec, owner, { restartCount: 3, hash: 0xabcdef12 });
    expect(annotations).toEqual({
      "io.kubernetes.container.hash": "abcdef12",
      "io.kubernetes.container.restartCount": "3",
      "io.kubernetes.container.terminationMessagePath": "/dev/termination-log",
      "io.kubernetes.container.terminationMessagePolicy": "File",
      "io.kubernetes.container.preStopHandler": '{"exec":{"command":["sync"]}}',
      "io.kubernetes.container.ports": '[{"containerPort":80}]',
      "io.kubernetes.pod.terminationGracePeriod": "0",
    });
    expect(getContainerInfoFromAnnotations(annotations)).toEqual({
      hash: 0xabcdef12,
      restartCount: 3,
      terminationMessagePath: "/dev/termination-log",
      terminationMessagePolicy: "File",
    });
  });
  for (const nonsense of ["", "x", "0x10", "1g", "-", " 7"]) {
    test(`the hash ${JSON.stringify(nonsense)} counts as none`, () => {
      expect(getContainerInfoFromAnnotations({ "io.kubernetes.container.hash": nonsense }).hash).toBe(0);
    });
  }
});

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
  test("asks both lists without a filter, or for what runs", async () => {
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

  test("asks for this pod only, by its uid", async () => {
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
    test(`${what}: nobody knows whose it is`, async () => {
      expect(await runtime.generatePodStatus(ContainerEventResponse.create({ podSandboxStatus }))).toBeUndefined();
    });
  }
});
