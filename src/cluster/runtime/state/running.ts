import { ContainerMachine, type MachineOptions } from "../../shell/container-machine.js";
import { Pipe } from "../../shell/process/pipe.js";
import {
  type ExitStatus,
  exitCodeOf,
  type Process,
  SpawnError,
  type SpawnOptions,
} from "../../shell/process/process.js";
import { Terminal } from "../../shell/process/terminal.js";
import { type ByteSink, type ByteSource, BytesSource } from "../../shell/streams.js";
import type { ImageUsage } from "../images/definition.js";
import type { CriLog, LogStream } from "../logs/cri-log.js";
import { ContainerLoad } from "./container-load.js";
import type { OutOfMemoryListener } from "./out-of-memory.js";

/** The limit for a container's output, about 25 MB/s, so that the other containers and the disk keep some time. */
const BURST_BYTES = 256 * 1024;
const BURST_PAUSE_MS = 10;
/** Longer output is logged piece by piece, because each line costs time. */
const PIECE_BYTES = 64 * 1024;

/** The start parameters of a container's first process: what containerd puts into the OCI spec. */
export interface ContainerSpec {
  readonly argv: readonly string[];
  /** a command that its file system lacks waits for a signal instead */
  readonly isPlaceholder: boolean;
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly machine: MachineOptions;
  readonly hasStdin: boolean;
  readonly hasTerminal: boolean;
  readonly onOutOfMemory: OutOfMemoryListener;
  /** the container's limit; undefined: none */
  readonly limitMilliCores: () => number | undefined;
  /** what its image uses */
  readonly usage?: ImageUsage;
}

/** How a container's first process ended. */
export interface ContainerEnd {
  readonly exitCode: number;
  /**
   * One of its processes was killed because memory ran out, not necessarily the first one. Mirrors containerd's handling
   * of TaskOOM (pkg/cri/server/events.go).
   */
  readonly isOutOfMemory: boolean;
}

/**
 * A reader of a container's output in addition to the log: attach. The container waits for the returned promise, as
 * containerd's output waits for the slowest attached client. Must not throw or reject.
 */
export type OutputListener = (stream: LogStream, bytes: Uint8Array, signal: AbortSignal) => Promise<void> | void;

/** A started container: its processes, file system and log. */
export class RunningContainer {
  readonly machine: ContainerMachine;
  /** the environment of commands that run in it later */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly init: Process;
  /** the simulated usage, independent of its processes */
  readonly load: ContainerLoad;
  readonly log: CriLog | undefined;
  /** the clients attached to its stdin; undefined without stdin, or with a terminal */
  readonly stdin: Pipe | undefined;
  /** undefined without `tty` */
  readonly terminal: Terminal | undefined;
  readonly #listeners = new Set<OutputListener>();
  /** processes that were killed because memory ran out */
  outOfMemoryKills = 0;
  #isStdinClosed = false;

  /**
   * Starts the container's first process.
   * @param openLog throws RpcError for a log path that leads outside
   * @throws SpawnError if the program does not exist
   */
  constructor(spec: ContainerSpec, openLog: () => CriLog | undefined) {
    const { hasStdin, hasTerminal } = spec;
    this.machine = new ContainerMachine(spec.machine);
    this.env = spec.env;
    this.cwd = spec.cwd;
    this.machine.memory.onKill = (victim, reason) => {
      this.outOfMemoryKills++;
      spec.onOutOfMemory(victim, reason, this.machine);
    };
    this.stdin = hasStdin && !hasTerminal ? new Pipe(this.machine.memory) : undefined;
    this.terminal = hasTerminal ? new Terminal(this.#sink("stdout"), this.machine.processes) : undefined;
    this.log = openLog();
    try {
      this.init = this.#start(spec);
    } catch (error) {
      this.log?.close();
      throw error;
    }
    const { usage, limitMilliCores } = spec;
    this.load = new ContainerLoad({ clock: spec.machine.clock, memory: this.init.memory, limitMilliCores });
    this.init.simulatedNs = () => this.load.coreNanoSeconds;
    if (usage === undefined) return;
    this.load.set({ burnMilliCores: usage.milliCores });
    this.load.take(usage.memoryBytes);
  }

  #start({ argv, env, cwd, isPlaceholder }: ContainerSpec): Process {
    const { terminal } = this;
    const stdin: ByteSource = terminal?.source ?? this.stdin?.reader ?? new BytesSource();
    const stdout = terminal?.sink ?? this.#sink("stdout");
    // A terminal merges both streams.
    const stderr = terminal?.sink ?? this.#sink("stderr");
    const options = { argv, env, cwd, stdin, stdout, stderr, parentPid: 0 };
    const process = isPlaceholder ? this.#startOrWait(options) : this.machine.spawn(options);
    if (terminal !== undefined) terminal.foreground = process.group;
    return process;
  }

  #startOrWait(options: SpawnOptions): Process {
    const { machine } = this;
    try {
      return machine.spawn(options);
    } catch (error) {
      const app = machine.findProgram("app");
      if (!(error instanceof SpawnError) || error.exitCode !== 127 || app === undefined) throw error;
      return machine.fork(app, options);
    }
  }

  #sink(stream: LogStream): ByteSink {
    let burst = 0;
    const write = (bytes: Uint8Array, signal: AbortSignal): Promise<void> | void => {
      // Short lines take more space in the log than in the pipe.
      burst += Math.max(bytes.length, this.log?.write(stream, bytes) ?? 0);
      const waits: Promise<void>[] = [];
      for (const listener of this.#listeners) {
        const wait = listener(stream, bytes, signal);
        if (wait !== undefined) waits.push(wait);
      }
      if (burst >= BURST_BYTES) {
        burst = 0;
        waits.push(this.machine.clock.sleep(BURST_PAUSE_MS, signal));
      }
      if (waits.length > 0) return Promise.all(waits).then(() => {});
    };
    return {
      write: (bytes, signal) =>
        bytes.length > PIECE_BYTES ? inPieces(bytes, (piece) => write(piece, signal)) : write(bytes, signal),
      retain: () => {},
      release: () => {},
    };
  }

  /** @returns a function that removes the listener */
  listen(listener: OutputListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Resolves when the first process has ended, all others are killed, and the log is complete. */
  async ended(): Promise<ContainerEnd> {
    const status = await this.init.exited;
    this.load.end();
    this.machine.killAll();
    this.terminal?.hangUp();
    this.log?.end("stdout");
    this.log?.end("stderr");
    this.log?.close();
    this.closeStdin();
    this.machine.memory.close();
    return { exitCode: exitCodeOf(status), isOutOfMemory: this.outOfMemoryKills > 0 };
  }

  /** Ends the input of the first process. Safe to call twice. */
  closeStdin(): void {
    if (this.#isStdinClosed) return;
    this.#isStdinClosed = true;
    this.stdin?.writer.release();
  }

  signal(number: number): void {
    this.init.kill(number);
  }

  /** Ends the container as if its first process had ended by itself. */
  endAs(status: ExitStatus): void {
    this.init.endAs(status);
  }

  /** Ends the container as the kernel does when its first process is the largest. */
  killOutOfMemory(): void {
    this.machine.memory.kill(this.init.memory, "asked");
  }
}

async function inPieces(bytes: Uint8Array, write: (piece: Uint8Array) => Promise<void> | void): Promise<void> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) await write(bytes.subarray(at, at + PIECE_BYTES));
}
