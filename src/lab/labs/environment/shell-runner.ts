import { spawn } from "node:child_process";
import { createReadStream } from "node:fs";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import type { OnLines, Program } from "../../../testbed/context.js";
import { RecentFacts } from "../../../trace/file/recent-facts.js";
import type { ShowFact } from "../../../trace/terminal/terminal-sink.js";
import { type UnbrokenLines, unbrokenLines } from "../../../trace/terminal/unbroken.js";
import type { TraceSink } from "../../../trace/trace.js";
import { onAbort } from "../../../util/async/abort.js";
import { type Clock, SystemClock } from "../../../util/clock.js";
import { defined } from "../../../util/defined.js";
import type { Say } from "../../../util/i18n/sentences.js";
import type { Random } from "../../../util/random.js";
import type { LabFacts } from "./facts.js";
import { noteRunning } from "./orphaned-processes.js";
import type { CommandResult, CommandRunner, KeptCommand, OutputListener } from "./runner.js";
import { plainWords } from "./runner.js";

export interface RunnerDeps {
  /** runs `kubelab` lines in this process */
  readonly program: Program;
  readonly random: Random;
  /** clock of the lab's cluster, also used by commands in this process */
  readonly clock: Clock;
  /** environment of every command: PATH, KUBECONFIG, the state folder, the cluster */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly folder: string;
  /** receives the facts of commands in this process */
  readonly facts: LabFacts;
  /** program and first arguments that run this CLI in a new process */
  readonly self: readonly string[];
  /** the language of the commands' facts; undefined: English */
  readonly say: Say | undefined;
  /** width of the output, in columns */
  readonly columns: number;
  /** whether output is coloured */
  readonly isColoured: boolean;
  /** grace period of a stopped program, in ms, before SIGKILL; default 3000 */
  readonly graceMs?: number;
}

const GRACE_MS = 3000;
/** facts to keep of each command, for the checks of its output */
const MAX_FACTS = 2_000;
/** Shells start background jobs with SIGINT ignored, so SIGTERM follows. */
const HARDER = ["SIGINT", "SIGTERM", "SIGKILL"] as const;

/** The file that a line reads, and a command whose output is a part of the line. */
const INPUT = / < ([\w.-]+)$/;
const SUBSTITUTION = /\$\(([^()]*)\)/g;

/** A shell's exit code for an unknown program. */
const EXIT_NOT_FOUND = 127;

/**
 * Runs a lab's commands: a simple `kubelab` line in this process, also with `$(...)` or `< FILE`, without the cost of a
 * start; other lines in a shell, which also finds `kubelab`.
 */
export class LabRunner implements CommandRunner {
  constructor(readonly deps: RunnerDeps) {}

  async run(line: string, onOutput: OutputListener | undefined, signal: AbortSignal): Promise<CommandResult> {
    const command = this.#start(line, onOutput);
    using _ = onAbort(signal, () => void command.stop());
    const result = await command.ended;
    signal.throwIfAborted();
    return result;
  }

  keep(line: string, onOutput: OutputListener | undefined): KeptCommand {
    return this.#start(line, onOutput);
  }

