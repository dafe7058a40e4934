import { join } from "node:path";
import { expect, test } from "vitest";
import { ContainerState } from "../../src/staging/cri/messages/enums.js";
import { readTrace } from "../../src/trace/file/read-trace.js";
import { assertCauses } from "../support/causes.js";
import { BUSYBOX_IMAGE } from "../support/containerd.js";
import { containerdCluster } from "../support/containerd-cluster.js";
import { assertInOrder, PodChain } from "../support/pod-chain.js";
import { suiteNeeding } from "../support/requirements.js";

const { signal } = new AbortController();
const LIMIT_MS = 150_000;
const image = { image: BUSYBOX_IMAGE, imagePullPolicy: "Never" };
const serve = "trap 'sleep 1; exit 0' TERM; while true; do sleep 0.2; done";

/** There is no network but the host's, so the node is not Ready for others: the pod is bound to it and tolerates that. */
const POD = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "whole" },
  spec: {
    hostNetwork: true,
    nodeName: "node-1",
    tolerations: [{ operator: "Exists" }],
    terminationGracePeriodSeconds: 20,
    volumes: [{ name: "shared", emptyDir: {} }],
    initContainers: [
      {
        name: "first",
        ...image,
        command: ["sh", "-c", "echo made > /shared/by-init"],
        volumeMounts: [{ name: "shared", mountPath: "/shared" }],
      },
    ],
    containers: [
      {
        name: "a",
        ...image,
        // Exits once, with 3; after the restart it keeps running.
        command: [
          "sh",
          "-c",
          `cat /shared/by-init; [ -e /shared/again ] || { touch /shared/again; sleep 1; exit 3; }; ${serve}`,
        ],
        volumeMounts: [{ name: "shared", mountPath: "/shared" }],
      },
      { name: "b", ...image, command: ["sh", "-c", serve] },
    ],
  },
};

/** Lists what it sees of its volumes as user 1000. */
const VOLUMES_POD = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "volumes" },
  spec: {
    hostNetwork: true,
    nodeName: "node-1",
    tolerations: [{ operator: "Exists" }],
    restartPolicy: "Never",
    securityContext: { runAsUser: 1000, fsGroup: 1001 },
    volumes: [
      { name: "keys", secret: { secretName: "keys", defaultMode: 0o440 } },
      { name: "memory", emptyDir: { medium: "Memory" } },
    ],
    containers: [
      {
        name: "c",
        ...image,
        command: [
          "sh",
          "-c",
          "cat /keys/password; echo; ls -lnL /keys/password; cat /proc/mounts; echo > /memory/new; ls -ln /memory/new",
        ],
        volumeMounts: [
          { name: "keys", mountPath: "/keys" },
          { name: "memory", mountPath: "/memory" },
        ],
      },
    ],
  },
};

