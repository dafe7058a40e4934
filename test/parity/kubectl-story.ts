import { readFileSync } from "node:fs";
import type { KubeObject } from "../../src/staging/apimachinery/api/meta.js";
import type { KubeClient, RestConfig } from "../../src/staging/client-go/rest/client.js";
import { createClient } from "../../src/staging/client-go/rest/create-client.js";
import { createCertificateRequest } from "../../src/staging/pki/csr.js";
import { generatePrivateKey } from "../../src/staging/pki/keys.js";
import { Trace } from "../../src/trace/trace.js";
import { SystemClock } from "../../src/util/clock.js";
import { SystemRandom } from "../../src/util/random.js";
import { Kubectl, type KubectlRun } from "../support/kubectl.js";
import { podManifest } from "../support/kubectl-cluster.js";
import type { LoggingProxy, SeenRequest } from "../support/logging-proxy.js";

/** One command of the recording. */
export interface RecordedCommand {
  readonly name: string;
  readonly argv: readonly string[];
  /** commands with the same name share kubectl's cache on disk; absent: an empty cache */
  readonly cacheName?: string;
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  /** `GET /api/v1/nodes?limit=500 -> 200` */
  readonly summary: readonly string[];
}

export function recordedCommands(file: string): readonly RecordedCommand[] {
  return (JSON.parse(readFileSync(file, "utf8")) as { items: RecordedCommand[] }).items;
}

/** Discovery requests the groups in random order. */
const DISCOVERY = /^GET \/apis?(\/[^?]*)?\?timeout=\d+s -> /;
/** Sent by kubectl distributions that first choose a binary of the server's release. */
const DISPATCHER = /^GET \/version\?timeout=\d+s -> 200$/;

/**
 * The requests of a command in a form that two runs can compare: without discovery and run-specific values; a request
 * that is repeated until its response changes counts once.
 */
export function comparable(summary: readonly string[]): string[] {
  const lines = summary.filter((line) => !DISCOVERY.test(line) && !DISPATCHER.test(line)).map(normalised);
  return lines.filter((line, i) => line !== lines[i - 1]);
}

function normalised(line: string): string {
  return (
    sortedSelector(line)
      // The validity of kubectl's cache depends on an index that a real server rewrites each time.
      .replace(/^(GET \/openapi\/v3\?.*) -> 304$/, "$1 -> 200")
      .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "UID")
      .replace(/(resourceVersion)=[1-9]\d*/g, "$1=N")
      .replace(/(timeoutSeconds|timeout|hash)=[^& ]*/g, "$1=N")
  );
}

/** Terms of a field selector have a random order. */
function sortedSelector(line: string): string {
  return line.replace(/(fieldSelector=)([^& ]*)/, (_, key: string, terms: string) => {
    return key + terms.split("%2C").sort().join("%2C");
  });
}

/** The number of discovery requests, and whether all of them succeeded. */
export function discoveryOf(summary: readonly string[]): {
  readonly asked: boolean;
  readonly refused: readonly string[];
} {
  const lines = summary.filter((line) => DISCOVERY.test(line));
  return { asked: lines.length > 0, refused: lines.filter((line) => !line.endsWith("-> 200")) };
}

const CUT = "…(cut)";

/** The output of a command in a form that two runs can compare: without ages. Long recordings were truncated. */
export function printed(stdout: string, recordedStdout: string): { readonly here: string; readonly recorded: string } {
  const text = (one: string) => one.replace(/\b(\d+[smhd])+\b/g, "<age>").replace(/ +/g, " ");
  const recorded = text(recordedStdout);
  if (!recorded.endsWith(CUT)) return { here: text(stdout), recorded };
  const whole = recorded.slice(0, -CUT.length);
  return { here: text(stdout).slice(0, whole.length), recorded: whole };
}

export interface CommandRun extends KubectlRun {
  readonly summary: readonly string[];
}

/** Runs the recorded commands again in order, with the recorder's actions between them. */
export class KubectlStory {
  readonly kubectl: Kubectl;
  readonly client: KubeClient;

  constructor(
    admin: RestConfig,
    readonly proxy: LoggingProxy,
  ) {
    this.kubectl = new Kubectl({ server: proxy.url });
    const clock = new SystemClock();
    this.client = createClient(admin, { clock, random: new SystemRandom(), trace: new Trace(clock), actor: "user" });
    this.#manifest("ap");
    this.#manifest("bad", "Bad_Name");
  }

