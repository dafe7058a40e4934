import type { Clock } from "../../util/clock.js";
import type { Random } from "../../util/random.js";
import type { ContainerFs } from "./fs/container-fs.js";
import type { DirectoryNode } from "./fs/nodes.js";
import { argumentBytes } from "./process/argument-bytes.js";
import { type Confinement, effectiveCapabilities } from "./process/confinement.js";
import { CpuTime, Scheduler } from "./process/cpu.js";
import { lookUp } from "./process/lookup.js";
import { MemoryAccount, type MemoryPool } from "./process/memory-account.js";
import type { NetworkNamespace } from "./process/network-namespace.js";
import { procTree, sysTree } from "./process/proc.js";
import {
  ForkError,
  type KernelFiles,
  type Machine,
  type NodeFacts,
  Process,
  type ProcessUser,
  type Program,
  SpawnError,
  type SpawnOptions,
  type UtsNamespace,
} from "./process/process.js";
import { isProcess, type ProcessTable } from "./process/process-table.js";
import { SIGKILL } from "./process/signals.js";
import { findProgram } from "./programs/table.js";

export interface MachineOptions {
  readonly fs: ContainerFs;
  readonly clock: Clock;
  readonly random: Random;
  readonly uts: UtsNamespace;
  readonly user: ProcessUser;
  readonly confinement: Confinement;
  readonly node: NodeFacts;
  readonly cgroup: KernelFiles;
  /** where the node's root folder is, if it can be mounted, and the programs of its /bin */
  readonly nodeRoot?: { readonly path: string; readonly bin: DirectoryNode } | undefined;
  readonly network: NetworkNamespace;
  /** bytes; undefined: unlimited */
  readonly memoryLimit: number | undefined;
  /** when memory runs out, all processes are killed: memory.oom.group of a cgroup; default: only the largest */
  readonly killsTogether?: boolean;
  /** shared by the containers of a runtime */
  readonly memoryPool: MemoryPool;
  /** shared by the containers of a runtime; default: its own */
  readonly scheduler?: Scheduler;
  /** the container's CPU shares; 0: the default */
  readonly cpuShares?: number;
  /** its current CPU quota; default: no limit */
  readonly limitMilliCores?: () => number | undefined;
  /** its PID namespace */
  readonly processes: ProcessTable;
  /** whether the namespace is its own, and its first process PID 1: false if the pod's containers share one */
  readonly hasOwnPids: boolean;
}

/** The limit for processes of a container, subshells included: the kubelet's podPidsLimit on a usual node. */
export const PIDS_LIMIT = 1024;

/** Limit for nested interpreters, as in Linux. */
const MAX_INTERPRETERS = 4;

/** The processes of one container and their shared resources. */
export class ContainerMachine implements Machine {
  readonly processes: ProcessTable;
  readonly own = new Set<Process>();
  readonly findProgram = findProgram;
  readonly fs;
  readonly clock;
  readonly random;
  readonly uts;
  readonly user;
  readonly confinement;
  readonly node;
  readonly cgroup;
  readonly network;
  readonly memory: MemoryAccount;
  readonly cpu: CpuTime;
  /** the number of forks refused by the limit of processes */
  refusedForks = 0;
  readonly #hasOwnPids: boolean;
  #isStarted = false;

  constructor(options: MachineOptions) {
    this.fs = options.fs;
    this.clock = options.clock;
    this.random = options.random;
    this.uts = options.uts;
    this.user = options.user;
    this.confinement = options.confinement;
    this.node = options.node;
    this.cgroup = options.cgroup;
    const { uid, gid, groups } = options.user;
    options.fs.become({ uid, gid, groups, capabilities: effectiveCapabilities(uid, options.confinement) });
    this.network = options.network;
    this.memory = new MemoryAccount(options.memoryLimit, options.memoryPool, options.killsTogether);
    this.fs.chargeMemory((bytes) => this.memory.chargeFiles(bytes));
    this.cpu = new CpuTime(options.scheduler ?? new Scheduler(), options.cpuShares, options.limitMilliCores);
    this.#hasOwnPids = options.hasOwnPids;
    this.processes = options.processes;
    this.fs.attach("proc", procTree(this));
    this.fs.attach("sys", sysTree(this));
    if (options.nodeRoot !== undefined) this.#attachNode(options.nodeRoot);
  }

