import { rmSync } from "node:fs";
import { join } from "node:path";
import type { KubeObject } from "../../src/staging/apimachinery/api/meta.js";
import { loadKubeconfig } from "../../src/staging/client-go/clientcmd/kubeconfig.js";
import type { KubeClient, KubeRequest, KubeResponse } from "../../src/staging/client-go/rest/client.js";
import { createClient } from "../../src/staging/client-go/rest/create-client.js";
import { Trace } from "../../src/trace/trace.js";
import { SystemClock } from "../../src/util/clock.js";
import { LabError } from "../../src/util/errors.js";
import { SystemRandom } from "../../src/util/random.js";
import { CliProcess, newHome } from "./cli-process.js";
import type { TestEtcd } from "./etcd.js";

const clock = new SystemClock();
const deps = { clock, random: new SystemRandom(), trace: new Trace(clock), actor: "user" } as const;

/** `kubelab cluster up` in a process of its own, at the same address each time. */
export class ClusterServer {
  readonly #home = newHome();
  #process: CliProcess | undefined;

  constructor(
    readonly etcd: TestEtcd,
    readonly port: number,
  ) {}

  async up(): Promise<void> {
    const flags = ["--name", "ha", "--port", String(this.port), "--etcd", this.etcd.url];
    this.#process = new CliProcess(this.#home, ["cluster", "up", ...flags]);
    await this.#process.printed(/^kubectl/m);
  }

  /** Stays good when the server starts again: the CA and the address are the same. */
  async client(): Promise<KubeClient> {
    const { config } = await loadKubeconfig(join(this.#home, "state", "kubelab", "clusters", "ha.kubeconfig"));
    return createClient(config, deps);
  }

  async kill(): Promise<void> {
    await this.#process?.kill("SIGKILL");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    rmSync(this.#home, { recursive: true, force: true });
  }
}

/** A client that goes over to the other server when its own does not answer. */
export class Caller {
  constructor(
    readonly servers: readonly KubeClient[],
    public at: number,
  ) {}

  get server(): KubeClient {
    return this.servers[this.at % this.servers.length] as KubeClient;
  }

  /** @returns undefined if it is not known what has come of it */
  async ask<T = KubeObject>(request: KubeRequest): Promise<KubeResponse<T> | undefined> {
    try {
      const answer = await this.server.request<T>(request);
      return answer.status >= 500 ? undefined : answer;
    } catch (error) {
      await this.goOver(error);
      return undefined;
    }
  }

  async goOver(error: unknown): Promise<void> {
    if (!(error instanceof LabError)) throw error;
    this.at++;
    await clock.sleep(20);
  }
}
