import type { Clock } from "../../util/clock.js";
import type { Random } from "../../util/random.js";
import type { ContainerFs } from "../fs/container-fs.js";
import { findProgram } from "../programs/table.js";
import { lookUp } from "./lookup.js";
import { MemoryAccount } from "./memory-account.js";
import type { Connection, Network, Ports } from "./ports.js";
import {
  type Machine,
  Process,
  ProcessTable,
  type ProcessUser,
  type Program,
  SpawnError,
  type SpawnOptions,
} from "./process.js";

export interface MachineOptions {
  readonly fs: ContainerFs;
  readonly clock: Clock;
  readonly random: Random;
  readonly hostname: string;
  readonly user: ProcessUser;
  readonly ports: Ports;
  readonly network: Network;
  readonly ip: string | undefined;
  /** bytes; undefined: unlimited */
  readonly memoryLimit: number | undefined;
  /** whether the first process is PID 1 of its namespace: false if the pod's containers share one */
  readonly hasOwnPids: boolean;
}

/** Limit for nested interpreters, as in Linux. */
const MAX_INTERPRETERS = 4;

/** Linux's MAX_ARG_STRLEN; all arguments together are limited to a quarter of a stack of 8 MB. */
const MAX_ARGUMENT_BYTES = 131_072;
const MAX_ARGUMENTS_BYTES = 2_097_152;

function isTooLong(argv: readonly string[], env: Readonly<Record<string, string>>): boolean {
  let sum = 0;
  for (const word of argv) {
    const length = Buffer.byteLength(word) + 1;
    if (length > MAX_ARGUMENT_BYTES) return true;
    sum += length + 8;
  }
  for (const [name, value] of Object.entries(env)) sum += Buffer.byteLength(name) + Buffer.byteLength(value) + 10;
  return sum > MAX_ARGUMENTS_BYTES;
}

/** The processes of one container and their shared resources. */
export class ContainerMachine implements Machine {
  readonly processes = new ProcessTable();
  readonly findProgram = findProgram;
  readonly fs;
  readonly clock;
  readonly random;
  readonly hostname;
  readonly user;
  readonly ports;
  readonly ip;
  readonly memory: MemoryAccount;
  readonly #network: Network;
  readonly #hasOwnPids: boolean;
  #isStarted = false;

  constructor(options: MachineOptions) {
    this.fs = options.fs;
    this.clock = options.clock;
    this.random = options.random;
    this.hostname = options.hostname;
    this.user = options.user;
    this.ports = options.ports;
    this.ip = options.ip;
    this.memory = new MemoryAccount(options.memoryLimit);
    this.#network = options.network;
    this.#hasOwnPids = options.hasOwnPids;
    if (!options.hasOwnPids) this.processes.nextPid(); // PID 1 is the sandbox's own process
  }

  connect(host: string, port: number): Connection | undefined {
    const isSelf = host === "localhost" || host === "::1" || host.startsWith("127.") || host === this.hostname;
    const ports = isSelf || host === this.ip ? this.ports : this.#network.find(host);
    return ports?.connect(port);
  }

  spawn(options: SpawnOptions): Process {
    let argv = options.argv;
    for (let count = 0; count <= MAX_INTERPRETERS; count++) {
      const found = lookUp(this.fs, argv[0] ?? "", options.cwd, options.env["PATH"]);
      if (isTooLong(argv, options.env)) throw new SpawnError(126, argv[0] ?? "", "argument list too long", found.path);
      if (found.kind === "program") {
        const program = this.findProgram(found.program);
        if (program === undefined) throw new SpawnError(126, argv[0] ?? "", "exec format error", found.path);
        return this.fork(program, { ...options, argv });
      }
      argv = [...found.interpreter, found.path, ...argv.slice(1)];
    }
    throw new SpawnError(126, options.argv[0] ?? "", "too many levels of symbolic links");
  }

  fork(program: Program, options: SpawnOptions): Process {
    const isInit = this.#hasOwnPids && !this.#isStarted;
    this.#isStarted = true;
    const pid = this.processes.nextPid();
    const group = options.group ?? this.processes.find(options.parentPid)?.group ?? "new";
    const process = new Process(program, this, { ...options, pid, group: group === "new" ? pid : group, isInit });
    this.processes.add(process);
    return process;
  }
}
