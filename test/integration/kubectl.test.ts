import { execFile, execFileSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ControlPlane } from "../../src/controlplane/control-plane.js";
import { startControlPlane } from "../../src/controlplane/start.js";
import { createCertificateRequest } from "../../src/pki/csr.js";
import { generatePrivateKey } from "../../src/pki/keys.js";
import { Trace } from "../../src/trace/trace.js";
import { SystemClock } from "../../src/util/clock.js";
import { SystemRandom } from "../../src/util/random.js";

const run = promisify(execFile);

function hasKubectl(): boolean {
  try {
    execFileSync("kubectl", ["version", "--client"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

describe.skipIf(!hasKubectl())("kubectl (needs it in the PATH) against the embedded control plane", () => {
  let controlPlane: ControlPlane;
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "kubelab-kubectl-"));
    const clock = new SystemClock();
    const options = { clock, random: new SystemRandom(), trace: new Trace(clock), kubeVersion: "1.25" };
    controlPlane = await startControlPlane(options);
    await writeFile(join(folder, "config"), JSON.stringify(kubeconfigOf(controlPlane)), { mode: 0o600 });
  });

  afterAll(async () => {
    await controlPlane.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function kubectl(...args: string[]): Promise<string> {
    // Its discovery cache goes into the folder too.
    const env = { PATH: process.env["PATH"] ?? "", HOME: folder, KUBECONFIG: join(folder, "config") };
    const { stdout, stderr } = await run("kubectl", args, { env });
    return stdout + stderr;
  }

  async function create(object: object): Promise<string> {
    const file = join(folder, "object.json");
    await writeFile(file, JSON.stringify(object));
    return kubectl("create", "-f", file);
  }

  test("nodes: create, get, describe, label, cordon, apply, delete", async () => {
    const conditions = [{ type: "Ready", status: "True", reason: "KubeletReady", message: "ready" }];
    const node = { apiVersion: "v1", kind: "Node", metadata: { name: "n1" }, status: { conditions } };
    expect(await create(node)).toBe("node/n1 created\n");
    expect(await kubectl("get", "nodes")).toMatch(/^NAME +STATUS +ROLES +AGE +VERSION\nn1 +Ready /);
    expect(await kubectl("describe", "node", "n1")).toMatch(/Ready +True .*KubeletReady/);
    expect(await kubectl("label", "node", "n1", "a=b")).toBe("node/n1 labeled\n");
    expect(await kubectl("cordon", "n1")).toBe("node/n1 cordoned\n");
    expect(await kubectl("get", "node", "n1", "-o", "jsonpath={.spec.unschedulable}")).toBe("true");
    expect(await kubectl("apply", "--server-side", "-f", join(folder, "object.json"))).toBe(
      "node/n1 serverside-applied\n",
    );
    expect(await kubectl("delete", "node", "n1")).toContain('node "n1" deleted');
  });

  test("a certificate request: create, approve (a protobuf body), wait, read as YAML", async () => {
    const pem = createCertificateRequest(await generatePrivateKey("ec"), {
      subject: { commonName: "jane", organization: [] },
    });
    const spec = {
      request: Buffer.from(pem).toString("base64"),
      signerName: "kubernetes.io/kube-apiserver-client",
      usages: ["client auth", "digital signature"],
    };
    await create({
      apiVersion: "certificates.k8s.io/v1",
      kind: "CertificateSigningRequest",
      metadata: { name: "jane" },
      spec,
    });
    expect(await kubectl("certificate", "approve", "jane")).toContain("approved");
    await kubectl("wait", "csr/jane", "--for=jsonpath={.status.certificate}", "--timeout=10s");
    const yaml = await kubectl("get", "csr", "jane", "-o", "yaml");
    expect(yaml).toMatch(/^apiVersion: certificates\.k8s\.io\/v1\nkind: CertificateSigningRequest\n/);
    expect(yaml).toMatch(/^ {2}username: kubernetes-admin$/m);
  });

  test("bodies in protobuf: config maps, secrets, namespaces, service accounts, tokens", async () => {
    await kubectl("create", "configmap", "c", "--from-literal=a=b");
    expect(await kubectl("get", "configmap", "c", "-o", "jsonpath={.data.a}")).toBe("b");
    await kubectl("create", "secret", "generic", "s", "--from-literal=a=b");
    expect(await kubectl("get", "secret", "s", "-o", "jsonpath={.data.a}")).toBe("Yg==");
    await kubectl("create", "namespace", "team");
    await kubectl("create", "serviceaccount", "robot", "-n", "team");
    expect(await kubectl("create", "token", "robot", "-n", "team")).toMatch(/^eyJ/);
  });

  test("rights: can-i for oneself and for another, and the list", async () => {
    expect(await kubectl("auth", "can-i", "delete", "nodes")).toContain("yes");
    const other = kubectl("auth", "can-i", "delete", "nodes", "--as", "jane");
    await expect(other).rejects.toMatchObject({ code: 1, stdout: "no\n" });
    expect(await kubectl("auth", "can-i", "--list")).toContain("*.*");
  });

  test("discovery: resources, explanations, versions, health", async () => {
    expect(await kubectl("api-resources")).toMatch(/^leases +coordination\.k8s\.io\/v1 +true +Lease$/m);
    expect(await kubectl("explain", "lease.spec")).toContain("renewTime");
    expect(await kubectl("version")).toContain("Server Version: v1.25.0+kubelab");
    expect(await kubectl("get", "--raw", "/readyz?verbose")).toContain("readyz check passed");
  });
});

function kubeconfigOf({ admin }: ControlPlane): object {
  const base64 = (pem = "") => Buffer.from(pem).toString("base64");
  const user = {
    "client-certificate-data": base64(admin.clientCertificatePem),
    "client-key-data": base64(admin.clientKeyPem),
  };
  const cluster = { server: admin.server, "certificate-authority-data": base64(admin.caPem) };
  return {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "lab", cluster }],
    users: [{ name: "admin", user }],
    contexts: [{ name: "lab", context: { cluster: "lab", user: "admin" } }],
    "current-context": "lab",
  };
}
