import type { Ctx } from "../../../trace/ctx.js";
import type { Trace } from "../../../trace/trace.js";
import type { Clock } from "../../../util/clock.js";
import type { Random } from "../../../util/random.js";
import { HostOwners } from "../../shell/fs/host-owners.js";
import { Scheduler } from "../../shell/process/cpu.js";
import { MemoryPool } from "../../shell/process/memory-account.js";
import type { NodeFacts } from "../../shell/process/process.js";
import type { ProcessTable } from "../../shell/process/process-table.js";
import { notFound } from "../errors.js";
import { ImageStore } from "../images/image-store.js";
import { Puller } from "../images/pull.js";
import { NanoTime } from "../nano-time.js";
import { Addresses } from "../network/addresses.js";
import { NodeNetwork } from "../network/node-network.js";
import { Changes } from "./changes.js";
import type { Container, Sandbox } from "./container.js";
import { EventHub } from "./events.js";
import { IdIndex, NameRegister } from "./id-index.js";
import { nodeProcesses } from "./node-processes.js";
import type { SpecDeps } from "./spec.js";
import { SYSTEM_BYTES, usageOf } from "./usage.js";

/** The conditions in Status; the kubelet waits for both. */
export interface Condition {
  readonly isTrue: boolean;
  readonly reason: string;
  readonly message: string;
}
export type ConditionType = "RuntimeReady" | "NetworkReady";

/** What containers see of the node's capacity. */
export type MachineSize = Pick<NodeFacts, "cpus" | "memoryBytes">;

export interface CoreOptions {
  readonly rootDir: string;
  readonly pullMs: number;
  /** see RuntimeOptions */
  readonly anyImage?: boolean;
  readonly podCidr: string;
  /** the `-v` level that shows state changes in the trace */
  readonly traceLevel: 1 | 2 | 3 | 4;
  /** the memory limit of all containers' processes together */
  readonly memoryBytes: number;
  readonly machine: MachineSize;
  /** the host name of pods in the node's network */
  readonly nodeName: string;
  /** see RuntimeOptions */
  readonly nodeRoot?: string;
  /** see NetworkOptions */
  readonly nodeAddress?: string;
}

const TRUE: Condition = { isTrue: true, reason: "", message: "" };

/** The state of the embedded runtime, shared by all calls. */
export class RuntimeCore {
  readonly clock: Clock;
  readonly random: Random;
  readonly trace: Trace;
  readonly time: NanoTime;
  readonly sandboxes = new IdIndex<Sandbox>();
  readonly containers = new IdIndex<Container>();
  readonly sandboxNames = new NameRegister();
  readonly containerNames = new NameRegister();
  readonly images = new ImageStore();
  readonly puller: Puller;
  /** the time and the memory that all containers share */
  readonly scheduler = new Scheduler();
  readonly memory: MemoryPool;
  readonly owners = new HostOwners();
  readonly processes: ProcessTable;
  readonly node: NodeFacts;
  /** the addresses of pods and their listeners */
  readonly network: NodeNetwork;
  readonly events = new EventHub();
  readonly changes: Changes;
  /** of the node, with the containers' layers */
  readonly disk = { isReadonly: false };
  readonly conditions: Record<ConditionType, Condition> = { RuntimeReady: TRUE, NetworkReady: TRUE };

  constructor(
    deps: Ctx,
    readonly options: CoreOptions,
  ) {
    this.clock = deps.clock;
    this.random = deps.random;
    this.trace = deps.trace;
    this.time = new NanoTime(deps.clock);
    this.processes = nodeProcesses(options.nodeRoot);
    this.memory = new MemoryPool(options.memoryBytes);
    const used = () => [...this.containers.values()].reduce((sum, one) => sum + usageOf(one).memoryBytes, SYSTEM_BYTES);
    this.node = { ...options.machine, usedBytes: used, startedMs: deps.clock.now() };
    this.puller = new Puller({ clock: deps.clock, trace: deps.trace, images: this.images }, options);
    const { podCidr, traceLevel, nodeAddress } = options;
    this.network = new NodeNetwork({ ...deps, traceLevel }, new Addresses(podCidr), nodeAddress);
    this.changes = new Changes(deps.trace, options.traceLevel);
  }

  /** the dependencies of a container's start */
  get specDeps(): SpecDeps {
    const { clock, random, trace, images, scheduler, memory, owners, processes, node, disk } = this;
    const { anyImage = false, nodeRoot } = this.options;
    return { clock, random, trace, images, anyImage, nodeRoot, scheduler, memory, owners, processes, node, disk };
  }

  /** @throws RpcError NotFound; InvalidArgument for an empty or ambiguous ID */
  sandbox(id: string): Sandbox {
    const sandbox = this.sandboxes.find(id);
    if (sandbox === undefined) throw notFound("sandbox", id);
    return sandbox;
  }

  /** @throws RpcError as `sandbox` */
  container(id: string): Container {
    const container = this.containers.find(id);
    if (container === undefined) throw notFound("container", id);
    return container;
  }
}
