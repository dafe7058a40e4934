import type { Trace } from "../../../trace/trace.js";
import type { Clock } from "../../../util/clock.js";
import { messageOf } from "../../../util/errors.js";
import type { Timer } from "../../../util/timer.js";
import { type Inwards, listenOnMachine, type MachinePort } from "./machine-listener.js";
import type { Peers } from "./peers.js";

/** The interval for retrying a port that another node of the cluster has. */
const RETRY_MS = 2_000;

interface Entry {
  readonly port: MachinePort;
  /** waiting: another node of the cluster has the port; failed: another program has it, and there is no retry */
  state: "opening" | "open" | "waiting" | "failed";
  isClosed: boolean;
  close: () => void;
}

interface MachinePortsDeps {
  readonly clock: Clock;
  readonly trace: Trace;
  readonly inwards: Inwards;
  /** the other nodes; undefined: there are none */
  peers(): Peers | undefined;
}

/** A port of this machine that cannot be opened. Its message is Go's. */
export class MachinePortError extends Error {
  override readonly name = "MachinePortError";
}

/**
 * The ports of this machine's loopback interface that lead into the network of a node: host ports of its pods, node
 * ports, and ports that pods in the node's network listen on. The nodes of a cluster share the machine, so that a port
 * leads to the first node that opens it; when that one closes it, another one takes it over.
 */
export class MachinePorts {
  readonly #entries = new Map<string, Entry>();
  /** by the name of a group: its keys */
  readonly #groups = new Map<string, ReadonlySet<string>>();
  #retry: Timer | undefined;

  constructor(readonly deps: MachinePortsDeps) {}

  /** Opens a port, now or when another node of the cluster closes it. @throws MachinePortError if another program has it */
  async open(port: MachinePort): Promise<void> {
    const key = keyOf(port);
    if (this.#entries.has(key)) throw new MachinePortError(goListenError(port, { code: "EADDRINUSE" }));
    const entry = this.#add(key, port);
    this.#announce();
    try {
      await this.#try(key, entry);
    } catch (error) {
      this.#remove(key, entry);
      this.#announce();
      throw new MachinePortError(goListenError(port, error), { cause: error });
    }
  }

  close(port: Pick<MachinePort, "protocol" | "ip" | "port">): void {
    const key = keyOf(port);
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#remove(key, entry);
    this.#announce();
  }

  /** Opens and closes ports until a group has exactly these. Reports a port of another program once. */
  async replace(group: string, ports: readonly MachinePort[]): Promise<void> {
    const wanted = new Map(ports.map((port) => [keyOf(port), port]));
    for (const key of this.#groups.get(group) ?? []) {
      const entry = this.#entries.get(key);
      const now = wanted.get(key);
      if (entry === undefined || (now !== undefined && sameTarget(now, entry.port))) continue;
      this.#remove(key, entry);
    }
    // A port of another group stays there.
    const added = [...wanted].filter(([key]) => !this.#entries.has(key));
    const own = new Set([...wanted.keys()].filter((key) => this.#groups.get(group)?.has(key) === true));
    for (const [key] of added) own.add(key);
    this.#groups.set(group, own);
    const entries = added.map(([key, port]) => [key, this.#add(key, port)] as const);
    this.#announce();
    await Promise.all(entries.map(([key, entry]) => this.#try(key, entry).catch((error) => this.#fail(entry, error))));
  }

  closeAll(): void {
    for (const [key, entry] of this.#entries) this.#remove(key, entry);
    this.#retry?.stop();
  }

  #add(key: string, port: MachinePort): Entry {
    const entry: Entry = { port, state: "opening", isClosed: false, close: () => {} };
    this.#entries.set(key, entry);
    return entry;
  }

  #remove(key: string, entry: Entry): void {
    entry.isClosed = true;
    entry.close();
    this.#entries.delete(key);
  }

  /** @throws the error of Node.js, unless another node has the port */
  async #try(key: string, entry: Entry): Promise<void> {
    try {
      const close = await listenOnMachine(entry.port, this.deps.inwards);
      if (entry.isClosed) return close();
      entry.close = close;
      entry.state = "open";
    } catch (error) {
      const holder = isInUse(error) ? this.deps.peers()?.holderOf(key) : undefined;
      if (holder === undefined || entry.isClosed) throw error;
      if (entry.state !== "waiting") this.#noteHolder(entry.port, holder.node);
      entry.state = "waiting";
      this.#announce();
      this.#retry ??= this.deps.clock.timer(RETRY_MS, () => void this.#tryAgain());
    }
  }

  async #tryAgain(): Promise<void> {
    this.#retry = undefined;
    const waiting = [...this.#entries].filter(([, { state }]) => state === "waiting");
    for (const [key, entry] of waiting) {
      if (this.deps.peers()?.holderOf(key) === undefined) entry.state = "opening";
    }
    this.#announce();
    await Promise.all(waiting.map(([key, entry]) => this.#try(key, entry).catch((error) => this.#fail(entry, error))));
  }

  /** Publishes the open ports of this node, and those about to open, to the other nodes. */
  #announce(): void {
    const held = [...this.#entries].filter(([, { state }]) => state === "opening" || state === "open");
    this.deps.peers()?.announcePorts(held.map(([key]) => key));
  }

  #noteHolder({ ip, port, protocol, purpose, to }: MachinePort, node: string): void {
    const text = `${ip}:${port}/${protocol} of this machine leads to ${node}, which was first. The ${purpose} is also at ${to.ip}:${to.port}.`;
    this.deps.trace.emit({ kind: "note", text }, { actor: "runtime", level: 2 });
  }

  #fail(entry: Entry, error: unknown): void {
    if (entry.isClosed) return;
    entry.state = "failed";
    this.#announce();
    const { port } = entry;
    const message = `the ${port.purpose} is not open on this machine: ${goListenError(port, error)}`;
    const hint = `Pods reach it at ${port.to.ip}:${port.to.port}.`;
    this.deps.trace.emit({ kind: "error", message, hint }, { actor: "runtime" });
  }
}

/** `tcp 127.0.0.1:8080` */
function keyOf({ protocol, ip, port }: Pick<MachinePort, "protocol" | "ip" | "port">): string {
  return `${protocol} ${ip}:${port}`;
}

function sameTarget(a: MachinePort, b: MachinePort): boolean {
  return a.to.ip === b.to.ip && a.to.port === b.to.port && a.purpose === b.purpose;
}

function isInUse(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "EADDRINUSE";
}

const GO_TEXTS: Readonly<Record<string, string>> = {
  EADDRINUSE: "address already in use",
  EACCES: "permission denied",
  EADDRNOTAVAIL: "cannot assign requested address",
};

/** `listen tcp 127.0.0.1:80: bind: permission denied` */
function goListenError(port: MachinePort, error: unknown): string {
  const { code = "" } = error as NodeJS.ErrnoException;
  return `listen ${keyOf(port)}: bind: ${GO_TEXTS[code] ?? messageOf(error)}`;
}
