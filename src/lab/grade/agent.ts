import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import type { Readable } from "node:stream";
import { SystemClock } from "../../util/clock.js";
import { killGroup } from "../../util/os/processes.js";
import { proportionalBytes, residentBytes } from "../../util/os/resident-memory.js";
import { Guard } from "./guard.js";
import { LastLines } from "./last-lines.js";

const LOOK_MS = 200;
/** Names the processes of one agent in their environment, also those that left its process group. */
const MARK = "KUBELAB_GRADE";

/** What an agent may use. */
export interface AgentLimits {
  readonly memoryMb: number;
  readonly processes: number;
}

export interface AgentOptions {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly limits: AgentLimits;
}

/** How an agent ended: by itself, or because it used too much. */
export interface AgentEnd {
  readonly why: string;
}

/** One run of the agent, a process with limits. All its processes end with it. */
export class Agent implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #clock = new SystemClock();
  readonly #mark: string;
  readonly #closing = new AbortController();
  readonly #output = new LastLines();
  readonly #exited: Promise<void>;
  #end: AgentEnd | undefined;
  #startProblem: string | undefined;
  readonly #guard: Guard | undefined;

  constructor(readonly options: AgentOptions) {
    const { program, args, cwd, env } = options;
    this.#mark = `${process.pid}-${this.#clock.now()}-${Math.floor(performance.now() * 1000)}`;
    this.#child = spawn(program, [...args], {
      ...{ cwd, stdio: ["ignore", "pipe", "pipe"], detached: true },
      env: { ...env, [MARK]: this.#mark },
    });
    const { pid } = this.#child;
    if (pid !== undefined) this.#guard = new Guard(pid, `${MARK}=${this.#mark}`);
    this.#read(this.#child.stdout);
    this.#read(this.#child.stderr);
    this.#exited = new Promise((resolve) => {
      this.#child.once("error", ({ message }) => {
        this.#startProblem = message;
        this.#end ??= { why: "it was never started" };
        resolve();
      });
      this.#child.once("exit", (code, signal) => {
        this.#end ??= { why: code === null ? `it was ended by ${signal}` : `it exited with code ${code}` };
        resolve();
      });
    });
    void this.#watch();
  }

  /** undefined while it runs */
  get end(): AgentEnd | undefined {
    return this.#end;
  }

  /** why there is no process; undefined: there is, or was */
  get startProblem(): string | undefined {
    return this.#startProblem;
  }

  /** The last lines of its output, for people; no verdict depends on them. */
  get lastLines(): readonly string[] {
    return this.#output.lines;
  }

  #read(stream: Readable | null): void {
    stream?.setEncoding("utf8");
    stream?.on("data", this.#output.stream());
  }

  /** Ends an agent that uses more than its limits. */
  async #watch(): Promise<void> {
    const { memoryMb, processes } = this.options.limits;
    while (this.#end === undefined && !this.#closing.signal.aborted) {
      await this.#clock.sleep(LOOK_MS, this.#closing.signal).catch(() => {});
      const pids = this.#pids();
      const usedMb = usedBytes(pids, memoryMb * 2 ** 20) / 2 ** 20;
      if (pids.length > processes) this.#kill(`it had ${pids.length} processes, more than the limit of ${processes}`);
      else if (usedMb > memoryMb) {
        this.#kill(`it used ${Math.round(usedMb)} MB of memory, more than the limit of ${memoryMb} MB`);
      }
    }
  }

  #kill(why: string): void {
    this.#end ??= { why };
    this.#killAll();
  }

  /** Its processes: those of its group, and those that have left it. */
  #pids(): readonly number[] {
    const { pid } = this.#child;
    const marked = markedProcesses(this.#mark);
    return pid === undefined || marked.includes(pid) || this.#end !== undefined ? marked : [pid, ...marked];
  }

  #killAll(): void {
    const { pid } = this.#child;
    if (pid !== undefined) killGroup(pid);
    // A process that forks while it is looked for leaves another one: look until there is none.
    for (let look = 0; look < 50; look++) {
      const left = this.#pids();
      if (left.length === 0) return;
      for (const one of left) {
        try {
          process.kill(one, "SIGKILL");
        } catch {
          // It has ended meanwhile.
        }
      }
    }
  }

  /** Sends SIGTERM and waits. @returns false if it still runs after `patienceMs` of real time @throws the signal's reason */
  async terminate(patienceMs: number, signal: AbortSignal): Promise<boolean> {
    if (this.#end === undefined) this.#child.kill("SIGTERM");
    const patience = new AbortController();
    const tooLate = this.#clock.sleep(patienceMs, AbortSignal.any([patience.signal, signal])).then(
      () => false,
      () => true,
    );
    const isOver = await Promise.race([this.#exited.then(() => true), tooLate]);
    patience.abort();
    signal.throwIfAborted();
    return isOver;
  }

  /** Ends all its processes. Safe to call twice. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#end ??= { why: "it was ended" };
    this.#killAll();
    await this.#exited;
    this.#guard?.[Symbol.dispose]();
    this.#child.stdout?.destroy();
    this.#child.stderr?.destroy();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** The memory of processes. Pages that they share count once, which takes longer to find out: only if it decides. */
function usedBytes(pids: readonly number[], limit: number): number {
  const sum = (bytesOf: (pid: number) => number) => pids.reduce((total, pid) => total + bytesOf(pid), 0);
  const atMost = sum(residentBytes);
  return atMost > limit && pids.length > 1 ? sum(proportionalBytes) : atMost;
}

/** The running processes with this mark in their environment; none on systems other than Linux. */
function markedProcesses(mark: string): readonly number[] {
  let names: readonly string[];
  try {
    names = readdirSync("/proc");
  } catch {
    return [];
  }
  return names.filter((name) => /^\d+$/.test(name) && hasMark(name, mark)).map(Number);
}

function hasMark(pid: string, mark: string): boolean {
  try {
    // A process that has ended but was not reaped has no environment.
    return readFileSync(`/proc/${pid}/environ`, "latin1").includes(`${MARK}=${mark}\0`);
  } catch {
    return false; // of another user, or gone
  }
}
