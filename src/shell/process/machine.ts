import type { Clock } from "../../util/clock.js";
import type { Random } from "../../util/random.js";
import type { ContainerFs } from "../fs/container-fs.js";
import type { MemoryAccount } from "./memory-account.js";
import type { Connection, Ports } from "./ports.js";
import type { Invocation, Process, Program } from "./process.js";
import type { ProcessTable } from "./process-table.js";

export interface SpawnOptions extends Invocation {
  /** the parent process; 0: the runtime */
  readonly parentPid: number;
  /** the process group to join; `new`: a new one; default: its parent's */
  readonly group?: number | "new";
}

/** The user of a process. */
export interface ProcessUser {
  readonly uid: number;
  readonly gid: number;
  /** all groups, including the primary one */
  readonly groups: readonly number[];
  readonly name: string;
}

/** The shared environment of a container's processes. */
export interface Machine {
  readonly fs: ContainerFs;
  readonly clock: Clock;
  readonly random: Random;
  readonly hostname: string;
  readonly user: ProcessUser;
  readonly processes: ProcessTable;
  /** listeners in the pod's network */
  readonly ports: Ports;
  /** the first address of the pod; undefined in the host network */
  readonly ip: string | undefined;
  /** the container's memory in use */
  readonly memory: MemoryAccount;
  /** @returns undefined without a listener */
  connect(host: string, port: number): Connection | undefined;
  /**
   * Starts the program `argv[0]`.
   * @throws SpawnError if it does not exist or cannot run
   */
  spawn(options: SpawnOptions): Process;
  /** Starts a process of an already running program: a subshell, a part of a pipeline. */
  fork(program: Program, options: SpawnOptions): Process;
}

/** A program that cannot start: 127 not found, 126 not executable. */
export class SpawnError extends Error {
  override readonly name = "SpawnError";
  constructor(
    readonly exitCode: 126 | 127,
    readonly command: string,
    /** the text of execve's errno: `no such file or directory`, `permission denied` */
    readonly reason: string,
    /** whether a file was found but cannot be executed: the error then comes from the kernel, not from the search */
    readonly path?: string,
  ) {
    super(`${command}: ${reason}`);
  }
}
