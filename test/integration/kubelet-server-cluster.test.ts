import assert from "node:assert/strict";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import type { ControlPlane } from "../../src/cluster/control-plane/control-plane.js";
import { startControlPlane } from "../../src/cluster/control-plane/start.js";
import { openCertificateStore } from "../../src/kubelet/certificate/certificate-store.js";
import { kubeletServerCertificate } from "../../src/kubelet/certificate/kubelet.js";
import { clientUsages, KUBELET_CLIENT_SIGNER, nodeSubject } from "../../src/kubelet/certificate/node-identity.js";
import { KubeletAuth } from "../../src/kubelet/server/kubelet-auth.js";
import { KubeletServer } from "../../src/kubelet/server/server.js";
import type { CertificateSigningRequest } from "../../src/staging/apimachinery/api/certificates.js";
import type { KubeList } from "../../src/staging/apimachinery/api/meta.js";
import { requestCertificate } from "../../src/staging/client-go/certificate/csr.js";
import { runCertificateManager } from "../../src/staging/client-go/certificate/manager.js";
import { waitForCertificate } from "../../src/staging/client-go/certificate/wait.js";
import type { KubeClient, RestConfig } from "../../src/staging/client-go/rest/client.js";
import { createClient } from "../../src/staging/client-go/rest/create-client.js";
import { CSRS, collectionPath, objectPath } from "../../src/staging/client-go/rest/paths.js";
import { generatePrivateKey, privateKeyPem } from "../../src/staging/pki/keys.js";
import { Trace } from "../../src/trace/trace.js";
import { SystemClock } from "../../src/util/clock.js";
import { SystemRandom } from "../../src/util/random.js";
import { FakeHost } from "../kubelet/server/fake-host.js";
import { HttpsClient } from "../support/https-client.js";

const clock = new SystemClock();
const random = new SystemRandom();
const trace = new Trace(clock);
const { signal } = new AbortController();

describe("the kubelet's server in the embedded cluster", () => {
  let cluster: ControlPlane;
  let admin: KubeClient;
  let node: KubeClient;
  let auth: KubeletAuth;
  let server: KubeletServer;
  const clients: HttpsClient[] = [];
  const stop = new AbortController();
  let rotating: Promise<void>;
  let isShown: Promise<void>;

  beforeAll(async () => {
    cluster = await startControlPlane({ clock, random, trace, kubeVersion: "1.25" });
    const deps = { clock, random, trace };
    admin = createClient(cluster.admin, { ...deps, actor: "user" });
    node = createClient(await nodeConfig(), { ...deps, actor: "kubelet" });
    auth = new KubeletAuth({ client: node, clock, trace }, { nodeName: "n1", clientCaPem: cluster.caPem });
    const host = new FakeHost();
    server = await KubeletServer.listen({ host, clock, trace, auth }, { port: 0, transport: {} });
    const store = await openCertificateStore(await mkdtemp(join(tmpdir(), "kubelab-serving-")));
    isShown = new Promise((resolve) => {
      const onCertificate = (pair: Parameters<KubeletServer["useCertificate"]>[0]) => {
        server.useCertificate(pair);
        resolve();
      };
      const options = { nodeName: "n1", kubeVersion: "1.25", addresses: ["n1", "127.0.0.1"] };
      const config = kubeletServerCertificate({ store, onCertificate }, options);
      rotating = runCertificateManager({ ...deps, client: node }, config, stop.signal);
      rotating.catch(() => {});
    });
  });
  afterAll(async () => {
    for (const one of clients) one.close();
    stop.abort();
    await rotating?.catch(() => {});
    await server?.close();
    await auth?.close();
    await node?.close();
    await admin?.close();
    await cluster?.close();
  });

  /** A node's certificate, as the bootstrap would bring it. */
  async function nodeConfig(): Promise<RestConfig> {
    const key = await generatePrivateKey("ec");
    const usages = clientUsages("1.25", key);
    const asked = { key, subject: nodeSubject("n1"), usages, signerName: KUBELET_CLIENT_SIGNER, nowMs: clock.now() };
    const result = await requestCertificate(admin, asked, signal);
    assert.ok(result.outcome === "created");
    const deps = { client: admin, clock, random, trace };
    const clientCertificatePem = await waitForCertificate(deps, result.csr, { timeoutMs: 20_000 }, signal);
    const { server: url, caPem } = cluster.admin;
    const ca = caPem === undefined ? {} : { caPem };
    return { server: url, ...ca, clientCertificatePem, clientKeyPem: privateKeyPem(key) };
  }

  function client(access: Partial<RestConfig> = {}): HttpsClient {
    const { clientCertificatePem: cert = "", clientKeyPem: key = "" } = access;
    const one = new HttpsClient({ url: server.url, ca: cluster.caPem, cert, key });
    clients.push(one);
    return one;
  }

  async function serviceAccountToken(name: string): Promise<string> {
    const accounts = "/api/v1/namespaces/default/serviceaccounts";
    await admin.expect({
      method: "POST",
      path: accounts,
      body: { apiVersion: "v1", kind: "ServiceAccount", metadata: { name } },
    });
    const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
    const path = `${accounts}/${name}/token`;
    return (await admin.expect<{ status: { token: string } }>({ method: "POST", path, body })).status.token;
  }

  test("its serving certificate is the cluster's once it is approved", async () => {
    await assert.rejects(client().ask("/healthz"), "without a certificate there is no TLS");
    let pending: CertificateSigningRequest | undefined;
    while (pending === undefined) {
      const list = await admin.expect<KubeList<CertificateSigningRequest>>({
        method: "GET",
        path: collectionPath(CSRS),
      });
      pending = list.items.find(({ spec }) => spec.signerName === "kubernetes.io/kubelet-serving");
    }
    assert.equal(pending.status?.conditions, undefined, "no controller approves it");
    const condition = { type: "Approved", status: "True", reason: "Test", message: "by hand" };
    const path = objectPath(CSRS, pending.metadata.name ?? "", "approval");
    await admin.expect({ method: "PUT", path, body: { ...pending, status: { conditions: [condition] } } });
    await isShown;
    const socket = await client().connect();
    assert.equal(socket.authorized, true);
    assert.equal(socket.getPeerCertificate().subject.CN, "system:node:n1");
    socket.destroy();
  });

  test("the administrator's certificate may everything, the node's own nothing", async () => {
    assert.equal((await client(cluster.admin).ask("/pods")).status, 200);
    const { status, text } = await client(node.config).ask("/pods");
    assert.equal(
      `${status} ${text}`,
      "403 Forbidden (user=system:node:n1, verb=get, resource=nodes, subresource=proxy)",
    );
  });

  test("a service account's token is accepted, with the rights of its roles", async () => {
    const ask = async (token: string, path: string) =>
      (await client().ask(path, { headers: { authorization: `Bearer ${token}` } })).status;
    const token = await serviceAccountToken("plain");
    assert.equal(await ask(token, "/pods"), 403);
    await admin.expect({
      method: "POST",
      path: "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
      body: {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "ClusterRoleBinding",
        metadata: { name: "reads-metrics" },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "system:kubelet-api-admin" },
        subjects: [{ kind: "ServiceAccount", name: "strong", namespace: "default" }],
      },
    });
    const strong = await serviceAccountToken("strong");
    assert.equal(await ask(strong, "/pods"), 200);
    assert.equal(await ask(strong, "/metrics"), 200);
    assert.equal(await ask("nobody's", "/pods"), 401);
    assert.equal((await client().ask("/pods")).status, 401);
  });
});
