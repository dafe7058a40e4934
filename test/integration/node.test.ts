import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { createCriClient } from "../../src/staging/cri/remote/create-cri-client.js";
import { Trace } from "../../src/trace/trace.js";
import { SystemClock } from "../../src/util/clock.js";
import { isAlive } from "../../src/util/os/processes.js";
import { CliProcess, newHome } from "../support/cli-process.js";
import { BUSYBOX_IMAGE, startContainerd, type TestContainerd } from "../support/containerd.js";
import { runKubectl } from "../support/node-kubectl.js";
import { suiteNeeding } from "../support/requirements.js";

const { signal } = new AbortController();
/** Prints that it is up, then that it is ready; ends on SIGTERM. */
const SERVE = ["sh", "-c", "trap 'exit 0' TERM; echo up; touch /ready; while true; do sleep 0.1; done"];
const READY = { exec: { command: ["cat", "/ready"] }, periodSeconds: 1 };

/** A pod of one container that ends on SIGTERM. */
function podOf(name: string, spec: object = {}, container: object = {}) {
  const containers = [{ name: "c", image: "busybox:1.36", command: SERVE, ...container }];
  return { apiVersion: "v1", kind: "Pod", metadata: { name }, spec: { containers, ...spec } };
}

/** A process of `kubelab node` that has printed its kubectl line. */
async function startNode(home: string, ...flags: string[]): Promise<CliProcess> {
  const node = new CliProcess(home, ["node", "-v", "2", ...flags]);
  await node.printed(/^kubectl/m);
  return node;
}

/** Of all containers that a runtime holds: `pod/container` and ID. */
async function containersOf(endpoint: string): Promise<readonly { name: string; id: string; state: number }[]> {
  const clock = new SystemClock();
  await using client = await createCriClient(
    endpoint,
    { clock, trace: new Trace(clock), actor: "kubelet" },
    {},
    signal,
  );
  const list = await client.runtime.listContainers(undefined, signal);
  if (list.outcome !== "ok") throw new Error(list.text);
  return list.value.map(({ id, labels, state }) => {
    return { name: `${labels["io.kubernetes.pod.name"]}/${labels["io.kubernetes.container.name"]}`, id, state };
  });
}

