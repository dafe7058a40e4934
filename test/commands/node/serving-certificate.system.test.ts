import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterAll, beforeAll, describe, test } from "vitest";
import type { ControlPlane } from "../../../src/cluster/control-plane/control-plane.js";
import { startControlPlane } from "../../../src/cluster/control-plane/start.js";
import { CliSession } from "../../../src/commands/cli/session.js";
import { PROGRAM } from "../../../src/commands/main.js";
import type { CertificateSigningRequest } from "../../../src/staging/apimachinery/api/certificates.js";
import type { KubeList } from "../../../src/staging/apimachinery/api/meta.js";
import type { KubeClient } from "../../../src/staging/client-go/rest/client.js";
import { createClient } from "../../../src/staging/client-go/rest/create-client.js";
import { CSRS, collectionPath } from "../../../src/staging/client-go/rest/paths.js";
import { decide } from "../../../src/staging/csr/decide.js";
import { planJoin } from "../../../src/testbed/node/join-plan.js";
import { nodeConfiguration } from "../../../src/testbed/node/kubelet-config.js";
import { startNode } from "../../../src/testbed/node/node.js";
import { SystemClock } from "../../../src/util/clock.js";
import { SystemRandom } from "../../../src/util/random.js";
import { recordingTrace } from "../../support/trace.js";

const clock = new SystemClock();
const random = new SystemRandom();
const { trace, events } = recordingTrace(clock);
const { signal } = new AbortController();
const PODS = "/api/v1/namespaces/default/pods";

describe("an API server that checks kubelets' serving certificates", () => {
  const folder = mkdtempSync(join(tmpdir(), "kubelab-serving-"));
  let cluster: ControlPlane;
  let admin: KubeClient;
  beforeAll(async () => {
    cluster = await startControlPlane({ clock, random, trace, kubeVersion: "1.25", verifyKubelets: true });
    admin = createClient(cluster.admin, { clock, random, trace, actor: "user" });
  });
  afterAll(async () => {
    await admin.close();
    await cluster.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function start(name: string, rotateServerCertificates: boolean) {
    const none = async () => {};
    const kind = "embedded" as const;
    const rest = { description: "", kubeVersion: "1.25", close: none, [Symbol.asyncDispose]: none };
    const target = { kind, admin: cluster.admin, ...rest };
    const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
    const env = { HOME: folder };
    const context = new CliSession({ env, cwd: folder, streams, random, self: ["false"], signal }, PROGRAM);
    await context.load();
    const flags = { node: name, approve: "auto" as const, timeout: 60_000, cpu: "4", memory: "8Gi", pods: "9" };
    const plan = planJoin(flags, { home: folder, cwd: folder, canAsk: false });
    const options = {
      plan,
      kubeVersion: "1.25",
      target,
      port: 0,
      config: nodeConfiguration("1.25", { serverTLSBootstrap: rotateServerCertificates }),
      networkFolder: join(folder, "network"),
    };
    return startNode({ context, clock, trace }, options);
  }

  async function nodeWithPod(name: string, rotateServerCertificates: boolean) {
    const node = await start(name, rotateServerCertificates);
    const spec = {
      nodeName: name,
      restartPolicy: "Never",
      containers: [{ name: "c", image: "busybox", command: ["sh", "-c", "echo hello from here"] }],
    };
    const serviceAccount = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default" } };
    await admin.request({ method: "POST", path: "/api/v1/namespaces/default/serviceaccounts", body: serviceAccount });
    await admin.expect({
      method: "POST",
      path: PODS,
      body: { apiVersion: "v1", kind: "Pod", metadata: { name }, spec },
    });
    for (;;) {
      const { status } = await admin.expect<{ status?: { phase?: string } }>({
        method: "GET",
        path: `${PODS}/${name}`,
      });
      if (status?.phase === "Succeeded") return node;
    }
  }

  const log = (name: string) => admin.request<{ message?: string }>({ method: "GET", path: `${PODS}/${name}/log` });

  test("refuses one that the kubelet signed itself, in upstream's words", async () => {
    await using node = await nodeWithPod("self", false);
    const { status, body } = await log("self");
    const url = `https://localhost:${new URL(node.kubelet.url).port}/containerLogs/default/self/c`;
    assert.deepEqual([status, body.message], [500, `Get "${url}": x509: certificate signed by unknown authority`]);
  });

  test("takes the one that the cluster signed after an approval; it serves after a restart too", async () => {
    {
      await using _node = await nodeWithPod("rotating", true);
      const { status, body } = await log("rotating");
      assert.match(`${status} ${body.message}`, /^500 Get .*: remote error: tls: handshake failure$/, "none yet");
      const { items } = await admin.expect<KubeList<CertificateSigningRequest>>({
        method: "GET",
        path: collectionPath(CSRS),
      });
      const pending = items.find(({ spec }) => spec.signerName === "kubernetes.io/kubelet-serving");
      const name = pending?.metadata.name ?? "";
      assert.equal(pending?.spec.username, "system:node:rotating");
      const note = events.find((one) => one.kind === "note" && one.text.includes(`certificate approve ${name}`));
      assert.ok(note !== undefined, "the learner is told what to do");
      const word = { type: "Approved", reason: "Test", message: "by hand" } as const;
      await decide({ client: admin, trace }, name, word, signal);
      while ((await log("rotating")).status !== 200);
      const answer = await log("rotating");
      assert.equal(answer.status, 200);
    }
    const asked = () => events.filter((one) => one.kind === "note" && one.text.includes("certificate approve")).length;
    const before = asked();
    await using again = await start("rotating", true);
    // Only the request to the kubelet matters here, not its answer.
    const { status, body } = await log("rotating");
    assert.doesNotMatch(body.message ?? "", /x509|tls/, `${status} of ${again.kubelet.url}`);
    assert.equal(asked(), before);
  });
});
