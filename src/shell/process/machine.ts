import type { Clock } from "../../util/clock.js";
import type { Random } from "../../util/random.js";
import type { ContainerFs } from "../fs/container-fs.js";
import type { MemoryAccount } from "./memory-account.js";
import type { Connection, Ports } from "./ports.js";
import type { Invocation, Process, Program } from "./process.js";
import type { ProcessTable } from "./process-table.js";

export interface SpawnOptions extends Invocation {
  /** who starts it; 0: the runtime */
  readonly parentPid: number;
  /** the process group to join; `new`: one of its own; default: its parent's */
  readonly group?: number | "new";
}

/** Who processes run as. */
export interface ProcessUser {
  readonly uid: number;
  readonly gid: number;
  /** all groups, the first one's included */
  readonly groups: readonly number[];
  readonly name: string;
}

/** What a container's processes share. */
export interface Machine {
  readonly fs: ContainerFs;
  readonly clock: Clock;
  readonly random: Random;
  readonly hostname: string;
  readonly user: ProcessUser;
  readonly processes: ProcessTable;
  /** what listens in the pod's network */
  readonly ports: Ports;
  /** the first address of the pod; undefined in the host's network */
  readonly ip: string | undefined;
  /** what the processes have taken of the container's memory */
  readonly memory: MemoryAccount;
  /** @returns undefined when nobody listens there */
  connect(host: string, port: number): Connection | undefined;
  /**
   * Starts the program that `argv[0]` names.
   * @throws SpawnError when there is none, or it cannot be run
   */
  spawn(options: SpawnOptions): Process;
  /** Starts a process of an already running program: a subshell, a part of a pipeline. */
  fork(program: Program, options: SpawnOptions): Process;
}

/** Why a program does not start: 127 not found, 126 found but not to be run. */
export class SpawnError extends Error {
  override readonly name = "SpawnError";
  constructor(
    readonly exitCode: 126 | 127,
    readonly command: string,
    /** as execve's errno says: `no such file or directory`, `permission denied` */
    readonly reason: string,
    /** what was found, and cannot become a process: the kernel says so, and not who looked for it */
    readonly path?: string,
  ) {
    super(`${command}: ${reason}`);
  }
}
