import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, test } from "vitest";
import { CliProcess, newHome } from "../support/cli-process.js";
import { BUSYBOX_IMAGE, startContainerd, type TestContainerd } from "../support/containerd.js";
import { kubectlOf, runKubectl } from "../support/node-kubectl.js";
import { suiteNeeding } from "../support/requirements.js";

const POD = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web" },
  spec: {
    terminationGracePeriodSeconds: 2,
    containers: [{ name: "c", image: "busybox:1.36", command: ["sleep", "9999"] }],
  },
};

const home = newHome();
const running: CliProcess[] = [];
afterEach(async () => {
  for (const one of running.splice(0)) await one.kill("SIGINT");
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

function start(...argv: string[]): CliProcess {
  const one = new CliProcess(home, argv);
  running.push(one);
  return one;
}

suiteNeeding(["kubectl"], "windows into a kubelet, with kubectl", () => {
  test("static-pod: a mirror pod that kubectl deletes comes back; a file that is removed ends its pod", async () => {
    const manifests = join(home, "manifests");
    mkdirSync(manifests);
    const window = start("static-pod", "--manifest-dir", manifests);
    const kubectl = await kubectlOf(window);
    writeFileSync(join(manifests, "web.json"), JSON.stringify(POD));
    await window.says(/create the mirror pod default\/web-static-node[\s\S]*ADD from api: \[default\/web-static-node/);
    await kubectl("wait", "--for=condition=Ready", "pod/web-static-node", "--timeout=20s");
    const uid = await kubectl("get", "pod", "web-static-node", "-o", "jsonpath={.metadata.uid}");
    await kubectl("delete", "pod", "web-static-node", "--wait=false");
    await window.says(
      /replace the mirror pod default\/web-static-node it is being deleted, and its static pod still runs/,
    );
    await kubectl("wait", "--for=condition=Ready", "pod/web-static-node", "--timeout=20s");
    assert.notEqual(await kubectl("get", "pod", "web-static-node", "-o", "jsonpath={.metadata.uid}"), uid);
    rmSync(join(manifests, "web.json"));
    await window.says(/end the static pod of .*? the file is gone/);
    await window.says(/worker terminated (?:→|->) finished/);
    await window.says(/delete the mirror pod default\/web-static-node/);
  });

  test("pod-manager: /pods follows kubectl, and a GET of anything changes nothing", async () => {
    const window = start("pod-manager", "--http", "127.0.0.1:0");
    const url = await window.says(/Page: (http:\S+\/) and/);
    const kubectl = await kubectlOf(window);
    const names = async () => {
      const { items } = (await (await fetch(`${url}pods`)).json()) as { items: { metadata: { name: string } }[] };
      return items.map(({ metadata }) => metadata.name);
    };
    await kubectl("run", "app", "--image=busybox:1.36", "--", "sleep", "9999");
    await kubectl("wait", "--for=condition=Ready", "pod/app", "--timeout=20s");
    assert.deepEqual(await names(), ["app"]);
    for (const path of ["setcache?id=x", "actions/kill", "nothing"]) {
      assert.equal((await fetch(`${url}${path}`)).status, 404);
    }
    assert.equal((await fetch(`${url}pods`, { method: "POST" })).status, 405);
    await kubectl("delete", "pod", "app", "--grace-period=1");
    assert.deepEqual(await names(), []);
  });

  test("pod-worker --hold-cache: nothing runs until each GetNewerThan is released by a POST", async () => {
    const window = start("pod-worker", "--hold-cache", "--http", "127.0.0.1:0");
    const url = await window.says(/Workers as JSON: (http:\S+\/)state/);
    const kubectl = await kubectlOf(window);
    await kubectl("run", "app", "--image=busybox:1.36", "--restart=Never", "--", "true");
    await window.says(/worker of default\/app: GetNewerThan goes on (?:→|->) is held before GetNewerThan\(anything\)/);
    assert.equal(await kubectl("get", "pod", "app", "-o", "jsonpath={.status.phase}"), "Pending");
    const uid = await kubectl("get", "pod", "app", "-o", "jsonpath={.metadata.uid}");
    const state = (await (await fetch(`${url}state`)).json()) as { held: string[]; workers: { doing: string }[] };
    assert.deepEqual([state.held, state.workers[0]?.doing], [[uid], "held for > anything"]);
    assert.equal((await fetch(`${url}setcache?id=${uid}`)).status, 405);
    const refused = await fetch(`${url}setcache?id=other`, { method: "POST" });
    assert.equal(refused.status, 400);
    assert.match(((await refused.json()) as { hint: string }).hint, new RegExp(uid));
    const unnamed = await fetch(`${url}setcache`, { method: "POST" });
    assert.deepEqual(
      [unnamed.status, await unnamed.json()],
      [400, { error: "the request names no worker", hint: `Write it as ?id=UID. Held are: ${uid}.` }],
    );
    const released = await fetch(`${url}setcache?id=${uid}`, { method: "POST" });
    assert.deepEqual(await released.json(), { released: uid });
    await window.says(/GetNewerThan is held (?:→|->) released by hand/);
    await window.says(/SyncLoop \(PLEG\): event for pod pod="default\/app"/);
  });
});

suiteNeeding(["containerd"], "kubelab pod-worker on a real runtime", () => {
  let containerd: TestContainerd;
  beforeAll(async () => {
    containerd = await startContainerd();
  }, 60_000);
  afterAll(() => containerd?.stop());

  test("containerd's events drive the workers: PLEG reports, the pod is synced, its end is seen", async () => {
    const manifests = join(home, "containerd-manifests");
    mkdirSync(manifests);
    const command = ["sh", "-c", "sleep 2"];
    const container = { name: "c", image: BUSYBOX_IMAGE, imagePullPolicy: "Never", command };
    const spec = { hostNetwork: true, restartPolicy: "Never", containers: [container] };
    writeFileSync(join(manifests, "web.json"), JSON.stringify({ ...POD, spec }));
    const window = start("pod-worker", "--yes", "--cri", containerd.endpoint, "--manifest-dir", manifests);
    await window.says(/syncPod default\/web-worker-node/);
    await window.says(/SyncLoop \(PLEG\): event for pod pod="default\/web-worker-node" event=.*?Type:ContainerStarted/);
    await window.says(/Type:ContainerDied/);
    await window.says(/worker terminating (?:→|->) terminated/);
    await window.says(/worker terminated (?:→|->) finished/);
  }, 60_000);
});

suiteNeeding(["kubectl"], "virtual pods, with kubectl", () => {
  const file = join(home, "handler.mjs");
  let kubectl: (...args: string[]) => Promise<string>;
  let node: CliProcess;

  beforeAll(async () => {
    writeFileSync(
      file,
      `export default async function ({ pod, containers, signal, log, progress }) {
        const { MODE } = containers[0].env;
        log("mode " + MODE);
        if (MODE === "fail") throw new Error("no input");
        if (MODE === "work") return "worked";
        progress(0.4, "waiting");
        if (MODE === "deaf") await new Promise(() => {});
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        log("stopped: " + signal.reason.message);
      }`,
    );
    node = new CliProcess(home, ["node", "--handler", file, "--port", "0"]);
    await node.printed(/^kubectl/m);
    const kubeconfig = join(home, "state", "kubelab", "nodes", "node-1", "kubelab-admin.config");
    kubectl = (...args) => runKubectl(kubeconfig, args);
  });
  afterAll(() => node?.kill("SIGINT"));

  const run = (name: string, mode: string, ...more: string[]) =>
    kubectl("run", name, "--image=any", "--restart=Never", `--env=MODE=${mode}`, ...more);
  const said = (name: string) =>
    kubectl("get", "pod", name, "-o", "jsonpath={.status.phase} {.status.reason}: {.status.message}");

  describe("a result becomes the pod's status, with a log", () => {
    for (const [mode, phase, status, log] of [
      ["work", "Succeeded", "Succeeded Completed: worked", "mode work\n"],
      ["fail", "Failed", "Failed HandlerError: no input", "mode fail\nError: no input\n"],
    ] as const) {
      test(mode, async () => {
        await run(mode, mode);
        await kubectl("wait", `--for=jsonpath={.status.phase}=${phase}`, `pod/${mode}`, "--timeout=20s");
        assert.equal(await said(mode), status);
        assert.ok((await kubectl("logs", mode)).startsWith(log));
      });
    }
  });

  test("progress is in the status of a running pod; its deletion reaches the handler, and the pod is gone", async () => {
    await run("waits", "wait");
    await kubectl("wait", "--for=jsonpath={.status.message}=40 %: waiting", "pod/waits", "--timeout=20s");
    assert.equal(await said("waits"), "Running : 40 %: waiting");
    await kubectl("delete", "pod", "waits", "--timeout=20s");
    await node.printed(/handler running (?:→|->) Succeeded/);
  });

  test("a pod past its activeDeadlineSeconds fails, even if its handler ignores the signal", async () => {
    const spec = { activeDeadlineSeconds: 1, terminationGracePeriodSeconds: 1 };
    await run("deaf", "deaf", "--overrides", JSON.stringify({ spec }));
    await kubectl("wait", "--for=jsonpath={.status.phase}=Failed", "pod/deaf", "--timeout=20s");
    assert.match(await said("deaf"), /^Failed DeadlineExceeded: /);
    await node.printed(/abandon the handler of default\/deaf/);
    await kubectl("delete", "pod", "deaf", "--timeout=20s");
  });

  test("nothing can run next to a function, and the answer explains it", async () => {
    await run("alone", "wait");
    await kubectl("wait", "--for=condition=Ready", "pod/alone", "--timeout=20s");
    await assert.rejects(kubectl("exec", "alone", "--", "true"), /a virtual pod is a function/);
    await kubectl("delete", "pod", "alone", "--timeout=20s");
  });
});
