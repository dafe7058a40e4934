// The starter that runs pods, wrong in one way: `node level-2.mjs MISTAKE KUBECONFIG NODE CRI [MANIFESTS]`.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { Api, Clock, Lease, Node } from "../../../../examples/agents/javascript/agent.mjs";
import { Cri } from "../../../../examples/agents/javascript/cri.mjs";
import { Pod, Pods } from "../../../../examples/agents/javascript/pods.mjs";

const [mistake, kubeconfig, name, cri, manifests] = process.argv.slice(2);
const clock = new Clock();
const api = new Api(kubeconfig);
const node = new Node(api, clock, name);
const lease = new Lease(node);
const pods = new Pods(node, new Cri(cri));
const MERGE = "application/merge-patch+json";
const STRATEGIC = "application/strategic-merge-patch+json";

/** What each does instead of the starter; the default is right. */
const MISTAKES = {
  "all-pods"() {
    pods.selector = "";
  },
  "watches-once"() {
    const watchFrom = pods.watchFrom.bind(pods);
    pods.watchFrom = async (version) => {
      const watch = pods.watch.bind(pods);
      let count = 0;
      pods.watch = async function* (from) {
        if (count++ > 0) await clock.sleep(3_600_000);
        yield* watch(from);
      };
      await watchFrom(version);
    };
  },
  "stops-at-410"() {
    const watchFrom = pods.watchFrom.bind(pods);
    pods.watchFrom = async (version) => {
      await watchFrom(version);
      await clock.sleep(3_600_000);
    };
  },
  "ignores-410"() {
    const watch = pods.watch.bind(pods);
    // It goes on from the version that it knows.
    pods.watch = async function* (version) {
      for await (const event of watch(version)) {
        if (event.type === "ERROR") return;
        yield event;
      }
    };
  },
  "endless-pod-status"() {
    let written = 0;
    pods.report = async (pod, status) => {
      const now = await clock.stamp();
      for (let count = 0; count < 5; count++) {
        const body = { status: { ...pods.statusOf(pod, status, now), message: `written ${written++} times` } };
        await api.request("PATCH", `${pod.path}/status`, body, MERGE);
      }
    };
  },
  "repeats-pod-status"() {
    const report = pods.report.bind(pods);
    const next = new Map();
    pods.report = async (pod, status) => {
      const now = await clock.now();
      if (now >= (next.get(pod) ?? 0)) {
        pod.reported = "";
        next.set(pod, now + 3_000);
      }
      await report(pod, status);
    };
  },
  "no-grace"() {
    const stop = pods.stop.bind(pods);
    pods.stop = (pod) => stop(pod, 0);
  },
  "never-deletes"() {
    pods.remove = async () => {};
  },
  "deletes-first"() {
    const end = pods.end.bind(pods);
    pods.end = async (pod) => {
      await pods.remove(pod);
      await end(pod);
    };
  },
  "restarts-never"() {
    pods.isRestarted = () => true;
  },
  // OnFailure is taken for Always.
  "restarts-on-success"() {
    pods.isRestarted = ({ object }) => object.spec.restartPolicy !== "Never";
  },
  "new-sandbox"() {
    const start = pods.start.bind(pods);
    pods.start = async (pod) => {
      if (pod.attempt > 0) {
        await pods.cri.call("StopPodSandbox", { pod_sandbox_id: pod.sandbox });
        const config = { ...pods.configOf(pod) };
        config.metadata.attempt = pod.attempt;
        pod.sandbox = (await pods.cri.call("RunPodSandbox", { config })).pod_sandbox_id;
      }
      await start(pod);
    };
  },
  // It evicts the largest pod, whatever it requests.
  "evicts-largest"() {
    pods.report = async (pod, status) => {
      const { name: of, uid } = pod.object.metadata;
      const names = [...pods.known.values()].map(({ object }) => object.metadata.name);
      if (of !== "entitled" || !names.includes("greedy") || pod.isEvicted)
        return Pods.prototype.report.call(pods, pod, status);
      pod.isEvicted = true;
      const pressure = { type: "MemoryPressure", status: "True", reason: "KubeletHasInsufficientMemory" };
      await api.request("PATCH", `/api/v1/nodes/${name}/status`, { status: { conditions: [pressure] } }, STRATEGIC);
      await pods.cri.call("StopContainer", { container_id: pod.container, timeout: 0 });
      const evicted = { metadata: { uid }, status: { phase: "Failed", reason: "Evicted" } };
      await api.request("PATCH", `${pod.path}/status`, evicted, MERGE);
    };
    pods.isRestarted = ({ isEvicted }) => !isEvicted;
  },
  // Each failed request is repeated at once.
  hammers() {
    const send = api.request.bind(api);
    api.request = async (...asked) => {
      for (;;) {
        const answer = await send(...asked);
        if (answer.status !== 0) return answer;
      }
    };
  },
  // client-go's log.Fatal in the loop of the lease.
  "exits-without-api"() {
    const send = api.request.bind(api);
    api.request = async (...asked) => {
      const answer = await send(...asked);
      if (answer.status === 0) process.exit(1);
      return answer;
    };
  },
  // A connection is never tried again.
  "gives-up-without-api"() {
    const send = api.request.bind(api);
    api.request = async (...asked) => {
      const answer = await send(...asked);
      if (answer.status === 0) await clock.sleep(3_600_000);
      return answer;
    };
  },
};

/** Static pods: runs each manifest once, and keeps its mirror pod. */
async function followFiles() {
  for (;;) {
    for (const file of readdirSync(manifests)) {
      const object = parse(readFileSync(join(manifests, file), "utf8"));
      object.metadata.name += `-${name}`;
      if (!pods.known.has(file)) {
        const pod = new Pod({ ...object, metadata: { ...object.metadata, uid: file } });
        pods.known.set(file, pod);
        pods.run(pod).catch((error) => console.error(`${file}: ${error.message}`));
      }
      const annotations = { "kubernetes.io/config.mirror": "1", "kubernetes.io/config.hash": "1" };
      annotations["kubernetes.io/config.source"] = "file";
      const ownerReferences = [{ apiVersion: "v1", kind: "Node", name, uid: node.uid, controller: true }];
      const mirror = { ...object, metadata: { ...object.metadata, annotations, ownerReferences } };
      mirror.spec = { ...object.spec, nodeName: name };
      const path = `/api/v1/namespaces/${object.metadata.namespace}/pods`;
      // It takes each difference for a reason to start over.
      if (mistake === "mirror-for-ever") {
        await api.request("DELETE", `${path}/${object.metadata.name}`, { gracePeriodSeconds: 0 });
      }
      await api.request("POST", path, mirror);
    }
    await clock.sleep(1000);
  }
}

process.once("SIGTERM", () => process.exit(0));
await node.register();
MISTAKES[mistake]?.();
pods.follow();
if (manifests !== undefined) followFiles();
for (;;) {
  await lease.renew();
  await clock.sleep(10_000);
}
