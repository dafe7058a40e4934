import assert from "node:assert/strict";
import { afterEach, describe, test } from "vitest";
import { Trace } from "../../../src/trace/trace.js";
import { SystemClock } from "../../../src/util/clock.js";
import { untilTrue } from "../../support/fake-clock.js";
import { IMAGE, Lab, playSteps, pod, SPEED, shell } from "./lab.js";
import { RefusingProxy } from "./refusing-proxy.js";

const RUNS = "Running Ready c=running*/0";
const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const POD_COUNT = 20;

const configMap = (code: string) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "settings" },
  data: { CODE: code },
});
const fromSettings = { envFrom: [{ configMapRef: { name: "settings" } }] };
const showsSettings = {
  volumes: [{ name: "v", configMap: { name: "settings" } }],
  containers: [{ name: "c", image: IMAGE, ...shell("sleep 1000"), volumeMounts: [{ name: "v", mountPath: "/v" }] }],
};

const objectsOf = (lab: Lab) => {
  const { kubelet } = lab.node;
  assert.ok(kubelet);
  return kubelet.kubelet.objectManagers.configMaps;
};
const listsAmong = (asked: readonly string[]) => asked.filter((one) => one === "GET list").length;

describe("the config maps of a node's pods are watched", () => {
  let lab: Lab | undefined;
  let proxy: RefusingProxy | undefined;
  afterEach(async () => {
    await lab?.close();
    await proxy?.close();
    lab = undefined;
    proxy = undefined;
  });

  /** @returns the lab, what the kubelet has asked for about config maps, and what went wrong */
  async function start(options: Parameters<typeof Lab.start>[0] = {}) {
    const clock = new SystemClock(SPEED);
    const trace = new Trace(clock);
    const asked: string[] = [];
    const errors: string[] = [];
    trace.addSink({
      write(event) {
        if (event.kind === "error") errors.push(event.message);
        if (event.kind !== "request" || !event.path.startsWith(CONFIG_MAPS)) return;
        asked.push(`${event.method} ${event.path.includes("watch=true") ? "watch" : "list"}`);
      },
    });
    const started = await Lab.start(options, { clock, trace });
    lab = started;
    return { lab: started, asked, errors };
  }

  test(`${POD_COUNT} pods at once: one list, one watch; a kubelet that starts again does so too`, async () => {
    const { lab, asked } = await start();
    await lab.create(CONFIG_MAPS, configMap("0"));
    const names = Array.from({ length: POD_COUNT }, (_, i) => `pod-${i}`);
    await Promise.all(names.map((name) => lab.createPod(pod(name, showsSettings))));
    await Promise.all(names.map((name) => lab.history.until(name, RUNS)));
    // A watch ends by itself after some minutes of the lab's, and is resumed.
    assert.deepEqual(new Set(asked), new Set(["GET list", "GET watch"]));
    assert.equal(listsAmong(asked), 1);
    const { cache } = objectsOf(lab);
    assert.equal(cache.watches, 1);
    await lab.node.stop();
    assert.equal(cache.watches, 0);
    asked.length = 0;
    await lab.node.start();
    await lab.createPod(pod("later", showsSettings));
    await lab.history.until("later", RUNS);
    assert.equal(listsAmong(asked), 1);
    for (const name of names) assert.deepEqual(lab.history.lines(name).at(-1), RUNS);
  });

  test("a change is seen by the next container", async () => {
    const { lab, asked } = await start();
    await lab.create(CONFIG_MAPS, configMap("1"));
    await lab.createPod(pod("job", { restartPolicy: "OnFailure" }, { ...shell('exit "$CODE"'), ...fromSettings }));
    const change = async () => {
      await lab.client.expect({ method: "PUT", path: `${CONFIG_MAPS}/settings`, body: configMap("0") });
    };
    await playSteps(lab, "job", [/CrashLoopBackOff/, change, /^Succeeded/]);
    assert.equal(listsAmong(asked), 1);
  });

  test("an object that only the environment uses is dropped after a while; the next container reads it again", async () => {
    const { lab, asked } = await start();
    await lab.create(CONFIG_MAPS, configMap("0"));
    await lab.createPod(pod("web", {}, fromSettings));
    await playSteps(lab, "web", [RUNS]);
    const { cache } = objectsOf(lab);
    // Not so fast that a busy machine could miss its leases for long.
    lab.clock.setSpeed(200);
    await untilTrue(() => cache.watches === 0);
    lab.clock.setSpeed(SPEED);
    assert.equal(cache.size, 1);
    const kill = () => lab.runtime.killContainer(lab.running("web").containerId, { exitCode: 3 });
    await playSteps(lab, "web", [kill, "Running Ready c=running*/1"]);
    assert.deepEqual([cache.watches, listsAmong(asked)], [1, 2]);
  });

  test("what was read is served while the API server is away", async () => {
    const { lab } = await start();
    await lab.create(CONFIG_MAPS, configMap("0"));
    await lab.createPod(pod("web", {}, fromSettings));
    await playSteps(lab, "web", [RUNS]);
    const { containerId } = lab.running("web");
    lab.link.cut();
    lab.runtime.killContainer(containerId, { exitCode: 3 });
    // Nobody but the runtime can tell now.
    const runsAnew = () =>
      lab.containersOf("web").some((one) => one.state === "running" && one.containerId !== containerId);
    await lab.untilRuntime(runsAnew);
    lab.link.mend();
    await playSteps(lab, "web", ["Running Ready c=running*/1"]);
    assert.ok(!lab.history.lines("web").some((line) => /CreateContainerConfigError/.test(line)));
  });

  test("without the right to list it pods wait, in upstream's words; they run once it is given", async () => {
    const between = async (config: Parameters<typeof RefusingProxy.open>[0]) => {
      proxy = await RefusingProxy.open(config);
      return proxy.config;
    };
    const { lab, errors } = await start({ between });
    const gate = proxy as RefusingProxy | undefined;
    assert.ok(gate);
    gate.refuse((request) => request.includes(CONFIG_MAPS));
    await lab.create(CONFIG_MAPS, configMap("0"));
    await lab.createPod(pod("web", {}, fromSettings));
    await playSteps(lab, "web", ["Pending c=CreateContainerConfigError/0"]);
    const [status] = lab.history.pod("web").status.containerStatuses ?? [];
    assert.equal(
      status?.state?.waiting?.message,
      "failed to sync configmap cache: timed out waiting for the condition",
    );
    assert.match(errors.join("\n"), /GET \/api\/v1\/namespaces\/default\/configmaps was refused: 403/);
    gate.allow();
    await playSteps(lab, "web", [RUNS]);
  });
});
