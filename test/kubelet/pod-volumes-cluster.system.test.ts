import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "vitest";
import type { ControlPlane } from "../../src/cluster/control-plane/control-plane.js";
import { startControlPlane } from "../../src/cluster/control-plane/start.js";
import { makeEnvironmentVariables } from "../../src/kubelet/kubelet-pods/environment.js";
import { PodObjectManagers } from "../../src/kubelet/util/manager/pod-objects.js";
import { TokenManager } from "../../src/kubelet/volumes/token-manager.js";
import { VolumeManager } from "../../src/kubelet/volumes/volume-manager.js";
import { asPod, type V1Pod } from "../../src/staging/apimachinery/api/pod.js";
import { Informer } from "../../src/staging/client-go/cache/informer.js";
import type { KubeClient } from "../../src/staging/client-go/rest/client.js";
import { createClient } from "../../src/staging/client-go/rest/create-client.js";
import { collectionPath, SERVICES } from "../../src/staging/client-go/rest/paths.js";
import { SystemClock } from "../../src/util/clock.js";
import { SystemRandom } from "../../src/util/random.js";
import { RuntimeLab } from "../cluster/runtime/lab.js";
import { untilTrue } from "../support/fake-clock.js";
import { nodeClient } from "../support/node-client.js";
import { RecordedEvents } from "../support/recorded-events.js";
import { only, recordingTrace } from "../support/trace.js";

const clock = new SystemClock();
const random = new SystemRandom();
const { trace, events } = recordingTrace(clock, true);
const { signal } = new AbortController();

const VOLUME_MOUNTS = [{ name: "all", mountPath: "/all" }];
const SOURCES = [
  { serviceAccountToken: { path: "token", expirationSeconds: 3607 } },
  { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
  { configMap: { name: "settings" } },
  { secret: { name: "keys" } },
  { downwardAPI: { items: [{ path: "name", fieldRef: { fieldPath: "metadata.name" } }] } },
];
const POD = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p" },
  spec: {
    nodeName: "n1",
    automountServiceAccountToken: false,
    containers: [
      { name: "c", image: "busybox", volumeMounts: VOLUME_MOUNTS, envFrom: [{ secretRef: { name: "keys" } }] },
    ],
    volumes: [{ name: "all", projected: { sources: SOURCES } }],
  },
};
const DEFAULT = "/api/v1/namespaces/default";

