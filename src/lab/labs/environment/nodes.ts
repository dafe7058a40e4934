import { join } from "node:path";
import type { ControlServer } from "../../../cluster/runtime/control/http.js";
import type { HostedRuntime } from "../../../cluster/runtime/host/host.js";
import type { KubeletHooks } from "../../../kubelet/app/kubelet.js";
import type { Taint } from "../../../staging/apimachinery/api/node.js";
import type { RestConfig } from "../../../staging/client-go/rest/client.js";
import type { BootstrapToken } from "../../../staging/cluster-bootstrap/token.js";
import type { NodeContext } from "../../../testbed/context.js";
import { planUnasked } from "../../../testbed/node/join-plan.js";
import { nodeConfiguration } from "../../../testbed/node/kubelet-config.js";
import type { RunningNode } from "../../../testbed/node/node.js";
import { claimNodeAddress } from "../../../testbed/node/node-address.js";
import { nodeRootIn } from "../../../testbed/node/node-files.js";
import type { Target } from "../../../testbed/target/target.js";
import type { Ctx } from "../../../trace/ctx.js";
import { plainText } from "../../../trace/terminal/options.js";
import { TerminalSink } from "../../../trace/terminal/terminal-sink.js";
import type { Trace } from "../../../trace/trace.js";
import { traceOfNode } from "../../../trace/view.js";
import { ChildAbort } from "../../../util/async/abort.js";
import type { Clock } from "../../../util/clock.js";
import { defined } from "../../../util/defined.js";
import { isAbortError, messageOf } from "../../../util/errors.js";
import { MessageError } from "../../../util/i18n/message-error.js";
import { OffsetClock } from "../../../util/offset-clock.js";
import { makeFolder } from "../../../util/os/files.js";
import { type Random, randomOf } from "../../../util/random.js";
import type { LabDefinition } from "../format/schema.js";
import type { Values } from "../format/variables.js";
import type { LabFacts } from "./facts.js";
import { KubeletLog } from "./kubelet-log.js";
import { NodeLink } from "./node-link.js";
import type { CommandResult } from "./runner.js";

export interface LabNodesOptions {
  readonly count: number;
  /** their names: `<prefix>1`, `<prefix>2`, ... */
  readonly prefix: string;
  /** contains a folder for each node */
  readonly folder: string;
  readonly target: Target;
  /** taints to register with; default: no taints */
  readonly taints?: readonly Taint[];
  readonly settings: LabDefinition["nodeOptions"];
  /** of each kubelet; default: none */
  readonly hooks?: KubeletHooks;
  /** with which each node joins; default: one of its own */
  readonly token?: BootstrapToken;
  /** runs the runtimes in this process, for held time; default: each in its own */
  readonly runtimesHere?: boolean;
  /** opens the way to a real runtime; default: an embedded one for each node */
  readonly openRuntime?: (trace: Trace, folder: string) => Promise<HostedRuntime>;
}

interface Session {
  readonly context: NodeContext;
  readonly clock: Clock;
  /** receives the facts of kubelets and runtimes */
  readonly facts: LabFacts;
}

/** How long a node waits that joins with a given token. */
const STRICT_JOIN_MS = 60_000;
/** The last characters to keep of each node's trace, which grows quickly on a fast clock. */
const MAX_TOLD = 4_000_000;

/** The nodes of a lab's cluster. Each has its own runtime, and its kubelet can be stopped and started. */
export class LabNodes implements AsyncDisposable {
  readonly #machines = new Map<string, LabMachine>();

