import type { ContainerFs } from "../fs/container-fs.js";
import type { FsNode } from "../fs/nodes.js";
import { baseName } from "../fs/paths.js";
import type { ByteSink, ByteSource } from "../streams.js";
import { permitsSignal, type Subject } from "./confinement.js";
import type { NetworkNamespace } from "./network-namespace.js";
import { SIGKILL } from "./signals.js";

/** A process of the machine outside of containers, or a sandbox's own: only its entry in the table exists. */
export interface NodeTask extends Subject {
  readonly parentPid: number;
  readonly argv: readonly string[];
  /** its root folder; undefined: no file of it is known */
  readonly root: () => FsNode | undefined;
  /** receives the signals of processes in a namespace; undefined: they are refused */
  readonly onSignal?: (signal: number, from: ProcessTable) => void;
}

/** The container of a process. */
export interface ProcessOwner extends Subject {
  readonly fs: ContainerFs;
  readonly processes: ProcessTable;
  readonly network: NetworkNamespace;
  readonly uts: object;
  readonly cgroup: object;
}

/** The executable file of a process, and the environment that it got. */
export interface ProgramFile {
  readonly path: string;
  readonly env: Readonly<Record<string, string>>;
}

/** A process of a container, as others see it. */
interface OwnedProcess {
  readonly machine: ProcessOwner;
  /** in the namespace of its container */
  readonly pid: number;
  readonly parentPid: number;
  readonly group: number;
  readonly argv: readonly string[];
  readonly cpuNs: number;
  /** Unix ms */
  readonly startedMs: number;
  readonly memory: { readonly usedBytes: number };
  readonly cwd: string;
  readonly program: ProgramFile;
  readonly streams: readonly [ByteSource, ByteSink, ByteSink];
  kill(signal: number): void;
  signalFromInside(signal: number): void;
}

export type Task = OwnedProcess | NodeTask;

/** A task's name in /proc/PID/comm: its program's, also once it gave itself a title (`nginx: master process`). */
export function commandOf({ argv }: Pick<Task, "argv">): string {
  return baseName((argv[0] ?? "").split(": ")[0] ?? "");
}

/**
 * A PID namespace: a container's own, the one that the containers of a pod share (with the sandbox's process as PID 1), or
 * the node's. As in the kernel, a namespace also has the processes of the namespaces below it, under PIDs of its own.
 */
export class ProcessTable {
  readonly #byPid = new Map<number, Task>();
  #lastPid = 0;

  /** @param parent the namespace above: the node's */
  constructor(readonly parent?: ProcessTable) {}

  get lastPid(): number {
    return this.#lastPid;
  }

  nextPid(): number {
    this.#lastPid++;
    return this.#lastPid;
  }

  /**
   * Adds a process or a task, here and in the namespaces above.
   * @param pid of `nextPid` @returns a function that removes it
   */
  add(task: Task, pid = this.nextPid()): () => void {
    this.#byPid.set(pid, task);
    const removeAbove = this.parent?.add(task);
    return () => {
      this.#byPid.delete(pid);
      removeAbove?.();
    };
  }

  /** A process by its PID in this namespace. */
  find(pid: number): Task | undefined {
    return this.#byPid.get(pid);
  }

  /** By PID, in their order. */
  entries(): readonly (readonly [pid: number, task: Task])[] {
    return [...this.#byPid];
  }

  /** The PID of a process's parent in this namespace; 0 for one outside. */
  parentOf(task: Task): number {
    if (!isProcess(task) || task.machine.processes === this) return task.parentPid;
    for (const [pid, one] of this.#byPid) {
      if (isProcess(one) && one.machine === task.machine && one.pid === task.parentPid) return pid;
    }
    return this.parent === undefined ? 1 : 0;
  }

  /** @param group the PID of the group's first process, which is of this namespace */
  signalGroup(group: number, signal: number): void {
    for (const [, task] of this.entries()) {
      if (isProcess(task) && task.machine.processes === this && task.group === group) task.kill(signal);
    }
  }

  /** Ends all processes, as the kernel does when a namespace's first process has ended. */
  killAll(): void {
    for (const [, task] of this.entries()) if (isProcess(task)) task.kill(SIGKILL);
  }
}

export function isProcess(task: Task): task is OwnedProcess {
  return "machine" in task;
}

/** The user of a process and its rights. */
export function subjectOf(task: Task): Subject {
  return isProcess(task) ? task.machine : task;
}

/**
 * Sends a signal from a process of `sender` to one in its namespace. Mirrors check_kill_permission and sig_task_ignored in
 * Linux's kernel/signal.c.
 * @param signal 0: only checks
 * @returns the problem as busybox prints it: `can't kill pid 1: Operation not permitted`
 */
export function sendSignal(sender: ProcessOwner, pid: string, signal: number): string | undefined {
  const task = sender.processes.find(Number(pid));
  if (task === undefined) return `can't kill pid ${pid}: No such process`;
  const isReachable = signal === 0 || isProcess(task) || task.onSignal !== undefined;
  const isAllowed = permitsSignal(sender, subjectOf(task).user.uid) && isReachable;
  if (!isAllowed) return `can't kill pid ${pid}: Operation not permitted`;
  if (signal === 0) return undefined;
  if (!isProcess(task)) task.onSignal?.(signal, sender.processes);
  else if (task.machine.processes === sender.processes) task.signalFromInside(signal);
  else task.kill(signal);
  return undefined;
}
