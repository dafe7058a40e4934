import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

/** The built CLI: `npm test` builds before it runs the tests. */
export const CLI = resolve("dist/cli.js");

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A folder for the state of one test: clusters, nodes, files. */
export function newHome(): string {
  return mkdtempSync(join(tmpdir(), "kubelab-e2e-"));
}

/** The CLI as a separate process, without a terminal. */
export class CliProcess {
  readonly child: ChildProcess;
  #stdout = "";
  #stderr = "";
  readonly ended: Promise<Ended>;

  constructor(home: string, argv: readonly string[], env: Readonly<Record<string, string>> = {}) {
    if (!existsSync(CLI)) throw new Error("dist/cli.js is missing: run `npm run build` first");
    this.child = spawn(process.execPath, [CLI, ...argv], {
      cwd: home,
      stdio: ["ignore", "pipe", "pipe"],
      env: { PATH: process.env["PATH"], HOME: home, XDG_STATE_HOME: join(home, "state"), LANG: "C.UTF-8", ...env },
    });
    this.child.stdout?.on("data", (chunk) => {
      this.#stdout += String(chunk);
    });
    this.child.stderr?.on("data", (chunk) => {
      this.#stderr += String(chunk);
    });
    this.ended = new Promise((resolveEnd) => {
      this.child.once("close", (code, signal) =>
        resolveEnd({ code, signal, stdout: this.#stdout, stderr: this.#stderr }),
      );
    });
  }

  /** Resolves when its output (stdout and stderr) matches; rejects if it ends first. */
  async printed(pattern: RegExp): Promise<void> {
    await this.#until(pattern, () => pattern.exec(this.#stdout) ?? pattern.exec(this.#stderr));
  }

  /** Resolves with the first group once stderr matches, ignoring line breaks; rejects if it ends first. */
  async says(pattern: RegExp): Promise<string> {
    const match = await this.#until(pattern, () => pattern.exec(this.#stderr.replaceAll(/\s+/g, " ")));
    return match[1] ?? "";
  }

  #until(pattern: RegExp, find: () => RegExpExecArray | null): Promise<RegExpExecArray> {
    return new Promise((resolveFound, reject) => {
      const look = () => {
        const match = find();
        if (match !== null) resolveFound(match);
      };
      this.child.stdout?.on("data", look);
      this.child.stderr?.on("data", look);
      look();
      void this.ended.then(({ stderr }) => reject(new Error(`ended before it printed ${pattern}:\n${stderr}`)));
    });
  }

  kill(signal: NodeJS.Signals): Promise<Ended> {
    this.child.kill(signal);
    return this.ended;
  }
}

/** Runs the CLI to its end. */
export function runCliProcess(home: string, ...argv: string[]): Promise<Ended> {
  return new CliProcess(home, argv).ended;
}
