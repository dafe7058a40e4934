import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ControlPlane } from "../../src/cluster/control-plane/control-plane.js";
import { startControlPlane } from "../../src/cluster/control-plane/start.js";
import { runApiserverSource } from "../../src/kubelet/config/apiserver.js";
import { decodeSinglePod } from "../../src/kubelet/config/decode.js";
import { PodConfig } from "../../src/kubelet/config/pod-config.js";
import { MirrorClient } from "../../src/kubelet/pod/mirror-client.js";
import { PodManager } from "../../src/kubelet/pod/pod-manager.js";
import { StatusManager } from "../../src/kubelet/status/manager.js";
import type { PodUpdate } from "../../src/kubelet/types/pod-update.js";
import type { KubeObject } from "../../src/staging/apimachinery/api/meta.js";
import type { V1Pod } from "../../src/staging/apimachinery/api/pod.js";
import { isMirrorPod } from "../../src/staging/apimachinery/corev1/pod-references.js";
import { issuedCertificate, requestCertificate } from "../../src/staging/client-go/certificate/csr.js";
import type { KubeClient } from "../../src/staging/client-go/rest/client.js";
import { createClient } from "../../src/staging/client-go/rest/create-client.js";
import { generatePrivateKey, privateKeyPem } from "../../src/staging/pki/keys.js";
import { Trace } from "../../src/trace/trace.js";
import { SystemClock } from "../../src/util/clock.js";
import { SystemRandom } from "../../src/util/random.js";

const clock = new SystemClock();
const random = new SystemRandom();
const trace = new Trace(clock);
const { signal } = new AbortController();
const MANIFEST = `{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: app, image: IMAGE}]}}`;

/** A client with a certificate of the node, as the cluster's own signer gives it: NodeRestriction watches over it. */
async function nodeClient({ admin }: ControlPlane, nodeName: string): Promise<KubeClient> {
  await using client = createClient(admin, { clock, random, trace, actor: "user" });
  const key = await generatePrivateKey("ec");
  const subject = { commonName: `system:node:${nodeName}`, organization: ["system:nodes"] };
  const usages = ["digital signature", "key encipherment", "client auth"];
  const signerName = "kubernetes.io/kube-apiserver-client-kubelet";
  const request = { name: nodeName, key, subject, usages, signerName, nowMs: clock.now() };
  const asked = await requestCertificate(client, request, signal);
  if (asked.outcome === "unusable") throw new Error(asked.why);
  const path = `/apis/certificates.k8s.io/v1/certificatesigningrequests/${nodeName}`;
  // Who may approve is approved for: the administrator needs nobody else.
  for (;;) {
    const csr = await client.expect<typeof asked.csr>({ method: "GET", path });
    const clientCertificatePem = issuedCertificate(csr);
    if (clientCertificatePem === undefined) continue;
    const { server, caPem = "" } = admin;
    const config = { server, caPem, clientCertificatePem, clientKeyPem: privateKeyPem(key) };
    return createClient(config, { clock, random, trace, actor: "kubelet" });
  }
}

