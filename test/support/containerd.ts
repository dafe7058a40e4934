import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { type CriClient, createCriClient } from "../../src/staging/cri/remote/create-cri-client.js";
import { Trace } from "../../src/trace/trace.js";
import { SystemClock } from "../../src/util/clock.js";
import { LabError } from "../../src/util/errors.js";
import { freePort } from "./free-port.js";
import { busyboxImage } from "./oci-image.js";

const run = promisify(execFile);

/** The image of all sandboxes, and one for containers: both are a busybox. */
export const SANDBOX_IMAGE = "registry.k8s.io/pause:3.6";
export const BUSYBOX_IMAGE = "docker.io/library/busybox:test";

const BRIDGE = "kubelab0";
const START_TIMEOUT_MS = 30_000;

/** A containerd for one test: with its own folders, socket and port, apart from the machine's. */
export interface TestContainerd {
  /** `unix:///tmp/.../containerd.sock` */
  readonly endpoint: string;
  /** `tcp://127.0.0.1:PORT` */
  readonly tcpEndpoint: string;
  readonly folder: string;
  /** its client, closed by `stop` */
  readonly client: CriClient;
  /** Ends the daemon; containers continue, because their shims do. */
  goDown(): Promise<void>;
  /** Starts it again, and waits for its first answer. */
  comeBack(): Promise<void>;
  /** Both steps. */
  restart(): Promise<void>;
  /** Starts it again if necessary, and removes all sandboxes with their containers. */
  clear(): Promise<void>;
  /** Removes all sandboxes, ends the daemon, removes its folder. */
  stop(): Promise<void>;
}

interface ContainerdOptions {
  /** more image archives */
  readonly images?: readonly Buffer[];
  /** the folder of the plugins bridge, host-local and loopback; without one, pods use the host's network */
  readonly cniPlugins?: string;
}

/** Starts containerd and imports the images. Needs root, containerd, ctr, runc and a static busybox. */
export async function startContainerd(options: ContainerdOptions = {}): Promise<TestContainerd> {
  const { images = [], cniPlugins } = options;
  const folder = mkdtempSync(join(tmpdir(), "kubelab-containerd-"));
  const socket = join(folder, "containerd.sock");
  const port = await freePort();
  writeFileSync(join(folder, "config.toml"), configuration(folder, socket, port, cniPlugins));
  mkdirSync(join(folder, "cni"), { recursive: true });
  if (cniPlugins !== undefined)
    writeFileSync(join(folder, "cni", "10-bridge.conflist"), JSON.stringify(bridge(folder)));
  const daemon = new Daemon(folder);
  const endpoint = `unix://${socket}`;
  try {
    daemon.start();
    const client = await connect(endpoint, daemon);
    const archive = join(folder, "image.tar");
    for (const image of [busyboxImage([SANDBOX_IMAGE, BUSYBOX_IMAGE]), ...images]) {
      writeFileSync(archive, image);
      await run("ctr", ["-a", socket, "-n", "k8s.io", "images", "import", archive]);
    }
    const goDown = () => daemon.stop();
    const comeBack = async () => {
      daemon.start();
      await (await connect(endpoint, daemon)).close();
    };
    return {
      endpoint,
      tcpEndpoint: `tcp://127.0.0.1:${port}`,
      folder,
      client,
      goDown,
      comeBack,
      async restart() {
        await goDown();
        await comeBack();
      },
      async clear() {
        if (!daemon.isRunning) await comeBack();
        await removeSandboxes(client);
      },
      async stop() {
        await removeSandboxes(client);
        await client.close();
        await daemon.stop();
        // CNI leaves its bridge; a run that made no pod has none.
        if (cniPlugins !== undefined) await run("ip", ["link", "delete", BRIDGE]).catch(() => {});
        rmSync(folder, { recursive: true, force: true });
      },
    };
  } catch (error) {
    await daemon.stop();
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

/**
 * restrict_oom_score_adj: without CAP_SYS_RESOURCE no container would start.
 */
function configuration(folder: string, socket: string, port: number, cniPlugins: string | undefined): string {
  const plugins = cniPlugins === undefined ? "" : `bin_dir = "${cniPlugins}"`;
  return `version = 2
root = "${folder}/root"
state = "${folder}/state"
disabled_plugins = ["io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.btrfs"]
[grpc]
  address = "${socket}"
  tcp_address = "127.0.0.1:${port}"
[debug]
  level = "info"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${SANDBOX_IMAGE}"
  restrict_oom_score_adj = true
  disable_tcp_service = false
  [plugins."io.containerd.grpc.v1.cri".cni]
    conf_dir = "${folder}/cni"
    ${plugins}
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "native"
[plugins."io.containerd.internal.v1.opt"]
  path = "${folder}/opt"
`;
}

/** A network of pods that this machine reaches, and nothing else. */
function bridge(folder: string): object {
  const ipam = { type: "host-local", dataDir: join(folder, "ipam"), ranges: [[{ subnet: "10.88.0.0/24" }]] };
  const plugin = { type: "bridge", bridge: BRIDGE, isGateway: true, ipMasq: false, ipam };
  return { cniVersion: "0.4.0", name: "kubelab", plugins: [plugin] };
}

class Daemon {
  #child: ChildProcess | undefined;

  constructor(readonly folder: string) {}

  get isRunning(): boolean {
    return this.#child?.exitCode === null && this.#child.signalCode === null;
  }

  get log(): string {
    return readFileSync(join(this.folder, "containerd.log"), "utf8");
  }

  start(): void {
    const log = createWriteStream(join(this.folder, "containerd.log"), { flags: "a" });
    this.#child = spawn("containerd", ["--config", join(this.folder, "config.toml")], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child.stdout?.pipe(log);
    this.#child.stderr?.pipe(log);
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (child === undefined || !this.isRunning) return;
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    await ended;
  }
}

/** Retries until it answers: the socket exists before the CRI plugin is ready. */
async function connect(endpoint: string, daemon: Daemon): Promise<CriClient> {
  const clock = new SystemClock();
  const deps = { clock, trace: new Trace(clock), actor: "kubelet" } as const;
  const { signal } = new AbortController();
  const endMs = clock.now() + START_TIMEOUT_MS;
  for (;;) {
    try {
      return await createCriClient(endpoint, deps, { connectTimeoutMs: 5_000 }, signal);
    } catch (error) {
      if (!(error instanceof LabError) || clock.now() > endMs || !daemon.isRunning) {
        throw new Error(`containerd does not start:\n${daemon.log.slice(-4_000)}`, { cause: error });
      }
    }
    await clock.sleep(100, signal);
  }
}

async function removeSandboxes({ runtime }: CriClient): Promise<void> {
  const { signal } = new AbortController();
  const list = await runtime.listPodSandbox(undefined, signal);
  for (const { id } of list.outcome === "ok" ? list.value : []) {
    await runtime.stopPodSandbox(id, signal);
    await runtime.removePodSandbox(id, signal);
  }
}
