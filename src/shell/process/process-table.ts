import type { Process } from "./process.js";
import { SIGKILL } from "./signals.js";

/** The processes of one PID namespace. */
export class ProcessTable {
  readonly #byPid = new Map<number, Process>();
  #lastPid = 0;

  nextPid(): number {
    this.#lastPid++;
    return this.#lastPid;
  }

  add(process: Process): void {
    this.#byPid.set(process.pid, process);
    void process.exited.then(() => this.#byPid.delete(process.pid));
  }

  find(pid: number): Process | undefined {
    return this.#byPid.get(pid);
  }

  /** The running processes, in order of PID. */
  list(): readonly Process[] {
    return [...this.#byPid.values()];
  }

  /** @param group the PID of the group's first process */
  signalGroup(group: number, signal: number): void {
    for (const process of this.list()) if (process.group === group) process.kill(signal);
  }

  /** What the kernel does when a namespace's first process has ended. */
  killAll(): void {
    for (const process of this.list()) process.kill(SIGKILL);
  }
}
