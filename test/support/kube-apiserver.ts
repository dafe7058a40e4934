import { type ChildProcess, spawn } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RestConfig } from "../../src/staging/client-go/rest/client.js";
import { SystemClock } from "../../src/util/clock.js";
import type { TestEtcd } from "./etcd.js";
import { freePort } from "./free-port.js";

const POLL_MS = 100;
const START_TIMEOUT_MS = 90_000;
const TOKEN = "test-administrator";
/** Its endpoint in the service `kubernetes`; kube-apiserver refuses loopback addresses. */
const ADVERTISED = "192.0.2.1";

interface Identity {
  readonly caCertificatePem: string;
  readonly serviceAccountKeyPem: string;
}

function newKey(): string {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return privateKey.export({ type: "sec1", format: "pem" }).toString();
}

/** The kube-apiserver that KUBELAB_TEST_KUBE_APISERVER names, on an etcd that a control plane of ours has used. */
export class KubeApiserver {
  private constructor(
    readonly admin: RestConfig,
    readonly process: ChildProcess,
    readonly folder: string,
  ) {}

  /** @param flags in addition */
  static async start(etcd: TestEtcd, ...flags: readonly string[]): Promise<KubeApiserver> {
    const folder = mkdtempSync(join(tmpdir(), "kubelab-kube-apiserver-"));
    const port = await freePort();
    const file = (name: string, text: string) => {
      writeFileSync(join(folder, name), text, { mode: 0o600 });
      return join(folder, name);
    };
    // Clients of ours stay known to it: the same CA, the same key of service accounts.
    const stored = await etcd.ctl("get", "/kubelab/identity", "--print-value-only");
    const identity = stored === "" ? undefined : (JSON.parse(stored) as Identity);
    const serviceAccountKey = file("sa.key", identity?.serviceAccountKeyPem ?? newKey());
    const args = [
      `--etcd-servers=${etcd.url}`,
      `--secure-port=${port}`,
      "--bind-address=127.0.0.1",
      `--advertise-address=${ADVERTISED}`,
      `--cert-dir=${folder}`,
      ...(identity === undefined ? [] : [`--client-ca-file=${file("ca.crt", identity.caCertificatePem)}`]),
      `--token-auth-file=${file("tokens.csv", `${TOKEN},administrator,1,system:masters\n`)}`,
      "--authorization-mode=Node,RBAC",
      "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
      `--service-account-key-file=${serviceAccountKey}`,
      `--service-account-signing-key-file=${serviceAccountKey}`,
      "--service-cluster-ip-range=10.96.0.0/12",
      ...flags,
    ];
    const binary = process.env["KUBELAB_TEST_KUBE_APISERVER"] ?? "";
    const child = spawn(binary, args, { stdio: ["ignore", "ignore", "pipe"] });
    let log = "";
    child.stderr?.on("data", (chunk: Buffer) => {
      log = (log + chunk.toString()).slice(-20_000);
    });
    const admin = { server: `https://127.0.0.1:${port}`, insecureSkipTlsVerify: true, token: TOKEN };
    const server = new KubeApiserver(admin, child, folder);
    await server.#ready(() => log);
    return server;
  }

  async #ready(log: () => string): Promise<void> {
    const { createClient } = await import("../../src/staging/client-go/rest/create-client.js");
    const { SystemRandom } = await import("../../src/util/random.js");
    const { Trace } = await import("../../src/trace/trace.js");
    const clock = new SystemClock();
    await using client = createClient(this.admin, {
      clock,
      random: new SystemRandom(),
      trace: new Trace(clock),
      actor: "user",
    });
    for (let waitedMs = 0; ; waitedMs += POLL_MS) {
      const isReady = await client.request({ method: "GET", path: "/readyz" }).then(
        ({ status }) => status === 200,
        () => false,
      );
      if (isReady) return;
      if (this.process.exitCode !== null || waitedMs >= START_TIMEOUT_MS) {
        await this.stop();
        throw new Error(`kube-apiserver does not serve:\n${log()}`);
      }
      await clock.sleep(POLL_MS);
    }
  }

  async stop(): Promise<void> {
    if (this.process.exitCode === null && this.process.signalCode === null) {
      const exited = once(this.process, "exit");
      this.process.kill("SIGKILL");
      await exited;
    }
    rmSync(this.folder, { recursive: true, force: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}