  /** @throws LabError if a node cannot join */
  static async open(session: Session, options: LabNodesOptions): Promise<LabNodes> {
    const nodes = new LabNodes();
    try {
      const names = Array.from({ length: options.count }, (_, i) => `${options.prefix}${i + 1}`);
      const isSeeded = session.context.random.part !== undefined;
      let before: Promise<unknown> = Promise.resolve();
      const opening = names.map((name) => {
        const open = () => LabMachine.open(session, name, options);
        // Of two that open or join at once, chance would say which one gets the first address.
        const machine = isSeeded ? before.then(open) : open();
        before = machine;
        return machine;
      });
      const opened = await Promise.allSettled(opening);
      for (const one of opened) if (one.status === "fulfilled") nodes.#machines.set(one.value.name, one.value);
      await Promise.all(opening);
      const starting = [...nodes.#machines.values()].map((machine) => () => machine.start());
      if (isSeeded) for (const start of starting) await start();
      await Promise.all(starting.map((start) => start()));
      if (options.settings.kubeProxy) await nodes.#startProxies(session, options.target);
      return nodes;
    } catch (error) {
      await nodes[Symbol.asyncDispose]();
      throw error;
    }
  }

  async #startProxies({ context, clock, facts }: Session, target: Target): Promise<void> {
    const { proxyIdentity } = await import("../../../testbed/node/node-proxy.js");
    const deps = { clock, random: context.random, trace: facts.openTrace() };
    const identity = proxyIdentity(deps, target, context.signal);
    for (const machine of this.#machines.values()) await machine.startProxy(deps, identity);
  }

  get all(): readonly LabMachine[] {
    return [...this.#machines.values()];
  }

  /** @param name undefined: the only node @throws LabError USAGE */
  machine(name: string | undefined): LabMachine {
    const machines = [...this.#machines.values()];
    const found = name === undefined && machines.length === 1 ? machines[0] : this.#machines.get(name ?? "");
    if (found !== undefined) return found;
    const known = machines.length === 0 ? "-" : [...this.#machines.keys()].join(", ");
    throw new MessageError("USAGE", name === undefined ? ["noNodeMeant"] : ["noNode", { name }], [
      "itsNodes",
      { names: known },
    ]);
  }

  /** A node's trace as text. @returns undefined for an unknown node */
  output(name: string): CommandResult | undefined {
    const machine = this.#machines.get(name);
    if (machine === undefined) return undefined;
    const { told: stderr } = machine;
    const facts = () => machine.session.facts.since().filter(({ instance }) => instance === name);
    return { code: undefined, stdout: "", stderr, facts };
  }

  /**
   * `kubelet1`: address of the kubelet's server; `runtime1`: of the CRI; `control1`: of the runtime's control API; `link1`: of the
   * control API of its link, if it has one.
   */
  get given(): Values {
    const values: Record<string, string> = {};
    [...this.#machines.values()].forEach((machine, i) => {
      values[`kubelet${i + 1}`] = machine.kubeletUrl;
      values[`runtime${i + 1}`] = machine.runtime.endpoint;
      values[`control${i + 1}`] = machine.controlUrl;
      if (machine.link !== undefined) values[`link${i + 1}`] = machine.link.controlUrl;
    });
    return values;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#machines.values()].map((machine) => machine.close()));
  }
}

/** One machine. `<folder>/manifests` contains its static pods, `<folder>/kubelet.log` its kubelet's trace. */
export class LabMachine {
  told = "";
  #kubelet: RunningNode | undefined;
  /** the last start, which may not be over */
  #start: { readonly stop: ChildAbort; readonly joining: Promise<void> } | undefined;
  #hasJoined = false;
  #proxy: AsyncDisposable | undefined;
  #port = 0;
  #clockOffsetMs = 0;
  #clockRate = 1;

  private constructor(
    readonly session: Session,
    readonly name: string,
    readonly options: LabNodesOptions,
    readonly runtime: HostedRuntime,
    readonly control: ControlServer,
    readonly log: KubeletLog,
    readonly link: NodeLink | undefined,
  ) {}

  static async open(session: Session, name: string, options: LabNodesOptions): Promise<LabMachine> {
    const folder = join(options.folder, name);
    await makeFolder(join(folder, "manifests"));
    const startRuntime = await runtimeStarter(options.runtimesHere === true);
    const { serveControl } = await import("../../../cluster/runtime/control/http.js");
    const { clock, facts } = session;
    const { pullMs } = options.settings;
    const trace = traceOfNode(facts.openTrace(), name);
    const rootDir = join(folder, "runtime");
    const networkFolder = join(options.folder, "network");
    // Released with the lab's folder.
    const { address } = await claimNodeAddress(networkFolder, name);
    const network = { address, peers: { folder: networkFolder, node: name } };
    const { random } = session.context;
    const seed = random.part?.(`runtime ${name}`).bytes(4).readUInt32BE();
    const node = { nodeName: name, nodeRoot: nodeRootIn(folder) };
    const settings = { rootDir, ...node, traceLevel: 2, pullMs, network, ...defined({ seed }) } as const;
    const { openRuntime } = options;
    const runtime = await (openRuntime?.(trace, folder) ?? startRuntime({ clock, trace, ...settings }));
    const control = await serveControl(runtime.control, "127.0.0.1:0", trace);
    const log = new KubeletLog(join(folder, "kubelet.log"));
    const link = options.settings.link ? await NodeLink.open(options.target.admin.server) : undefined;
    return new LabMachine(session, name, options, runtime, control, log, link);
  }

  get kubeletUrl(): string {
    return this.#kubelet?.kubelet.url ?? `https://127.0.0.1:${this.#port}`;
  }

  get controlUrl(): string {
    return this.control.url;
  }

  /** Starts the kubelet unless it runs. Resolves when it is registered, and Ready if possible. */
  async start(): Promise<void> {
    if (this.#start === undefined) {
      const stop = new ChildAbort(this.session.context.signal);
      this.#start = { stop, joining: this.#join(stop.signal) };
    }
    await this.#start.joining;
  }

  /** Starts the kubelet without waiting for its registration, which may take until the API server is back. */
  startUnattended(): void {
    this.start().catch((error: unknown) => {
      if (!isAbortError(error)) this.#write(`${messageOf(error)}\n`);
    });
  }

  /** Makes the kubelet's clock wrong. A kubelet that runs starts again, because its clock would jump. The runtime's clock stays right. */
  async setClockOffset(offsetMs: number, rate = 1): Promise<void> {
    this.#clockOffsetMs = offsetMs;
    this.#clockRate = rate;
    if (this.#start === undefined) return;
    await this.stop();
    this.startUnattended();
  }

  async #join(signal: AbortSignal): Promise<void> {
    const { clock: right, context } = this.session;
    const isRight = this.#clockOffsetMs === 0 && this.#clockRate === 1;
    const clock = isRight ? right : new OffsetClock(right, this.#clockOffsetMs, this.#clockRate);
    const { startNode } = await import("../../../testbed/node/node.js");
    const { target: direct, taints, token } = this.options;
    const { link } = this;
    const target = link === undefined ? direct : { ...direct, admin: { ...direct.admin, server: link.url } };
    const unasked = planUnasked(this.name, join(this.options.folder, this.name), token);
    // With a token that was given only the controllers approve, so that a wrong one or a wrong request shows.
    const strict = token === undefined ? {} : ({ approval: "manual", timeoutMs: STRICT_JOIN_MS } as const);
    const plan = { ...unasked, ...strict, ...defined({ taints }) };
    const isReal = this.options.openRuntime !== undefined;
    const manifests = { staticPodPath: join(plan.folder, "manifests") };
    this.#kubelet = await startNode(
      { context: contextOf(context, randomOf(context.random, this.name), signal), clock, trace: this.#openTrace() },
      {
        plan,
        target,
        kubeVersion: target.kubeVersion,
        ...(isReal ? { cri: this.runtime.endpoint } : { machineRuntime: this.runtime }),
        config: nodeConfiguration(target.kubeVersion, manifests, isReal ? "real" : "simulated"),
        port: this.#port,
        // A kubelet's own start needs no answer of the API server.
        testsIdentity: !this.#hasJoined,
        ...defined({ hooks: this.options.hooks }),
      },
    );
    this.#hasJoined = true;
    this.#port = Number(new URL(this.#kubelet.kubelet.url).port);
    // It ends with the lab; its trace shows why it failed.
    this.#kubelet.done.catch(() => {});
  }

  /** Starts kube-proxy, which then runs as long as the machine. The kubelet must run. */
  async startProxy(deps: Ctx, identity: Promise<RestConfig>): Promise<void> {
    const { startNodeProxy } = await import("../../../testbed/node/node-proxy.js");
    const node = this.#kubelet;
    if (node === undefined || this.#proxy !== undefined) return;
    const { kubeVersion } = this.options.target;
    this.#proxy = startNodeProxy(deps, { node, kubeVersion, identity }, this.session.context.signal);
  }

  /** Stops the kubelet without a message to the API server; its containers keep running. Safe to call twice. */
  async stop(): Promise<void> {
    const start = this.#start;
    this.#start = undefined;
    // A kubelet that has joined shuts down in order; otherwise its join is aborted.
    if (this.#kubelet === undefined) start?.stop.abort();
    await start?.joining.catch(() => {});
    const kubelet = this.#kubelet;
    this.#kubelet = undefined;
    await kubelet?.close();
    start?.stop[Symbol.dispose]();
  }

  /** Simulates a power failure: stops the kubelet and the runtime. */
  async powerOff(): Promise<void> {
    await this.stop();
    const { control } = this.runtime;
    for (const { sandboxId, state } of (await control.snapshot()).sandboxes) {
      if (state === "ready") await control.setSandboxNotReady(sandboxId);
    }
    const running = (await control.snapshot()).sandboxes.flatMap(({ containers }) => containers);
    for (const { containerId, state } of running) {
      if (state === "running") await control.killContainer(containerId);
    }
  }

  async close(): Promise<void> {
    await this.#proxy?.[Symbol.asyncDispose]();
    await this.stop();
    await this.link?.[Symbol.asyncDispose]();
    await this.control.close();
    await this.runtime.close();
    this.log.close();
  }

  #openTrace(): Trace {
    const { clock, facts } = this.session;
    const trace = facts.openTrace();
    const { settings } = this.options;
    // A log is for grep, so each entry is one line, however long.
    const format = plainText({
      width: () => Number.POSITIVE_INFINITY,
      verbosity: settings.verbosity,
      startMs: clock.now(),
    });
    trace.addSink(new TerminalSink(format, { write: (text) => this.#write(text) }));
    return trace;
  }

  #write(text: string): void {
    this.told = this.told.length > MAX_TOLD ? this.told.slice(-MAX_TOLD / 2) + text : this.told + text;
    this.log.write(text);
  }
}

async function runtimeStarter(here: boolean) {
  return here
    ? (await import("../../../cluster/runtime/host/here.js")).runRuntimeHere
    : (await import("../../../cluster/runtime/host/host.js")).hostRuntime;
}

/** The same process with a randomness and a signal of their own. */
export function contextOf(context: NodeContext, random: Random, signal: AbortSignal): NodeContext {
  return {
    random,
    signal,
    confirm: (question, options) => context.confirm(question, options),
    progress: (text) => context.progress(text),
  };
}
