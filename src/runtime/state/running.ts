import { ContainerMachine } from "../../shell/process/container-machine.js";
import { Pipe } from "../../shell/process/pipe.js";
import { type ExitStatus, exitCodeOf, type Process } from "../../shell/process/process.js";
import { SIGKILL } from "../../shell/process/signals.js";
import { type ByteSink, type ByteSource, BytesSource } from "../../shell/process/streams.js";
import { Terminal } from "../../shell/process/terminal.js";
import { CriLog, type LogStream } from "../logs/cri-log.js";
import { prepareLogFolder } from "../logs/log-path.js";
import type { Container } from "./container.js";
import { type ContainerSpec, containerSpec, type SpecDeps } from "./spec.js";

/** A container that writes without end must leave the others, and the disk, some time: some 25 MB/s at most. */
const BURST_BYTES = 256 * 1024;
const BURST_PAUSE_MS = 10;

/** How the first process of a container ended. */
export interface ContainerEnd {
  readonly exitCode: number;
  readonly isOutOfMemory: boolean;
}

/**
 * Somebody who sees what the container writes, beside the log: attach. The container waits for what it returns, as
 * containerd's output does for the slowest who is attached. Must not throw or reject.
 */
export type OutputListener = (stream: LogStream, bytes: Uint8Array, signal: AbortSignal) => Promise<void> | void;

/** A container that was started: its processes, its file system, its log. */
export class RunningContainer {
  readonly machine: ContainerMachine;
  /** what commands that are run in it later start with */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly init: Process;
  readonly log: CriLog | undefined;
  /** what is attached to its stdin; undefined when it has none, or a terminal */
  readonly stdin: Pipe | undefined;
  /** undefined without `tty` */
  readonly terminal: Terminal | undefined;
  readonly #listeners = new Set<OutputListener>();
  #isOutOfMemory = false;
  #isStdinClosed = false;

  /**
   * Starts the container's first process.
   * @throws SpawnError when there is no such program; RpcError for a log path that leads outside
   */
  constructor(container: Container, deps: SpecDeps & { readonly now: () => bigint }) {
    const spec = containerSpec(container, deps);
    this.machine = new ContainerMachine(spec.machine);
    this.env = spec.env;
    this.cwd = spec.cwd;
    this.machine.memory.onExceeded = () => this.killOutOfMemory();
    const { stdin: hasStdin, tty } = container.config;
    this.stdin = hasStdin && !tty ? new Pipe() : undefined;
    this.terminal = tty ? new Terminal(this.#sink("stdout"), this.machine.processes) : undefined;
    this.log = openLog(container, deps);
    try {
      this.init = this.#start(spec);
    } catch (error) {
      this.log?.close();
      throw error;
    }
  }

  #start({ argv, env, cwd }: ContainerSpec): Process {
    const { terminal } = this;
    const stdin: ByteSource = terminal?.source ?? this.stdin?.reader ?? new BytesSource();
    const stdout = terminal?.sink ?? this.#sink("stdout");
    // With a terminal both streams are one.
    const stderr = terminal?.sink ?? this.#sink("stderr");
    const process = this.machine.spawn({ argv, env, cwd, stdin, stdout, stderr, parentPid: 0 });
    if (terminal !== undefined) terminal.foreground = process.group;
    return process;
  }

  #sink(stream: LogStream): ByteSink {
    let burst = 0;
    return {
      write: (bytes, signal) => {
        this.log?.write(stream, bytes);
        const waits: Promise<void>[] = [];
        for (const listener of this.#listeners) {
          const wait = listener(stream, bytes, signal);
          if (wait !== undefined) waits.push(wait);
        }
        burst += bytes.length;
        if (burst >= BURST_BYTES) {
          burst = 0;
          waits.push(this.machine.clock.sleep(BURST_PAUSE_MS, signal));
        }
        if (waits.length > 0) return Promise.all(waits).then(() => {});
      },
      retain: () => {},
      release: () => {},
    };
  }

  /** @returns what ends the listening */
  listen(listener: OutputListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Resolves when the first process has ended, all others are killed, and the log is complete. */
  async ended(): Promise<ContainerEnd> {
    const status = await this.init.exited;
    this.machine.processes.killAll();
    this.terminal?.hangUp();
    this.log?.end("stdout");
    this.log?.end("stderr");
    this.log?.close();
    this.closeStdin();
    return { exitCode: exitCodeOf(status), isOutOfMemory: this.#isOutOfMemory };
  }

  /** Nothing more will be typed: the first process sees the end of its input. Safe to call twice. */
  closeStdin(): void {
    if (this.#isStdinClosed) return;
    this.#isStdinClosed = true;
    this.stdin?.writer.release();
  }

  signal(number: number): void {
    this.init.kill(number);
  }

  /** Ends it as if it had ended by itself. */
  endAs(status: ExitStatus): void {
    this.init.endAs(status);
  }

  killOutOfMemory(): void {
    this.#isOutOfMemory = true;
    this.init.kill(SIGKILL);
  }
}

function openLog(container: Container, { now, trace }: SpecDeps & { readonly now: () => bigint }): CriLog | undefined {
  const { logPath, sandbox, metadata } = container;
  if (logPath === undefined) return undefined;
  prepareLogFolder(sandbox.config.logDirectory, logPath);
  return new CriLog(logPath, now, (error) => {
    const message = `the log of ${sandbox.podName}/${metadata.name} cannot be written: ${error instanceof Error ? error.message : error}`;
    trace.emit({ kind: "error", message }, { actor: "runtime" });
  });
}