describe("a pod's volumes and environment on a real API server, as the node itself", () => {
  let cluster: ControlPlane;
  let client: KubeClient;
  let admin: KubeClient;

  beforeEach(async () => {
    cluster = await startControlPlane({ clock, random, trace, kubeVersion: "1.25" });
    admin = createClient(cluster.admin, { clock, random, trace, actor: "user" });
    client = await nodeClient(cluster, "n1", { clock, random, trace });
    await client.expect({ method: "POST", path: "/api/v1/nodes", body: node() });
    const settings = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "settings" }, data: { colour: "red" } };
    await admin.expect({ method: "POST", path: `${DEFAULT}/configmaps`, body: settings });
    const keys = { apiVersion: "v1", kind: "Secret", metadata: { name: "keys" }, stringData: { PASSWORD: "s3cret" } };
    await admin.expect({ method: "POST", path: `${DEFAULT}/secrets`, body: keys });
    await untilThere("serviceaccounts/default");
    await untilThere("configmaps/kube-root-ca.crt");
  });
  afterEach(async () => {
    await Promise.all([client.close(), admin.close()]);
    await cluster.close();
  });

  const node = () => ({ apiVersion: "v1", kind: "Node", metadata: { name: "n1" } });

  /** Controllers make it as soon as they run: the watch tells. */
  async function untilThere(name: string): Promise<void> {
    const [resource = "", object = ""] = name.split("/");
    const query = { fieldSelector: `metadata.name=${object}` };
    const stop = new AbortController();
    for await (const { type } of admin.watch(`${DEFAULT}/${resource}`, query, stop.signal)) {
      if (type === "ADDED") stop.abort();
    }
  }

  async function createPod(): Promise<V1Pod> {
    const made = asPod(await admin.expect({ method: "POST", path: `${DEFAULT}/pods`, body: POD }));
    assert.ok(made);
    return made;
  }

  test("token, config maps, secret and own data are read with the node's rights, and seen by a container", async () => {
    const pod = await createPod();
    await using objects = new PodObjectManagers({ client, clock, random, trace });
    objects.registerPod(pod);
    const recorder = new RecordedEvents();
    const tokens = new TokenManager({ client, clock, random, trace });
    const allocatable = () => ({});
    const rootDir = mkdtempSync(join(tmpdir(), "volumes-cluster-"));
    const deps = { configMaps: objects.configMaps, secrets: objects.secrets, tokens, allocatable };
    const volumes = new VolumeManager(
      { ...deps, clock, random, recorder, trace },
      { rootDir, hostPaths: { kind: "refuse" } },
    );
    await volumes.waitForAttachAndMount(pod, signal);
    assert.deepEqual(recorder.lines, []);

    const runtime = new RuntimeLab();
    const hostPath = volumes.getMountedVolumes(pod.metadata.uid).get("all")?.hostPath ?? "";
    const mounts = [{ containerPath: "/all", hostPath, readonly: true }];
    const container = runtime.run({ mounts, command: ["sleep", "infinity"] });
    const read = async (file: string) => (await runtime.sh(`cat /all/${file}`, container)).stdout.toString();
    assert.equal(await read("colour"), "red");
    assert.equal(await read("PASSWORD"), "s3cret");
    assert.equal(await read("name"), "p");
    assert.match(await read("ca.crt"), /^-----BEGIN CERTIFICATE-----/);
    const token = await read("token");
    const review = { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token } };
    const path = "/apis/authentication.k8s.io/v1/tokenreviews";
    const answer = await admin.expect<{ status: object }>({ method: "POST", path, body: review });
    assert.deepEqual(
      (answer.status as { user: { username: string } }).user.username,
      "system:serviceaccount:default:default",
    );
    assert.ok(!JSON.stringify(events).includes(token), "no trace holds the token");
    runtime.stop();
    await volumes.waitForUnmount(pod, signal);
  });

  test("the environment has the API server's service and the secret; a secret that no pod names stays closed", async () => {
    const pod = await createPod();
    await using objects = new PodObjectManagers({ client, clock, random, trace });
    objects.registerPod(pod);
    const lister = new Informer({ client, clock, random, trace }, { path: collectionPath(SERVICES) });
    const stop = new AbortController();
    const following = assert.rejects(lister.run(stop.signal), { name: "AbortError" });
    await untilTrue(() => lister.syncedObjects !== undefined);
    const deps = {
      configMaps: objects.configMaps,
      secrets: objects.secrets,
      services: () => lister.syncedObjects,
      recorder: new RecordedEvents(),
      allocatable: () => ({}),
      hostIps: () => [],
    };
    const [container] = pod.spec.containers ?? [];
    assert.ok(container);
    const result = await makeEnvironmentVariables(deps, pod, container, [], signal);
    assert.ok(result.outcome === "ok");
    const values = new Map(result.envs.map(({ name, value }) => [name, value]));
    assert.equal(values.get("PASSWORD"), "s3cret");
    assert.equal(values.get("KUBERNETES_SERVICE_PORT_HTTPS"), "443");
    assert.equal(values.get("KUBERNETES_SERVICE_HOST"), "10.96.0.1");

    // A pod that is not the node's own, as a kubelet might think up to read what it names.
    const volumes = [{ name: "v", secret: { secretName: "any" } }];
    const metadata = { ...pod.metadata, namespace: "kube-system", uid: "made-up" };
    objects.registerPod({ ...pod, metadata, spec: { ...pod.spec, volumes, containers: [] } });
    const refused = { outcome: "failed", message: "failed to sync secret cache: timed out waiting for the condition" };
    assert.deepEqual(await objects.secrets.get("kube-system", "any", signal), refused);
    const told = only(events, "error").map(({ message }) => message);
    assert.match(told.join("\n"), /secrets "any" is forbidden: User "system:node:n1" cannot list resource "secrets"/);
    stop.abort();
    await following;
  });
});
