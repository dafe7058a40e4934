import { spawn } from "node:child_process";
import { PassThrough } from "node:stream";
import type { Program } from "../testbed/context.js";
import { type Clock, SystemClock } from "../util/clock.js";
import type { Random } from "../util/random.js";
import { noteRunning } from "./process-leftovers.js";
import type { CommandResult, CommandRunner, KeptCommand, OutputListener } from "./runner.js";
import { plainWords } from "./runner.js";

export interface RunnerDeps {
  /** runs `kubelab` lines in this process */
  readonly program: Program;
  readonly random: Random;
  /** of the lab's cluster: commands in this process have the same */
  readonly clock: Clock;
  /** of every command: PATH, KUBECONFIG, the state folder, which cluster */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly folder: string;
  /** program and first arguments that run this CLI in a process of its own */
  readonly self: readonly string[];
  /** columns of whoever reads the output */
  readonly columns: number;
  /** whether output is coloured */
  readonly isColoured: boolean;
  /** ms that a program has to end in when it is stopped, before it is ended harder; default 3000 */
  readonly graceMs?: number;
}

const GRACE_MS = 3000;
/** What a shell starts with & does not hear the first. */
const HARDER = ["SIGINT", "SIGTERM", "SIGKILL"] as const;

/** What a shell says of a program that is not there. */
const EXIT_NOT_FOUND = 127;

/**
 * Runs a lab's commands: a plain `kubelab` line in this process, which costs it no start; anything else by the shell, which
 * finds `kubelab` too.
 */
export class LabRunner implements CommandRunner {
  constructor(readonly deps: RunnerDeps) {}

  async run(line: string, onOutput: OutputListener | undefined, signal: AbortSignal): Promise<CommandResult> {
    const command = this.#start(line, onOutput);
    const onAbort = () => void command.stop();
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      const result = await command.ended;
      signal.throwIfAborted();
      return result;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  keep(line: string, onOutput: OutputListener | undefined): KeptCommand {
    return this.#start(line, onOutput);
  }

  #start(line: string, onOutput: OutputListener | undefined): KeptCommand {
    const words = plainWords(line);
    return words?.[0] === "kubelab" ? this.#inProcess(words.slice(1), onOutput) : this.#inShell(line, onOutput);
  }

  #inProcess(argv: readonly string[], onOutput: OutputListener | undefined): KeptCommand {
    const { program, random, clock, env, folder, self, columns, isColoured } = this.deps;
    const record = new Recording(onOutput);
    const stop = new AbortController();
    const stdin = new PassThrough();
    stdin.end();
    const stream = (name: "stdout" | "stderr") => {
      const out = new PassThrough();
      out.setEncoding("utf8");
      out.on("data", (text: string) => record.add(name, text));
      return Object.assign(out, { columns });
    };
    const streams = { stdin, stdout: stream("stdout"), stderr: stream("stderr") };
    const ended = program
      .run(argv, "lab", {
        env: { ...env, FORCE_COLOR: isColoured ? "1" : "0" },
        cwd: folder,
        streams,
        random,
        self,
        signal: stop.signal,
        clusterClock: clock,
      })
      .then((code) => record.end(code));
    return {
      get result() {
        return record.result;
      },
      ended,
      stop: async () => {
        record.isHushed = true;
        stop.abort();
        await ended;
      },
    };
  }

  #inShell(line: string, onOutput: OutputListener | undefined): KeptCommand {
    const record = new Recording(onOutput);
    // A process group of its own: what the line started ends with it.
    const child = spawn("sh", ["-c", line], {
      cwd: this.deps.folder,
      env: definedOnly(this.deps.env),
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    if (child.pid !== undefined) noteRunning(this.deps.folder, child.pid);
    for (const name of ["stdout", "stderr"] as const) {
      child[name].setEncoding("utf8").on("data", (text: string) => record.add(name, text));
    }
    const ended = new Promise<CommandResult>((resolve) => {
      child.once("error", (error) => {
        record.add("stderr", `${error.message}\n`);
        resolve(record.end(EXIT_NOT_FOUND));
      });
      child.once("close", (code, signal) => resolve(record.end(code ?? (signal === "SIGINT" ? 130 : 143))));
    });
    return {
      get result() {
        return record.result;
      },
      ended,
      stop: async () => {
        record.isHushed = true;
        if (child.pid !== undefined) await end(child.pid, ended, this.deps.graceMs ?? GRACE_MS);
        await ended;
      },
    };
  }
}

/** As Ctrl-C in a terminal: the whole group hears it. Harder, if that does not end it. */
async function end(pid: number, ended: Promise<unknown>, graceMs: number): Promise<void> {
  const waiting = new AbortController();
  void ended.then(() => waiting.abort());
  const wall = new SystemClock();
  for (const signal of HARDER) {
    try {
      process.kill(-pid, signal);
    } catch {
      return; // Nobody of the group is left.
    }
    // Rejects when it has ended.
    const isOver = await wall.sleep(graceMs, waiting.signal).then(
      () => false,
      () => true,
    );
    if (isOver) return;
  }
}

/** What a command has printed, while it prints it. */
class Recording {
  #stdout = "";
  #stderr = "";
  #code: number | undefined;
  /** what a command says when it is stopped is nothing that a learner asked for */
  isHushed = false;

  constructor(readonly onOutput: OutputListener | undefined) {}

  add(stream: "stdout" | "stderr", text: string): void {
    if (stream === "stdout") this.#stdout += plain(text);
    else this.#stderr += plain(text);
    if (!this.isHushed) this.onOutput?.(stream, text);
  }

  end(code: number): CommandResult {
    this.#code = code;
    return this.result;
  }

  get result(): CommandResult {
    return { code: this.#code, stdout: this.#stdout, stderr: this.#stderr };
  }
}

/** Checks read text, not colours. */
function plain(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the escape sequences of colours begin with one
  return text.replace(/\u001b\[[0-9;]*m/g, "");
}

function definedOnly(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(Object.entries(env).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])));
}