  /** The recorder's actions before the first command. */
  async begin(): Promise<void> {
    await this.#pod("live");
    await this.#csr("csr-mbwcg", "kubernetes.io/kube-apiserver-client");
  }

  async run(command: RecordedCommand): Promise<CommandRun> {
    await this.#before(command.name);
    this.proxy.take();
    const cache = `cache-${command.cacheName ?? command.name.replaceAll(/\W/g, "-")}`;
    const [, ...argv] = command.argv;
    const stop = new AbortController();
    const wantsInterrupt = argv.includes("-w") || argv.includes("--watch-only");
    const env = command.name.startsWith("edit") ? { EDITOR: "true", KUBE_EDITOR: "true" } : {};
    const running = this.kubectl.try(["--cache-dir", cache, ...argv], { env, signal: stop.signal });
    if (wantsInterrupt) {
      await this.proxy.answered(({ path }) => path.includes("watch=true"));
      stop.abort();
    }
    if (command.name === "wait --for=delete") {
      await this.proxy.answered(({ path }) => path.includes("watch=true"));
      await this.#finalizers("del", null);
    }
    const ended = await running;
    return { ...ended, summary: this.proxy.take().map(asSummary) };
  }

  async #before(name: string): Promise<void> {
    switch (name) {
      case "apply changed":
        return this.#manifest("ap", "ap", { more: "1" });
      case "delete --wait=false":
        await this.#pod("del");
        // It goes when kubectl waits for it, however late that is.
        return this.#finalizers("del", ["kubelab.test/wait"]);
      case "delete --force --grace-period=0":
        return this.#pod("del2");
      case "delete completed pod":
        return this.#phase("runner", "Succeeded");
      case "drain for real (only ev1)":
        await this.#unschedulable("real-1");
        return this.#pod("ev1");
      case "certificate approve":
        await this.#csr("kc-csr", "kubernetes.io/kube-apiserver-client");
        return this.#csr("kc-csr2", "kubernetes.io/kube-apiserver-client");
      default:
    }
  }

  #manifest(file: string, name = file, labels: Record<string, string> = {}): void {
    this.kubectl.file(`${file}.yaml`, podManifest(name, { labels: { app: name, ...labels } }));
  }

  async #pod(name: string): Promise<void> {
    const path = "/api/v1/namespaces/default/pods";
    await this.client.expect({ method: "POST", path, body: podManifest(name) });
    await this.#phase(name, "Running");
  }

  async #finalizers(name: string, finalizers: readonly string[] | null): Promise<void> {
    const path = `/api/v1/namespaces/default/pods/${name}`;
    const contentType = "application/merge-patch+json";
    await this.client.expect({ method: "PATCH", path, body: { metadata: { finalizers } }, contentType });
  }

  async #phase(name: string, phase: string): Promise<void> {
    const path = "/api/v1/namespaces/default/pods";
    const signal = AbortSignal.timeout(10_000);
    const events = this.client.watch<KubeObject & { status?: { phase?: string } }>(
      path,
      { fieldSelector: `metadata.name=${name}` },
      signal,
    );
    for await (const { object } of events) if (object.status?.phase === phase) return;
    throw new Error(`pod ${name} never became ${phase}`);
  }

  async #unschedulable(node: string): Promise<void> {
    const body = { spec: { unschedulable: null } };
    const contentType = "application/merge-patch+json";
    await this.client.expect({ method: "PATCH", path: `/api/v1/nodes/${node}`, body, contentType });
  }

  async #csr(name: string, signerName: string): Promise<void> {
    const pem = createCertificateRequest(await generatePrivateKey("ec"), {
      subject: { commonName: "kc", organization: [] },
    });
    const request = Buffer.from(pem).toString("base64");
    const spec = { request, signerName, usages: ["client auth", "digital signature"] };
    const apiVersion = "certificates.k8s.io/v1";
    const body = { apiVersion, kind: "CertificateSigningRequest", metadata: { name }, spec };
    await this.client.expect({ method: "POST", path: `/apis/${apiVersion}/certificatesigningrequests`, body });
  }

  async close(): Promise<void> {
    await this.client.close();
  }
}

function asSummary({ method, path, status }: SeenRequest): string {
  return `${method} ${path} -> ${status ?? "no answer"}`;
}
