import assert from "node:assert/strict";
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, test } from "vitest";
import { createClient } from "../../src/client/create-client.js";
import { kubeconfigText } from "../../src/client/kubeconfig-text.js";
import type { ControlPlane } from "../../src/controlplane/control-plane.js";
import { startControlPlane } from "../../src/controlplane/start.js";
import { Trace } from "../../src/trace/trace.js";
import { SystemClock } from "../../src/util/clock.js";
import { SystemRandom } from "../../src/util/random.js";
import { CliProcess, newHome } from "../support/cli-process.js";
import { suiteNeeding } from "../support/requirements.js";

suiteNeeding(["kubectl"], "a lab on a cluster of the learner's own", () => {
  const home = newHome();
  const kubeconfig = join(home, "admin.conf");
  const clock = new SystemClock();
  const deps = { clock, random: new SystemRandom(), trace: new Trace(clock) };
  let cluster: ControlPlane;
  beforeAll(async () => {
    cluster = await startControlPlane({ ...deps, kubeVersion: "1.25" });
    writeFileSync(kubeconfig, kubeconfigText(cluster.admin, { cluster: "c", user: "admin", context: "mine" }));
    const { clientCertificatePem: _c, clientKeyPem: _k, ...nobody } = cluster.admin;
    const weak = kubeconfigText(
      { ...nobody, token: "weak00.0123456789abcdef" },
      { cluster: "c", user: "weak", context: "weak" },
    );
    writeFileSync(join(home, "weak.conf"), weak);
    await using client = createClient(cluster.admin, { ...deps, actor: "user" });
    const stringData = {
      "token-id": "weak00",
      "token-secret": "0123456789abcdef",
      "usage-bootstrap-authentication": "true",
    };
    const type = "bootstrap.kubernetes.io/token";
    const metadata = { name: "bootstrap-token-weak00", namespace: "kube-system" };
    const body = { apiVersion: "v1", kind: "Secret", metadata, type, stringData };
    await client.expect({ method: "POST", path: "/api/v1/namespaces/kube-system/secrets", body });
    writeFileSync(join(home, "answers.yaml"), "secrets: no-secrets\nwrong-half: unauthorized\n");
  });
  afterAll(async () => {
    await cluster.close();
    rmSync(home, { recursive: true, force: true });
  });
  const learn = (...words: string[]) => new CliProcess(home, ["learn", ...words], { TMPDIR: tmpdir() }).ended;
  const folders = () => readdirSync(tmpdir()).filter((name) => name.startsWith("kubelab-lab-"));

  test("it is played there, and what it made is taken away", async () => {
    const before = folders();
    const words = ["start", "tokens", "--kubeconfig", kubeconfig, "--yes", "--answers", "answers.yaml"];
    const { code, stdout, stderr } = await learn(...words);
    assert.equal(code, 0, stdout + stderr);
    assert.match(stdout, /real\s+cluster\s+mine/);
    await using client = createClient(cluster.admin, { ...deps, actor: "user" });
    const path = "/api/v1/namespaces/kube-system/secrets";
    const { items } = await client.expect<{ items: { metadata: { name: string } }[] }>({ method: "GET", path });
    assert.deepEqual(
      items.map(({ metadata }) => metadata.name).filter((name) => name.startsWith("bootstrap-token-")),
      ["bootstrap-token-weak00"],
    );
    assert.deepEqual(folders(), before);
  });

  test("a lab that does what no cluster should bear says that it needs the embedded one", async () => {
    const { code, stderr } = await learn("start", "pleg-not-healthy", "--kubeconfig", kubeconfig);
    assert.equal(code, 2);
    assert.match(stderr, /lab pleg-not-healthy needs the embedded cluster/);
  });

  test("without the rights it does not begin, and says which are missing", async () => {
    const weak = join(home, "weak.conf");
    const { code, stderr } = await learn("start", "tokens", "--kubeconfig", weak, "--yes", "--answers", "answers.yaml");
    assert.equal(code, 4, stderr);
    assert.match(stderr, /rights that you do not have there: create secrets, delete secrets/);
  });

  test("without a terminal and without --yes it does not begin", async () => {
    const { code, stderr } = await learn("start", "tokens", "--kubeconfig", kubeconfig);
    assert.equal(code, 2);
    assert.match(stderr, /on a terminal, or with --yes/);
  });
});