  #attachNode({ path, bin }: NonNullable<MachineOptions["nodeRoot"]>): void {
    let nodes = this.processes;
    while (nodes.parent !== undefined) nodes = nodes.parent;
    const proc = procTree({ ...this, processes: nodes });
    const trees = Object.entries({ bin: { ...bin, isVirtual: true as const }, proc, sys: sysTree(this) });
    this.fs.attachNode(path, new Map(trees));
  }

  asUser(user: ProcessUser): Machine {
    return this.#view(this.fs.as({ ...user, capabilities: effectiveCapabilities(user.uid, this.confinement) }), user);
  }

  #view(fs: ContainerFs, user: ProcessUser): Machine {
    const view: Machine = {
      ...this,
      fs,
      user,
      spawn: (options) => this.spawn(options, view),
      fork: (program, options) => this.#start(program, options, { size: 0, machine: view }),
      asUser: (other) => this.asUser(other),
      inRoot: (path) => this.#inRoot(path, fs, user),
    };
    return view;
  }

  inRoot(path: string): Machine | undefined {
    return this.#inRoot(path, this.fs, this.user);
  }

  #inRoot(path: string, fs: ContainerFs, user: ProcessUser): Machine | undefined {
    const below = fs.inRoot(path);
    return below === undefined ? undefined : this.#view(below, user);
  }

  /** @param machine of the process's user */
  spawn(options: SpawnOptions, machine: Machine = this): Process {
    let argv = options.argv;
    for (let count = 0; count <= MAX_INTERPRETERS; count++) {
      const found = lookUp(machine.fs, argv[0] ?? "", options.cwd, options.env["PATH"]);
      const size = argumentBytes(argv, options.env);
      if (size === undefined) throw new SpawnError(126, argv[0] ?? "", "argument list too long", found.path);
      if (found.kind === "program") {
        const program = this.findProgram(found.program);
        if (program === undefined) throw new SpawnError(126, argv[0] ?? "", "exec format error", found.path);
        return this.#start(program, { ...options, argv }, { size, path: found.path, machine });
      }
      argv = [...found.interpreter, found.path, ...argv.slice(1)];
    }
    throw new SpawnError(126, options.argv[0] ?? "", "too many levels of symbolic links");
  }

  /** @throws ForkError */
  fork(program: Program, options: SpawnOptions): Process {
    return this.#start(program, options, { size: 0, machine: this });
  }

  /** @param how.path of the executable file; undefined for a copy of the parent */
  #start(
    program: Program,
    options: SpawnOptions,
    { size, path, machine }: { readonly size: number; readonly path?: string; readonly machine: Machine },
  ): Process {
    if (this.own.size >= PIDS_LIMIT) {
      this.refusedForks++;
      throw new ForkError(options.argv[0] ?? "");
    }
    const isInit = this.#hasOwnPids && !this.#isStarted;
    this.#isStarted = true;
    const pid = this.processes.nextPid();
    const parent = this.processes.find(options.parentPid);
    const of = parent !== undefined && isProcess(parent) ? parent : undefined;
    const group = options.group ?? of?.group ?? "new";
    const own = { path: path ?? options.argv[0] ?? "", env: options.env };
    const process = new Process(program, machine, {
      ...options,
      pid,
      group: group === "new" ? pid : group,
      isInit,
      program: path === undefined ? (of?.program ?? own) : own,
      argumentBytes: size,
    });
    this.own.add(process);
    const remove = this.processes.add(process, pid);
    void process.exited.then(() => {
      this.own.delete(process);
      remove();
    });
    return process;
  }

  /** Ends all processes: those of its PID namespace, or of its cgroup in a shared one. */
  killAll(): void {
    if (this.#hasOwnPids) this.processes.killAll();
    else for (const process of [...this.own]) process.kill(SIGKILL);
  }
}
