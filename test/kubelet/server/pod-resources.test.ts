import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { credentials, loadPackageDefinition, type ServiceClientConstructor, type sendUnaryData } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import protobuf from "protobufjs";
import { onTestFinished, test } from "vitest";
import { POD_RESOURCES_LISTER } from "../../../src/kubelet/apis/podresources/v1.js";
import { openPodResources } from "../../../src/kubelet/server/pod-resources.js";
import { protoText } from "../../../src/staging/cri/proto-text.js";
import { healthy } from "../../support/device-plugin.js";
import { parseMetrics, sampleOf } from "../../support/prometheus.js";
import { recordingTrace } from "../../support/trace.js";
import { asks, DeviceLab, GPU, podOf } from "../cm/devicemanager/lab.js";

const PROTO = fileURLToPath(new URL("../apis/podresources/podresources.proto", import.meta.url));
const { v1 } = loadPackageDefinition(loadSync(PROTO, { keepCase: true, longs: Number })) as unknown as {
  v1: { PodResourcesLister: ServiceClientConstructor };
};

test("the tables of podresources v1 have the names and numbers of the .proto file", () => {
  const parsed = (text: string) => protobuf.parse(text, { keepCase: true }).root.toJSON().nested?.["v1"];
  const ours = protoText("v1", { PodResourcesLister: POD_RESOURCES_LISTER });
  assert.deepEqual(parsed(ours), parsed(readFileSync(PROTO, "utf8")));
});

/** Serves the lab's pods. @returns asks a method by name */
async function serve(lab: DeviceLab) {
  const { trace, events } = recordingTrace(lab.clock);
  const podManager = { getPods: () => lab.pods };
  const server = await openPodResources(
    { trace, metrics: lab.metrics, podManager, deviceManager: lab.manager },
    lab.rootDir,
  );
  const socket = `unix://${join(lab.rootDir, "pod-resources", "kubelet.sock")}`;
  const client = new v1.PodResourcesLister(socket, credentials.createInsecure());
  onTestFinished(async () => {
    client.close();
    await server?.close();
  });
  const ask = (method: string) =>
    new Promise<object>((resolve, reject) => {
      const answered: sendUnaryData<object> = (error, value) => (error === null ? resolve(value ?? {}) : reject(error));
      (client as unknown as Record<string, (request: object, answer: typeof answered) => void>)[method]?.({}, answered);
    });
  return { server, ask, events };
}

test("an agent learns which container has which device, and which devices there are", async () => {
  const lab = await DeviceLab.start();
  const at = (ID: string, ...nodes: readonly number[]) => ({
    ID,
    health: "Healthy",
    topology: { nodes: nodes.map((node) => ({ ID: node })) },
  });
  await lab.plugin([...healthy("a"), at("b", 1, 2), { ID: "c", health: "Unhealthy" }]);
  await lab.admit(podOf("web", [asks(2), { name: "side" }]));
  const { ask } = await serve(lab);
  const of = (id: string, node?: number) => ({
    resource_name: GPU,
    device_ids: [id],
    ...(node === undefined ? {} : { topology: { nodes: [{ ID: node }] } }),
  });
  const devices = [of("b", 1), of("b", 2), of("a")];
  assert.deepEqual(await ask("List"), {
    pod_resources: [{ name: "web", namespace: "default", containers: [{ name: "app", devices }, { name: "side" }] }],
  });
  assert.deepEqual(await ask("GetAllocatableResources"), { devices });
  const counted = parseMetrics(await lab.metrics.text());
  for (const [of, count] of [
    ["total", 2],
    ["list", 1],
    ["get_allocatable", 1],
  ] as const) {
    const name = `kubelet_pod_resources_endpoint_requests_${of}`;
    assert.equal(sampleOf(counted, name, { server_api_version: "v1" }), count);
  }
  // A pod that has ended is not listed, and has no devices.
  lab.pods = [];
  assert.deepEqual(await ask("List"), {});
  assert.deepEqual(lab.manager.getDevices("uid-web", "app"), []);
});

test("a folder whose path is too long is reported", async () => {
  const lab = new DeviceLab();
  Object.assign(lab, { rootDir: join(lab.rootDir, "x".repeat(100)) });
  const { server, events } = await serve(lab);
  assert.equal(server, undefined);
  assert.match(JSON.stringify(events), /cannot be asked for: a socket's path has at most 107 bytes/);
});
