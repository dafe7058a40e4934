import { type ChildProcess, spawn } from "node:child_process";

/**
 * Waits for the end of its input, which comes when kubelab ends in any way, and kills the agent's group and every process with the
 * agent's mark. The guard itself has no mark, and a group of its own, which Ctrl-C does not reach.
 */
const SCRIPT = `
read -r _
kill -KILL -- "-$1" 2>/dev/null
for file in $(grep -ls "$2" /proc/[0-9]*/environ 2>/dev/null); do
  pid=\${file#/proc/}
  kill -KILL "\${pid%/environ}" 2>/dev/null
done`;

/** Ends an agent also if kubelab is killed with SIGKILL. It needs a POSIX shell; without one there is no guard. */
export class Guard implements Disposable {
  readonly #child: ChildProcess;

  /** @param group the agent's process group @param mark `NAME=value` in the environment of all its processes */
  constructor(group: number, mark: string) {
    this.#child = spawn("sh", ["-c", SCRIPT, "kubelab-guard", String(group), mark], {
      ...{ stdio: ["pipe", "ignore", "ignore"], detached: true },
    });
    this.#child.once("error", () => {}); // no shell
    this.#child.stdin?.on("error", () => {});
    this.#child.unref();
  }

  /** The agent has ended: nothing is left to guard. */
  [Symbol.dispose](): void {
    this.#child.kill("SIGKILL");
    this.#child.stdin?.destroy();
  }
}