suiteNeeding(["kubectl", "containerd", "busybox-static", "root"], "kubelab node on containerd", () => {
  const cluster = containerdCluster((folder) => ["--trace", join(folder, "cluster.ndjson")]);
  const { home, start, kubectl, create } = cluster;
  const field = (path: string) => kubectl("get", "pod", "whole", "-o", `jsonpath=${path}`);

  /** ID and state of each container of the pod, oldest first. */
  async function containers(): Promise<readonly string[]> {
    const list = await cluster.containerd.client.runtime.listContainers(undefined, signal);
    if (list.outcome !== "ok") throw new Error(list.text);
    const states = Object.fromEntries(Object.entries(ContainerState).map(([name, value]) => [value, name]));
    return list.value
      .filter(({ labels }) => labels["io.kubernetes.pod.name"] === "whole")
      .sort((x, y) => (x.createdAt < y.createdAt ? -1 : 1))
      .map(({ id, labels, state }) => `${labels["io.kubernetes.container.name"]} ${states[state]} ${id}`);
  }

  test(
    "init container, two containers, a restart; killed with -9 and started again; deleted with its grace",
    async () => {
      const first = start("node", "--cri", cluster.containerd.endpoint);
      await first.printed(/^kubectl/m);
      await create(POD);
      await kubectl(
        "wait",
        "--for=jsonpath={.status.containerStatuses[0].restartCount}=1",
        "pod/whole",
        "--timeout=40s",
      );
      await kubectl("wait", "--for=condition=Ready", "pod/whole", "--timeout=40s");
      expect(await field("{.status.initContainerStatuses[0].state.terminated.reason}")).toBe("Completed");
      expect(await field("{.status.containerStatuses[0].lastState.terminated.exitCode}")).toBe("3");
      expect(await field("{.status.containerStatuses[*].restartCount}")).toBe("1 0");

      const before = await containers();
      const running = before.filter((line) => line.includes("CONTAINER_RUNNING"));
      expect(running.map((line) => line.split(" ")[0]).sort()).toEqual(["a", "b"]);
      await first.kill("SIGKILL");
      expect(await containers()).toEqual(before);

      const second = start("node", "--cri", cluster.containerd.endpoint, "-v", "2");
      await second.printed(/SyncLoop ADD\s+source="api" pods=\[default\/whole\]/);
      // A new pod has passed every loop of the new kubelet; by then the kubelet has also decided about the old pod.
      const next = { ...POD, metadata: { name: "next" } };
      await create(next);
      await kubectl(
        "wait",
        "--for=jsonpath={.status.containerStatuses[0].restartCount}=1",
        "pod/next",
        "--timeout=60s",
      );
      expect(await containers()).toEqual(before);
      expect(await field("{.status.containerStatuses[*].restartCount}")).toBe("1 0");

      await kubectl("delete", "pod", "whole", "next", "--timeout=60s");
      expect((await containers()).filter((line) => line.includes("CONTAINER_RUNNING"))).toEqual([]);
      const ends = await kubectl(
        "get",
        "events",
        "--field-selector=involvedObject.name=whole",
        "-o",
        "jsonpath={.items[*].reason}",
      );
      expect(ends).toContain("Killing");
      expect((await second.kill("SIGINT")).code).toBe(130);
    },
    LIMIT_MS,
  );

  test(
    "all that a node does for a pod leads back to the request that created it, in the traces of two processes",
    async () => {
      const traceFile = join(home, "node.ndjson");
      const node = start("node", "--cri", cluster.containerd.endpoint, "--trace", traceFile);
      await node.printed(/^kubectl/m);
      const { volumes: _volumes, initContainers: _init, ...spec } = POD.spec;
      const exits = [{ name: "c", ...image, command: ["sh", "-c", "sleep 1; exit 3"] }];
      const pod = {
        ...POD,
        metadata: { name: "traced" },
        spec: { ...spec, restartPolicy: "Never", containers: exits },
      };
      await create(pod);
      await kubectl("wait", "--for=jsonpath={.status.phase}=Failed", "pod/traced", "--timeout=40s");
      await kubectl("delete", "pod", "traced", "--timeout=60s");
      await node.kill("SIGINT");

      const files = await Promise.all([readTrace(traceFile), readTrace(join(home, "cluster.ndjson"))]);
      const facts = files.flatMap(({ events }) => [...events]);
      assertCauses(facts);
      const chain = new PodChain(facts, "default/traced");
      expect(chain.orphans()).toEqual([]);
      assertInOrder(chain.to(/^request PATCH .*\/status$/), [
        /^request POST .*\/pods$/,
        /^watch pods/,
        /^decision ADD from api/,
        /^step Sync pod/,
        /^rpc StartContainer/,
        /^decision ContainerDied/,
        /^step /,
        /^decision version/,
      ]);
    },
    LIMIT_MS,
  );

  test(
    "volumes: fsGroup reads a secret that only its owner and group can read; emptyDir Memory is a tmpfs",
    async () => {
      const node = start("node", "--cri", cluster.containerd.endpoint);
      await node.printed(/^kubectl/m);
      await kubectl("create", "secret", "generic", "keys", "--from-literal=password=s3cret");
      await create(VOLUMES_POD);
      await kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/volumes", "--timeout=40s");
      const log = await kubectl("logs", "volumes");
      expect(log).toMatch(/^s3cret$/m);
      expect(log).toMatch(/^-r--r----- +1 0 +1001 .* \/keys\/password$/m);
      expect(log).toMatch(/^\S+ \/memory tmpfs /m);
      expect(log).toMatch(/^-rw-r--r-- +1 1000 +1001 .* \/memory\/new$/m);
      await kubectl("delete", "pod", "volumes", "--timeout=60s");
      await node.kill("SIGINT");
    },
    LIMIT_MS,
  );

  test(
    "devices: a container has what its plugin gives it, as a real device",
    async () => {
      const node = start("node", "--cri", cluster.containerd.endpoint);
      await node.printed(/^kubectl/m);
      const plugin = start("device-plugin");
      await plugin.printed(/list 2 of example\.com\/gpu/);
      const limits = { "example.com/gpu": "1" };
      const command = ["sh", "-c", "env; stat -c '%F %t:%T' /dev/gpu-0; ls /dev/gpu-1"];
      const { volumes: _volumes, initContainers: _init, ...spec } = POD.spec;
      const containers = [{ name: "c", ...image, command, resources: { limits } }];
      const pod = {
        ...POD,
        metadata: { name: "devices" },
        spec: { ...spec, restartPolicy: "Never", containers },
      };
      await create(pod);
      // The second device is not the container's.
      await kubectl("wait", "--for=jsonpath={.status.phase}=Failed", "pod/devices", "--timeout=40s");
      const log = await kubectl("logs", "devices");
      expect(log).toMatch(/^EXAMPLE_COM_GPU=gpu-0$/m);
      expect(log).toMatch(/^character special file 1:3$/m);
      await kubectl("delete", "pod", "devices", "--timeout=60s");
      await plugin.kill("SIGINT");
      await node.kill("SIGINT");
    },
    LIMIT_MS,
  );
});