describe("a node's pods on a real API server, as the node itself", () => {
  let cluster: ControlPlane;
  let client: KubeClient;
  beforeEach(async () => {
    cluster = await startControlPlane({ clock, random, trace, kubeVersion: "1.25" });
    client = await nodeClient(cluster, "n1");
    const node = { apiVersion: "v1", kind: "Node", metadata: { name: "n1" } };
    await client.expect({ method: "POST", path: "/api/v1/nodes", body: node });
  });
  afterEach(async () => {
    await client.close();
    await cluster.close();
  });

  const getPod = (name: string) =>
    client.request<V1Pod>({ method: "GET", path: `/api/v1/namespaces/default/pods/${name}` });
  const staticPod = async (image: string) => {
    const origin = { source: "/m/web.yaml", isFile: true, nodeName: "n1" };
    const pod = await decodeSinglePod(MANIFEST.replace("IMAGE", image), origin);
    const annotations = { ...pod.metadata.annotations, "kubernetes.io/config.source": "file" };
    return { ...pod, metadata: { ...pod.metadata, annotations } };
  };

  function manager(podManager: PodManager) {
    const podDeletionSafety = { podResourcesAreReclaimed: () => true, podCouldHaveRunningContainers: () => false };
    return new StatusManager({ client, podManager, podDeletionSafety, clock, trace }, { kubeVersion: "1.25" });
  }

  test("a static pod: its mirror pod, its status, a new mirror pod after a change, no mirror pod after deletion", async () => {
    const mirrors = new MirrorClient({ client, trace }, "n1");
    const podManager = new PodManager();
    const statuses = manager(podManager);
    const first = await staticPod("busybox");
    expect(await mirrors.reconcile(first, undefined, signal)).toEqual({ type: "created" });
    const { body: mirror } = await getPod("web-n1");
    expect(isMirrorPod(mirror)).toBe(true);
    expect(mirror.metadata.uid).not.toBe(first.metadata.uid);

    podManager.setPods([first, mirror]);
    statuses.setPodStatus(first, { phase: "Running", conditions: [{ type: "Ready", status: "True" }] });
    await statuses.drain(signal);
    expect((await getPod("web-n1")).body.status).toMatchObject({ phase: "Running", conditions: [{ type: "Ready" }] });

    const second = await staticPod("nginx");
    expect(await mirrors.reconcile(second, mirror, signal)).toEqual({ type: "created" });
    const { body: renewed } = await getPod("web-n1");
    expect(renewed.spec.containers?.[0]?.image).toBe("nginx");
    expect(await mirrors.reconcile(second, renewed, signal)).toEqual({ type: "unchanged" });
    // The one that was deleted has another uid: the new one stays.
    expect(await mirrors.deleteMirrorPod("web-n1_default", mirror.metadata.uid, "the test says so", signal)).toEqual({
      type: "unchanged",
    });
    expect(await mirrors.deleteMirrorPod("web-n1_default", undefined, "the test says so", signal)).toEqual({
      type: "deleted",
    });
    expect((await getPod("web-n1")).status).toBe(404);
  });

  test("a pod of the API: ADD, its status RECONCILEd, DELETE, and gone with its last status", async () => {
    await using admin = createClient(cluster.admin, { clock, random, trace, actor: "user" });
    const recorder = { event: () => {} };
    const config = new PodConfig({ clock, trace, recorder });
    const podManager = new PodManager();
    const statuses = manager(podManager);
    const stop = new AbortController();
    const source = runApiserverSource(
      { client, clock, random, trace },
      { nodeName: "n1" },
      config.channel("api"),
      stop.signal,
    );
    const updates = config.updates(stop.signal);
    const next = async (): Promise<[PodUpdate["op"], V1Pod | undefined]> => {
      const { value } = await updates.next();
      const update = value as PodUpdate;
      for (const pod of update.pods) {
        if (update.op === "REMOVE") podManager.deletePod(pod);
        else podManager.updatePod(pod);
      }
      return [update.op, update.pods[0]];
    };
    expect(await next()).toEqual(["ADD", undefined]);
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "a" },
      spec: { nodeName: "n1", containers: [{ name: "app", image: "busybox" }] },
    };
    const path = "/api/v1/namespaces/default/pods";
    // The service account comes from a controller, and a pod needs it.
    while (
      (await admin.request({ method: "GET", path: "/api/v1/namespaces/default/serviceaccounts/default" })).status !==
      200
    );
    await admin.expect<KubeObject>({ method: "POST", path, body: pod });
    const [op, added] = await next();
    expect([op, added?.metadata.name]).toEqual(["ADD", "a"]);
    if (added === undefined) return;
    statuses.setPodStatus(added, { phase: "Running" });
    await statuses.drain(signal);
    expect((await next())[0]).toBe("RECONCILE");
    await admin.expect({ method: "DELETE", path: `${path}/a` });
    const [deleteOp, deleting] = await next();
    expect([deleteOp, typeof deleting?.metadata.deletionTimestamp]).toEqual(["DELETE", "string"]);
    if (deleting === undefined) return;
    statuses.setPodStatus(deleting, { phase: "Succeeded" });
    await statuses.drain(signal);
    while ((await next())[0] !== "REMOVE");
    expect((await getPod("a")).status).toBe(404);
    stop.abort();
    await expect(source).rejects.toThrow();
  });
});
