import { rm } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import type { CallContext } from "../../staging/cri/grpc/served-call.js";
import { type CriHandlers, type CriVersion, serveCri } from "../../staging/cri/server.js";
import type { Ctx } from "../../trace/ctx.js";
import { defined } from "../../util/defined.js";
import { makeTemporaryFolder } from "../../util/os/temporary-folder.js";
import { SeededRandom } from "../../util/seeded-random.js";
import { SIGKILL } from "../shell/process/signals.js";
import { imageCalls } from "./calls/image-calls.js";
import { runtimeCalls } from "./calls/runtime-calls.js";
import type { RuntimeControl } from "./control/control.js";
import { CoreControl } from "./control/core-control.js";
import { Faults } from "./control/faults.js";
import { parseReference } from "./images/reference.js";
import { type PeerOptions, Peers } from "./network/peers.js";
import { serveNetwork } from "./network/server.js";
import { makeRoot, networkSocketIn } from "./root-folder.js";
import { Containers } from "./state/containers.js";
import { type MachineSize, RuntimeCore } from "./state/core.js";
import { PAUSE_IMAGE, Sandboxes } from "./state/sandboxes.js";
import { Streams } from "./streaming/streams.js";

export interface RuntimeOptions extends Ctx {
  /** `unix:///path`, `tcp://127.0.0.1:0`; default: a socket in the runtime's own folder */
  readonly listen?: string;
  /** folder for the socket and other files; default: a temporary folder that `close` removes */
  readonly rootDir?: string;
  /** all IDs are derived from it */
  readonly seed?: number;
  /** the runtime's version in Version; default: `0.1.0` */
  readonly version?: string;
  /** the only version of the CRI that it serves; default: v1 and v1alpha2 */
  readonly criVersion?: CriVersion;
  /** duration of an image pull, in ms; default 400 */
  readonly pullMs?: number;
  /** default `10.244.0.0/16` */
  readonly podCidr?: string;
  /** images that are present from the start, in addition to pause */
  readonly images?: readonly string[];
  /** a pull of an image that the registry lacks brings a placeholder instead of an error; default: false */
  readonly anyImage?: boolean;
  /** address of the streaming server for exec, attach and port-forward; default `127.0.0.1:0` */
  readonly streamingAddress?: string;
  /** the `-v` level that shows state changes in the trace; default 1 */
  readonly traceLevel?: 1 | 2 | 3 | 4;
  /** the memory limit of all containers' processes together, in bytes; default 128 MiB */
  readonly memoryBytes?: number;
  /** the node's capacity in /proc; default: 100 CPUs and 32 GiB, as nodes report */
  readonly machine?: MachineSize;
  /** the host name of pods in the node's network; default: the machine's, as with containerd */
  readonly nodeName?: string;
  /** the folder that stands for the node's root; default: none that containers could see in /proc/1/root */
  readonly nodeRoot?: string;
  /** serves the pods' network to the node's kubelet, and joins it to that of other nodes; default: neither */
  readonly network?: NetworkOptions;
}

export interface NetworkOptions {
  /** the node's address, at which pods and other nodes reach it; default: only the first one of its pods' range */
  readonly address?: string;
  /** finds the other nodes of the cluster; undefined: there are none */
  readonly peers?: PeerOptions;
}

