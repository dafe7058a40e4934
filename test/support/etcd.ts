import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { SystemClock } from "../../src/util/clock.js";
import { freePort } from "./free-port.js";

const run = promisify(execFile);
const POLL_MS = 20;
const START_TIMEOUT_MS = 30_000;

/** An etcd that `fill` fills soon. */
export const SMALL = ["--quota-backend-bytes=2000000"];

export interface EtcdTls {
  readonly certFile: string;
  readonly keyFile: string;
  /** clients must have a certificate of this CA */
  readonly clientCaFile?: string;
}

/** A member of an etcd, for one test, on free ports of 127.0.0.1. It is the only one, if not said otherwise. */
export class TestEtcd {
  readonly #folder = mkdtempSync(join(tmpdir(), "kubelab-etcd-"));
  #process: ChildProcess | undefined;

  private constructor(
    readonly url: string,
    readonly peerUrl: string,
    readonly flags: readonly string[],
    readonly name = "test",
    readonly initialCluster = `${name}=${peerUrl}`,
  ) {}

  /** The members of one etcd. */
  static async startMembers(count: number): Promise<readonly TestEtcd[]> {
    const names = Array.from({ length: count }, (_, i) => `m${i}`);
    const peers: string[] = [];
    for (const name of names) peers.push(`${name}=http://127.0.0.1:${await freePort()}`);
    const members: TestEtcd[] = [];
    for (const [i, name] of names.entries()) {
      const peerUrl = (peers[i] ?? "").slice(name.length + 1);
      members.push(new TestEtcd(`http://127.0.0.1:${await freePort()}`, peerUrl, [], name, peers.join(",")));
    }
    // Each serves once there is a leader.
    await Promise.all(members.map((member) => member.comeBack()));
    return members;
  }

  /** @param more further flags */
  static async start(tls?: EtcdTls, more: readonly string[] = []): Promise<TestEtcd> {
    const scheme = tls === undefined ? "http" : "https";
    const [port, peerPort] = [await freePort(), await freePort()];
    const flags = tls === undefined ? [...more] : [...more, `--cert-file=${tls.certFile}`, `--key-file=${tls.keyFile}`];
    if (tls?.clientCaFile !== undefined) flags.push("--client-cert-auth", `--trusted-ca-file=${tls.clientCaFile}`);
    const etcd = new TestEtcd(`${scheme}://127.0.0.1:${port}`, `http://127.0.0.1:${peerPort}`, flags);
    await etcd.comeBack();
    return etcd;
  }

  /** Starts it again with its data, and waits until it serves. */
  async comeBack(): Promise<void> {
    const { url, peerUrl } = this;
    const args = [
      `--name=${this.name}`,
      `--data-dir=${this.#folder}`,
      `--listen-client-urls=${url}`,
      `--advertise-client-urls=${url}`,
      `--listen-peer-urls=${peerUrl}`,
      `--initial-advertise-peer-urls=${peerUrl}`,
      `--initial-cluster=${this.initialCluster}`,
      // The tests' machine may be slow to write.
      "--unsafe-no-fsync",
      ...this.flags,
    ];
    const child = spawn("etcd", args, { stdio: ["ignore", "ignore", "pipe"] });
    this.#process = child;
    let log = "";
    let isServing = false;
    child.stderr?.on("data", (chunk: Buffer) => {
      if (isServing) return;
      log += chunk.toString();
      isServing = /serving (?:insecure )?client requests|serving client traffic/.test(log);
    });
    const clock = new SystemClock();
    for (let waitedMs = 0; !isServing; waitedMs += POLL_MS) {
      if (child.exitCode !== null || waitedMs >= START_TIMEOUT_MS) throw new Error(`etcd does not serve:\n${log}`);
      await clock.sleep(POLL_MS);
    }
  }

  /** Kills it, and starts it without its data. */
  async loseData(): Promise<void> {
    await this.goDown();
    rmSync(this.#folder, { recursive: true });
    await this.comeBack();
  }

  /** Kills it; its data stays. */
  async goDown(): Promise<void> {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  }

  /** It answers nothing until `continue`. */
  pause(): void {
    this.#process?.kill("SIGSTOP");
  }

  continue(): void {
    this.#process?.kill("SIGCONT");
  }

  /** Runs etcdctl. @returns its output */
  async ctl(...args: string[]): Promise<string> {
    const env = { ...process.env, ETCDCTL_API: "3" };
    return (await run("etcdctl", [`--endpoints=${this.url}`, ...args], { env })).stdout;
  }

  /** Writes until it refuses, as long as its alarm is on. Start it with `SMALL`. */
  async fill(): Promise<void> {
    const value = "x".repeat(100_000);
    for (let i = 0; ; i++) {
      const problem = await this.ctl("put", `/fill/${i}`, value).then(
        () => "",
        (error: Error) => error.message,
      );
      if (problem.includes("database space exceeded")) return;
      if (problem !== "") throw new Error(problem);
    }
  }

  async stop(): Promise<void> {
    await this.goDown();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