  #start(line: string, onOutput: OutputListener | undefined): KeptCommand {
    const [program] = plainWords(line.replace(SUBSTITUTION, "_").replace(INPUT, "")) ?? [];
    return this.deps.facts.command(line, () =>
      program === "kubelab" ? this.#inProcess(line, onOutput) : this.#inShell(line, onOutput),
    );
  }

  /** The arguments of a `kubelab` line, with the output of each `$(...)`. */
  async #argvOf(line: string): Promise<readonly string[]> {
    let filled = line.replace(INPUT, "");
    for (const [whole, inner = ""] of line.matchAll(SUBSTITUTION)) {
      const { stdout } = await this.#inShell(inner, undefined).ended;
      filled = filled.replace(whole, () => stdout.trimEnd());
    }
    return (plainWords(filled) ?? filled.trim().split(/\s+/)).slice(1);
  }

  #inProcess(line: string, onOutput: OutputListener | undefined): KeptCommand {
    const { program, random, clock, env, folder, facts, self, columns, isColoured, say } = this.deps;
    const own = new RecentFacts(MAX_FACTS);
    const record = new Recording(onOutput, { facts: () => own.since() });
    const { level, wantsBodies } = facts;
    const sink: TraceSink = {
      level,
      wantsBodies,
      write: (event) => {
        own.write(event);
        // The command knows its own secrets only.
        facts.write(facts.secrets.maskAll(event));
      },
    };
    const stop = new AbortController();
    const [, file] = INPUT.exec(line) ?? [];
    const stdin = file === undefined ? Readable.from([]) : createReadStream(join(folder, file)).on("error", () => {});
    const stream = (name: "stdout" | "stderr") => {
      const out = new PassThrough();
      out.setEncoding("utf8");
      out.on("data", (text: string) => record.add(name, text));
      return Object.assign(out, { columns });
    };
    const streams = { stdin, stdout: stream("stdout"), stderr: stream("stderr") };
    const edge = {
      env: { ...env, FORCE_COLOR: isColoured ? "1" : "0" },
      cwd: folder,
      streams,
      random,
      self,
      signal: stop.signal,
      clusterClock: clock,
      sink,
      showFact: record.addFact,
      onLines: record.addLines,
      ...defined({ say }),
    };
    const ended = this.#argvOf(line)
      .then((argv) => program.run(argv, "lab", edge))
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
    const { facts } = this.deps;
    const first = facts.count;
    let last: number | undefined;
    const meanwhile = () => {
      const seen = facts.since(first);
      return last === undefined ? seen : seen.slice(0, Math.max(0, seen.length - (facts.count - last)));
    };
    const record = new Recording(onOutput, { meanwhile });
    // A new process group, so that everything that the line started ends with it.
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
      child.once("close", (code, signal) => {
        last = facts.count;
        resolve(record.end(code ?? (signal === "SIGINT" ? 130 : 143)));
      });
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

/** Signals the whole group, like Ctrl-C in a terminal; kills it if it does not end. */
async function end(pid: number, ended: Promise<unknown>, graceMs: number): Promise<void> {
  const waiting = new AbortController();
  void ended.then(() => waiting.abort());
  const wall = new SystemClock();
  for (const signal of HARDER) {
    try {
      process.kill(-pid, signal);
    } catch {
      return; // The group has no processes left.
    }
    // Rejects if it has ended.
    const isOver = await wall.sleep(graceMs, waiting.signal).then(
      () => false,
      () => true,
    );
    if (isOver) return;
  }
}

/** The output of a running command. */
class Recording {
  #stdout = "";
  #stderr = "";
  readonly #lines = { stdout: new RecordedLines(), stderr: new RecordedLines() };
  #code: number | undefined;
  /** the lines of a result whose text comes next */
  #result: UnbrokenLines | undefined;
  /** the learner does not need output after the stop */
  isHushed = false;

  constructor(
    readonly onOutput: OutputListener | undefined,
    /** further details of the command */
    readonly known: Pick<CommandResult, "facts" | "meanwhile">,
  ) {}

  /** Gets the lines before their text is printed. */
  readonly addLines: OnLines = (lines) => {
    this.#lines.stdout.add(lines);
    this.#result = lines;
  };

  readonly addFact: ShowFact = (event, depth, options) => {
    const lines = unbrokenLines(event, depth, options);
    this.#lines.stderr.add(lines);
    const text = `${lines.shown.join("\n")}\n`;
    this.#stderr += text;
    if (!this.isHushed) this.onOutput?.("stderr", text, { event, lines, options });
  };

  add(stream: "stdout" | "stderr", text: string): void {
    if (stream === "stdout") this.#stdout += plain(text);
    else this.#stderr += plain(text);
    const result = stream === "stdout" ? this.#result : undefined;
    if (result !== undefined) this.#result = undefined;
    if (!this.isHushed) this.onOutput?.(stream, text, result);
  }

  end(code: number): CommandResult {
    this.#code = code;
    return this.result;
  }

  get result(): CommandResult {
    return {
      code: this.#code,
      stdout: this.#stdout,
      stderr: this.#stderr,
      ...this.known,
      lines: this.#lines,
    };
  }
}

/** Keeps each line at the same place in both languages. */
class RecordedLines implements UnbrokenLines {
  readonly english: string[] = [];
  readonly shown: string[] = [];

  add({ english, shown }: UnbrokenLines): void {
    this.english.push(...english);
    this.shown.push(...english.map((line, i) => shown[i] ?? line));
  }
}

/** Removes colours, because checks match plain text. */
function plain(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the escape sequences of colours begin with one
  return text.replace(/\u001b\[[0-9;]*m/g, "");
}

function definedOnly(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(Object.entries(env).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])));
}