/** A running runtime in this process. */
export interface RunningRuntime extends AsyncDisposable {
  /** `unix:///tmp/.../runtime.sock` */
  readonly endpoint: string;
  readonly control: RuntimeControl;
  /** path of the socket of the pods' network; undefined unless it is served */
  readonly networkSocket: string | undefined;
  /** Ends calls, kills all processes, and removes the socket and the temporary folder. Safe to call twice. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const DEFAULT_POD_CIDR = "10.244.0.0/16";
const DEFAULT_PULL_MS = 400;
const DEFAULT_MEMORY_BYTES = 128 * 1024 * 1024;
const DEFAULT_MACHINE: MachineSize = { cpus: 100, memoryBytes: 32 * 1024 ** 3 };
const DEFAULT_STREAMING_ADDRESS = "127.0.0.1:0";

/**
 * Starts the embedded container runtime: a CRI server whose containers are functions in this process.
 * @throws LabError USAGE, or BAD_FILE if it cannot listen or create its folder; USAGE for a streaming address that is
 * not local
 */
export async function startRuntime(options: RuntimeOptions): Promise<RunningRuntime> {
  const ownRoot = options.rootDir === undefined;
  const rootDir = options.rootDir ?? (await makeTemporaryFolder("runtime"));
  if (!ownRoot) await makeRoot(rootDir);
  const runtime = createRuntime(options, rootDir);
  try {
    const endpoint = options.listen ?? `unix://${join(rootDir, "runtime.sock")}`;
    const { trace, criVersion } = options;
    const server = await serveCri(runtime.handlers, endpoint, { trace, criVersion });
    const network = options.network && (await openNetwork(runtime.core, options.network, rootDir));
    const close = async () => {
      await network?.close();
      // Streams close first, so that a client sees a broken connection instead of a killed command.
      await runtime.streams.close();
      runtime.stop();
      await server.close();
      if (ownRoot) await rm(rootDir, { recursive: true, force: true });
    };
    let closed: Promise<void> | undefined;
    const closeOnce = () => {
      closed ??= close();
      return closed;
    };
    const { control } = runtime;
    const networkSocket = network?.socket;
    return { endpoint: server.endpoint, control, networkSocket, close: closeOnce, [Symbol.asyncDispose]: closeOnce };
  } catch (error) {
    if (ownRoot) await rm(rootDir, { recursive: true, force: true });
    throw error;
  }
}

/** @throws LabError BAD_FILE */
async function openNetwork({ network, clock }: RuntimeCore, options: NetworkOptions, rootDir: string) {
  const socket = networkSocketIn(rootDir);
  const server = await serveNetwork(network, socket, clock);
  if (options.peers !== undefined) network.join(new Peers(options.peers, socket, options.address));
  const machine = network.openMachine();
  const close = async () => {
    machine.closeAll();
    network.peers?.close();
    await server.close();
  };
  return { socket, close };
}

/** The runtime without its server: the calls' implementations and the control. */
export interface Runtime {
  readonly core: RuntimeCore;
  readonly handlers: CriHandlers;
  readonly control: RuntimeControl;
  /** its server listens from the first call on; close it before `stop` */
  readonly streams: Streams;
  /** Kills all processes and ends all event streams. */
  stop(): void;
}

export function createRuntime(options: Omit<RuntimeOptions, "listen" | "rootDir">, rootDir: string): Runtime {
  const { clock, trace, seed } = options;
  const random = seed === undefined ? options.random : new SeededRandom(seed);
  const core = new RuntimeCore(
    { clock, random, trace },
    {
      rootDir,
      pullMs: options.pullMs ?? DEFAULT_PULL_MS,
      podCidr: options.podCidr ?? DEFAULT_POD_CIDR,
      traceLevel: options.traceLevel ?? 1,
      memoryBytes: options.memoryBytes ?? DEFAULT_MEMORY_BYTES,
      machine: options.machine ?? DEFAULT_MACHINE,
      nodeName: options.nodeName ?? hostname(),
      ...defined({ anyImage: options.anyImage, nodeRoot: options.nodeRoot, nodeAddress: options.network?.address }),
    },
  );
  core.images.add(parseReference(PAUSE_IMAGE), true);
  for (const image of options.images ?? []) core.images.add(parseReference(image));
  const containers = new Containers(core);
  const sandboxes = new Sandboxes(core, containers);
  const onDisk = (isReadonly: boolean) => {
    core.disk.isReadonly = isReadonly;
  };
  const faults = new Faults(clock, { onDisk });
  const streams = new Streams(core, containers, options.streamingAddress ?? DEFAULT_STREAMING_ADDRESS);
  const calls = runtimeCalls({ core, sandboxes, containers, streams, version: options.version ?? "0.1.0" });
  return {
    core,
    handlers: { runtime: disturbed(calls, faults), image: disturbed(imageCalls(core), faults) },
    control: new CoreControl(core, sandboxes, containers, streams, faults),
    streams,
    stop: () => {
      core.changes.close();
      for (const { running } of core.containers.values()) {
        running?.signal(SIGKILL);
        running?.machine.killAll();
      }
      core.events.close();
      faults.clear();
    },
  };
}

type AnyHandler = (request: never, context: CallContext) => unknown;

/** The same handlers, with faults applied first. */
function disturbed<H extends object>(handlers: H, faults: Faults): H {
  const out: Record<string, AnyHandler> = {};
  for (const [name, handler] of Object.entries(handlers) as [string, AnyHandler][]) {
    out[name] = (request, context) => {
      // Passed unchanged, because the call's signal is created on first use.
      return faults.serve(context, request, () => handler(request, context));
    };
  }
  return out as H;
}
