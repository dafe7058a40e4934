// A small agent that runs pods, and can be wrong in one way: `node level-2.mjs MISTAKE KUBECONFIG NODE CRI [MANIFESTS]`.
import { readdirSync, readFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { createInterface } from "node:readline";
import * as grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { parse } from "yaml";
import { Api, Clock, Lease, Node } from "../../../../examples/agents/javascript/agent.mjs";

const [mistake, kubeconfig, name, cri, manifests] = process.argv.slice(2);
const clock = new Clock();
const api = new Api(kubeconfig);
const node = new Node(api, clock, name);
const lease = new Lease(node);
const MERGE = "application/merge-patch+json";
const SELECTOR = mistake === "all-pods" ? "" : `fieldSelector=spec.nodeName%3D${name}`;

const { v1 } = grpc.loadPackageDefinition(
  loadSync(join(import.meta.dirname, "cri.proto"), { longs: Number, keepCase: true, defaults: true }),
).runtime;
const call = (client) => (method, value) =>
  new Promise((resolve, reject) => {
    client[method](value, (error, answer) => (error ? reject(error) : resolve(answer)));
  });
const runtime = call(new v1.RuntimeService(cri, grpc.credentials.createInsecure()));
const images = call(new v1.ImageService(cri, grpc.credentials.createInsecure()));

/** @type {Map<string, any>} by uid: the pod as it was last seen, and what became of it */
const pods = new Map();

async function run(pod) {
  const { metadata, spec } = pod.object;
  const [container] = spec.containers;
  const config = { metadata: { name: metadata.name, uid: metadata.uid, namespace: metadata.namespace, attempt: 0 } };
  pod.sandbox = (await runtime("RunPodSandbox", { config })).pod_sandbox_id;
  pod.ip = (await runtime("PodSandboxStatus", { pod_sandbox_id: pod.sandbox })).status.network?.ip;
  await images("PullImage", { image: { image: container.image } });
  await start(pod, config, 0);
  while (!pod.object.metadata.deletionTimestamp) {
    const { status } = await runtime("ContainerStatus", { container_id: pod.container });
    if (status.state === 2 && (mistake === "restarts-never" || spec.restartPolicy === "Always"))
      await start(pod, config, ++pod.attempt);
    else await report(pod, status);
    await clock.sleep(mistake === "endless-pod-status" ? 100 : 1000);
  }
  await end(pod);
}

async function start(pod, config, attempt) {
  const { name: of, image, command } = pod.object.spec.containers[0];
  pod.attempt = attempt;
  const asked = { metadata: { name: of, attempt }, image: { image }, command };
  const given = { pod_sandbox_id: pod.sandbox, config: asked, sandbox_config: config };
  pod.container = (await runtime("CreateContainer", given)).container_id;
  await runtime("StartContainer", { container_id: pod.container });
}

async function report(pod, status) {
  const text = JSON.stringify([status.state, status.exit_code, pod.attempt]);
  const isDue = mistake === "repeats-pod-status" && (await clock.now()) >= (pod.nextMs ?? 0);
  if (text === pod.reported && mistake !== "endless-pod-status" && !isDue) return;
  if (mistake === "repeats-pod-status") pod.nextMs = (await clock.now()) + 5_500;
  pod.reported = text;
  const body = { status: statusOf(pod, status, await clock.stamp()) };
  if (mistake === "endless-pod-status") body.status.message = `written ${await clock.now()}`;
  await api.request("PATCH", `${pathOf(pod)}/status`, body, MERGE);
}

function statusOf(
  { object, ip, container, attempt },
  { state, exit_code, started_at, finished_at, image_ref, reason },
  now,
) {
  const { metadata, spec } = object;
  const at = (ns) => new Date(Math.floor(ns / 1e9) * 1000).toISOString().replace(".000", "");
  const isRunning = state === 1;
  const condition = (type, isTrue) => ({ type, status: isTrue ? "True" : "False", lastTransitionTime: now });
  const ended = { exitCode: exit_code, reason, startedAt: at(started_at), finishedAt: at(finished_at) };
  return {
    phase: isRunning ? "Running" : exit_code === 0 ? "Succeeded" : "Failed",
    conditions: [
      condition("Initialized", true),
      condition("Ready", isRunning),
      condition("ContainersReady", isRunning),
      condition("PodScheduled", true),
    ],
    ...{ hostIP: "127.0.0.1", podIP: ip, podIPs: [{ ip }], startTime: metadata.creationTimestamp },
    containerStatuses: [
      {
        ...{ name: spec.containers[0].name, image: spec.containers[0].image, imageID: image_ref },
        ...{ containerID: `kubelab://${container}`, restartCount: attempt, ready: isRunning, started: isRunning },
        state: isRunning ? { running: { startedAt: at(started_at) } } : { terminated: ended },
      },
    ],
  };
}

async function end(pod) {
  const seconds = mistake === "no-grace" ? 0 : pod.object.metadata.deletionGracePeriodSeconds;
  const remove = () => api.request("DELETE", pathOf(pod), { gracePeriodSeconds: 0 });
  if (mistake === "deletes-first") await remove();
  await runtime("StopContainer", { container_id: pod.container, timeout: seconds });
  await runtime("StopPodSandbox", { pod_sandbox_id: pod.sandbox });
  if (mistake !== "never-deletes") await remove();
}

function pathOf({ object: { metadata } }) {
  return `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}`;
}

function take(object) {
  const known = pods.get(object.metadata.uid);
  if (known !== undefined) known.object = object;
  else if (!object.metadata.annotations?.["kubernetes.io/config.mirror"]) {
    const pod = { object, attempt: 0 };
    pods.set(object.metadata.uid, pod);
    run(pod).catch((error) => console.error(`${object.metadata.name}: ${error.message}`));
  }
}

/** The events of one watch, until it ends. */
async function* watch(resourceVersion) {
  const path = `/api/v1/pods?watch=true&resourceVersion=${resourceVersion}&${SELECTOR}`;
  const answer = await new Promise((resolve) => {
    const sent = request(api.server + path, { agent: api.agent }, resolve);
    sent.once("error", () => resolve(undefined));
    sent.end();
  });
  if (answer === undefined) return;
  answer.on("error", () => {});
  for await (const line of createInterface({ input: answer })) yield JSON.parse(line);
}

async function followPods() {
  for (;;) {
    const { status, object } = await api.request("GET", `/api/v1/pods?${SELECTOR}`);
    if (status === 200) {
      for (const item of object.items) take(item);
      let version = object.metadata.resourceVersion;
      for (let isExpired = false; !isExpired; ) {
        for await (const { type, object: changed } of watch(version)) {
          isExpired = type === "ERROR";
          // It goes on from the version that it knows.
          if (isExpired && mistake === "ignores-410") {
            isExpired = false;
            break;
          }
          if (isExpired) break;
          version = changed.metadata.resourceVersion;
          if (type !== "DELETED") take(changed);
        }
        if (mistake === "watches-once") return;
        if (isExpired && mistake === "stops-at-410") return;
        await clock.sleep(1000);
      }
    }
    await clock.sleep(1000);
  }
}

/** Static pods: runs each manifest once, and keeps its mirror pod. */
async function followFiles() {
  for (;;) {
    for (const file of readdirSync(manifests)) {
      const object = parse(readFileSync(join(manifests, file), "utf8"));
      object.metadata.name += `-${name}`;
      if (!pods.has(file)) {
        const pod = { object: { ...object, metadata: { ...object.metadata, uid: file } }, attempt: 0 };
        pods.set(file, pod);
        run(pod).catch((error) => console.error(`${file}: ${error.message}`));
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
followPods();
if (manifests !== undefined) followFiles();
for (;;) {
  await lease.renew();
  await clock.sleep(10_000);
}