suiteNeeding(["kubectl"], "kubelab node on a cluster and a runtime of its own", () => {
  const home = newHome();
  const rootDir = join(home, "state", "kubelab", "nodes", "node-1");
  const manifests = join(home, "manifests");
  let node: CliProcess;
  const kubectl = (...args: string[]) => runKubectl(join(rootDir, "kubelab-admin.config"), args);

  beforeAll(async () => {
    mkdirSync(manifests);
    node = await startNode(home, "--manifest-dir", manifests);
  });
  afterAll(async () => {
    await node.kill("SIGKILL");
    rmSync(home, { recursive: true, force: true });
  });

  test("describe node reads like one of a real node", async () => {
    const text = await kubectl("describe", "node", "node-1");
    expect(text).toMatch(/Ready\s+True\s.*KubeletReady\s+kubelet is posting ready status/);
    expect(text).toMatch(/InternalIP:\s+10\.240\.0\.2\s+ExternalDNS:\s+localhost/);
    expect(text).toMatch(/Container Runtime Version:\s+kubelab:\/\//);
    for (const reason of ["Starting", "NodeHasSufficientMemory", "NodeReady"]) {
      expect(text).toContain(reason);
    }
    // Nothing enforces the limits of node allocatable.
    expect(text).not.toContain("NodeAllocatableEnforced");
  });

  test("a pod runs, is Ready, has a log; deleted, it ends within its grace and is gone", async () => {
    await kubectl("create", "-f", writeJson(home, podOf("web", {}, { readinessProbe: READY })));
    await kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=20s");
    const [folder = ""] = readdirSync(join(rootDir, "log", "pods")).filter((name) => name.startsWith("default_web_"));
    expect(readFileSync(join(rootDir, "log", "pods", folder, "c", "0.log"), "utf8")).toMatch(/ stdout F up\n/);
    expect(await kubectl("logs", "web")).toBe("up\n");
    const events = await kubectl("get", "events", "-o", "jsonpath={.items[*].reason}");
    for (const reason of ["Scheduled", "Pulling", "Pulled", "Created", "Started"]) expect(events).toContain(reason);
    await kubectl("delete", "pod", "web", "--timeout=20s");
    expect(await kubectl("get", "pods", "-o", "name")).toBe("");
  });

  const ends: [string, string, string, string][] = [
    ["well", "exit 0", "Succeeded", "Completed"],
    ["badly", "exit 3", "Failed", "Error"],
  ];
  for (const [how, script, phase, reason] of ends) {
    test(`a pod that ends ${how} is ${phase}`, async () => {
      const spec = { restartPolicy: "Never" };
      await kubectl("create", "-f", writeJson(home, podOf(`ends-${how}`, spec, { command: ["sh", "-c", script] })));
      await kubectl("wait", `--for=jsonpath={.status.phase}=${phase}`, `pod/ends-${how}`, "--timeout=20s");
      const path = "jsonpath={.status.containerStatuses[0].state.terminated.reason}";
      expect(await kubectl("get", "pod", `ends-${how}`, "-o", path)).toBe(reason);
      await kubectl("delete", "pod", `ends-${how}`);
    });
  }

  test("one that does not fit fails with the reason", async () => {
    const resources = { requests: { cpu: "200" } };
    await kubectl("create", "-f", writeJson(home, podOf("greedy", { nodeName: "node-1" }, { resources })));
    await kubectl("wait", "--for=jsonpath={.status.phase}=Failed", "pod/greedy", "--timeout=20s");
    expect(await kubectl("get", "pod", "greedy", "-o", "jsonpath={.status.reason}: {.status.message}")).toBe(
      "OutOfcpu: Pod Node didn't have enough resource: cpu, requested: 200000, used: 0, capacity: 100000",
    );
    await kubectl("delete", "pod", "greedy");
  });

  test("a file is a static pod with a mirror pod; deleted in the API it comes back; the file gone, it ends", async () => {
    const file = join(manifests, "static.json");
    writeFileSync(file, JSON.stringify(podOf("static")));
    const mirror = "static-node-1";
    // The kubelet sees it, so it exists.
    await node.printed(new RegExp(`SyncLoop\\s+ADD\\s+source="api"\\s+pods=\\[default/${mirror}\\]`));
    await kubectl("wait", "--for=condition=Ready", `pod/${mirror}`, "--timeout=20s");
    const ids = "jsonpath={.metadata.uid} {.status.containerStatuses[0].containerID}";
    const [uid, containerId] = (await kubectl("get", "pod", mirror, "-o", ids)).split(" ");
    await kubectl("delete", "pod", mirror, "--wait=false", "--grace-period=0", "--force");
    await kubectl("wait", "--for=condition=Ready", `pod/${mirror}`, "--timeout=20s");
    const [uidAfter, containerIdAfter] = (await kubectl("get", "pod", mirror, "-o", ids)).split(" ");
    expect(uidAfter).not.toBe(uid);
    expect(containerIdAfter).toBe(containerId);
    rmSync(file);
    await kubectl("wait", "--for=delete", `pod/${mirror}`, "--timeout=20s");
  });

  test("the loop's lines are those that operators know", async () => {
    const { code, stdout, stderr } = await node.kill("SIGINT");
    expect(code).toBe(130);
    expect(stdout).toMatch(/^kubectl --kubeconfig \S+\n$/);
    const text = stderr.replace(/\s+/g, " ");
    const missing = [
      'SyncLoop ADD source="api" pods=[default/web]',
      'SyncLoop (PLEG): event for pod pod="default/web" event=&{ID:',
      'SyncLoop RECONCILE source="api" pods=[default/web]',
      'SyncLoop DELETE source="api" pods=[default/web]',
      'SyncLoop REMOVE source="api" pods=[default/web]',
      'SyncLoop ADD source="file" pods=[default/static-node-1]',
    ].filter((line) => !text.includes(line));
    expect(missing).toEqual([]);
    // The cluster has ended with it, and so has its key to it.
    expect(existsSync(join(rootDir, "kubelab-admin.config"))).toBe(false);
  });
});

describe("killed with -9 and started again", () => {
  const homes: string[] = [];
  const processes: CliProcess[] = [];
  const start = (home: string, ...argv: string[]) => {
    const process = new CliProcess(home, argv);
    processes.push(process);
    return process;
  };
  afterEach(async () => {
    for (const process of processes.splice(0).reverse()) await process.kill("SIGKILL");
    for (const home of homes.splice(0)) rmSync(home, { recursive: true, force: true });
  });

  /** Runs two pods, kills the kubelet, deletes one of them meanwhile, starts it again. */
  async function adopts(endpoint: string, pod: (name: string) => object): Promise<void> {
    const home = newHome();
    homes.push(home);
    const cluster = start(home, "cluster", "up");
    await cluster.printed(/^kubectl/m);
    const kubectl = (...args: string[]) =>
      runKubectl(join(home, "state", "kubelab", "clusters", "kubelab.kubeconfig"), args);
    const first = start(home, "node", "--cri", endpoint);
    await first.printed(/^kubectl/m);
    for (const name of ["stays", "goes"]) {
      await kubectl("create", "-f", writeJson(home, pod(name)));
      await kubectl("wait", "--for=condition=Ready", `pod/${name}`, "--timeout=30s");
    }
    const before = await containersOf(endpoint);
    expect(before.map(({ name }) => name).sort()).toEqual(["goes/c", "stays/c"]);
    await first.kill("SIGKILL");
    await kubectl("delete", "pod", "goes", "--grace-period=0", "--force");

    const second = start(home, "node", "--cri", endpoint);
    await second.printed(/Clean up orphaned pod\s+containers: default\/goes/);
    await kubectl("create", "-f", writeJson(home, pod("new")));
    await kubectl("wait", "--for=condition=Ready", "pod/new", "--timeout=30s");
    const after = await containersOf(endpoint);
    const id = (list: typeof after, name: string) => list.filter((one) => one.name === name).map((one) => one.id);
    expect(id(after, "stays/c")).toEqual(id(before, "stays/c"));
    expect(await kubectl("get", "pod", "stays", "-o", "jsonpath={.status.containerStatuses[0].restartCount}")).toBe(
      "0",
    );
    await kubectl("delete", "pod", "stays", "new", "--timeout=30s");
    // A dead container does not hold the Pod back: it is removed a moment later.
    const left = async () => (await containersOf(endpoint)).map(({ name }) => name);
    await expect.poll(left, { timeout: 20_000 }).not.toContain("stays/c");
    expect((await second.kill("SIGINT")).code).toBe(130);
  }

  suiteNeeding(["kubectl"], "on kubelab runtime up", () => {
    test("it adopts the pods that run, and ends the one that was deleted meanwhile", async () => {
      const folder = mkdtempSync(join(tmpdir(), "kubelab-rt-"));
      homes.push(folder);
      const endpoint = `unix://${join(folder, "runtime.sock")}`;
      const runtime = start(folder, "runtime", "up", "--listen", endpoint);
      await runtime.printed(/^unix:/m);
      await adopts(endpoint, (name) => podOf(name));
    }, 90_000);
  });

  suiteNeeding(["kubectl", "containerd", "busybox-static", "root"], "on containerd", () => {
    let containerd: TestContainerd;
    beforeAll(async () => {
      containerd = await startContainerd();
    }, 60_000);
    afterAll(() => containerd.stop());

    test("it adopts the pods that run, and ends the one that was deleted meanwhile", async () => {
      // There is no network but the host's, so the node reports that it is not Ready.
      // A signal before the shell has set its trap is lost on process 1; a short grace period avoids a wait of 30 s.
      const terminationGracePeriodSeconds = 3;
      const tolerations = [{ operator: "Exists" }];
      const spec = { hostNetwork: true, nodeName: "node-1", tolerations, terminationGracePeriodSeconds };
      const image = { image: BUSYBOX_IMAGE, imagePullPolicy: "Never" };
      await adopts(containerd.endpoint, (name) => podOf(name, spec, image));
    }, 90_000);

    test("a log that is too large is moved aside, and containerd writes a new one", async () => {
      const home = newHome();
      homes.push(home);
      const manifests = join(home, "manifests");
      mkdirSync(manifests);
      const command = ["sh", "-c", "while true; do echo a line of the log; sleep 0.1; done"];
      const container = { image: BUSYBOX_IMAGE, imagePullPolicy: "Never", command };
      const pod = podOf("chatty", { hostNetwork: true, terminationGracePeriodSeconds: 1 }, container);
      writeFileSync(join(manifests, "chatty.json"), JSON.stringify(pod));
      const limits = ["--container-log-max-size", "500", "--container-log-max-files", "3"];
      const flags = ["--cri", containerd.endpoint, "--manifest-dir", manifests, "--speed", "10", ...limits];
      const node = start(home, "node", ...flags);
      // The second time, it is the new file that has grown.
      await node.printed(/(rotate the log of default\/chatty-node-1\/c[\s\S]*){3}/);
      const pods = join(home, "state", "kubelab", "nodes", "node-1", "log", "pods");
      const [folder = ""] = readdirSync(pods);
      const files = readdirSync(join(pods, folder, "c")).sort();
      const rotated = /^0\.log\.\d{8}-\d{6}/;
      expect(files).toEqual(["0.log", expect.stringMatching(rotated), expect.stringMatching(rotated)]);
      expect(files[1]).toMatch(/\.gz$/);
    }, 60_000);
  });
});

let files = 0;

function writeJson(folder: string, content: object): string {
  const path = join(folder, `object-${files++}.json`);
  writeFileSync(path, JSON.stringify(content));
  return path;
}

describe.skipIf(process.platform !== "linux")("kubelab node with a command, killed", () => {
  test("the next kubelet ends the orphaned command, and starts it again", async () => {
    const home = newHome();
    const manifests = join(home, "manifests");
    mkdirSync(manifests);
    writeFileSync(join(manifests, "work.json"), JSON.stringify(podOf("work")));
    const notes = join(home, "state", "kubelab", "nodes", "node-1", "commands");
    const working = async () => {
      const node = new CliProcess(home, [
        ...["node", "-v", "2", "--manifest-dir", manifests],
        ...["--handler-command", "exec sleep 1000"],
      ]);
      await node.printed(/ContainerStarted/);
      return { node, pids: readdirSync(notes).map((name) => Number(name.split("-")[0])) };
    };
    const first = await working();
    await first.node.kill("SIGKILL");
    expect(await isAlive(first.pids[0] ?? 0)).toBe(true);
    const second = await working();
    expect(await isAlive(first.pids[0] ?? 0)).toBe(false);
    expect(second.pids).toHaveLength(1);
    await second.node.kill("SIGINT");
    expect(await isAlive(second.pids[0] ?? 0)).toBe(false);
    expect(readdirSync(notes)).toEqual([]);
    rmSync(home, { recursive: true, force: true });
  });
});
