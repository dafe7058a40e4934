import { defined } from "../../../util/defined.js";
import { encodeText } from "../byte-text.js";
import { OutOfMemoryError } from "../process/memory-account.js";
import { Pipe } from "../process/pipe.js";
import { exitCodeOf, type Process, type Program, type Self, StackOverflowError } from "../process/process.js";
import { SIGINT } from "../process/signals.js";
import { type Terminal, terminalOf } from "../process/terminal.js";
import { type ByteSink, type ByteSource, BytesSource, HeldSink, NullSink } from "../streams.js";
import { runCompound } from "./compound.js";
import type { JobControl } from "./job-control.js";
import { showsJobs } from "./jobs.js";
import { redirect } from "./redirect.js";
import type { ForkOptions, Shell } from "./shell.js";
import { runSimpleCommand } from "./simple-command.js";
import { forkFailure, Interrupted, Leave, ShellError, type ShellState, wordBytes } from "./state.js";
import type { ArithExpr, CommandNode, PipelineNode, ScriptNode, StatementNode, WordNode } from "./syntax/ast.js";
import type { ShellLanguage } from "./syntax/language.js";
import { Traps } from "./traps.js";

/** The work of starting a process. */
const UNITS_PER_FORK = 5;
const MIN_HELD_BYTES = 2048;
/** About the depth at which a shell's stack of 8 MB ends. */
const MAX_TEXT_DEPTH = 2000;

/**
 * Runs the syntax tree of just-bash's parser, statement by statement, on the container's processes, streams and clock.
 * A loop's output is visible at once, and signals are handled before the next command.
 */
export class Interpreter implements Shell {
  readonly traps: Traps;
  jobControl: JobControl | undefined;
  /** nesting depth of conditions, `!` and `&&`, where `set -e` has no effect */
  #guards = 0;
  /** nesting depth of `eval`, `.` and traps */
  #textDepth = 0;

  constructor(
    readonly self: Self,
    readonly state: ShellState,
    readonly language: ShellLanguage,
  ) {
    this.traps = new Traps(self, state, (command) => this.runText(command));
  }

  get signal(): AbortSignal {
    return this.self.signal;
  }

  get terminal(): Terminal | undefined {
    const { stdin, stdout, stderr } = this.self;
    return terminalOf(stdin) ?? terminalOf(stdout) ?? terminalOf(stderr);
  }

  get files() {
    return this.self.machine.fs;
  }

  get random() {
    return this.self.machine.random;
  }

  get processes() {
    return this.self.machine.processes;
  }

  parse(text: string): ScriptNode {
    return this.language.parse(text);
  }

  parseArithmetic(text: string): ArithExpr {
    return this.language.parseArithmetic(text);
  }

  special(name: string): string | undefined {
    const { state } = this;
    if (/^\d+$/.test(name)) return name === "0" ? state.name : state.parameters[Number(name) - 1];
    switch (name) {
      case "?":
        return String(state.lastStatus);
      case "#":
        return String(state.parameters.length);
      case "$":
        return String(state.shellPid);
      case "!":
        return state.lastBackgroundPid === undefined ? undefined : String(state.lastBackgroundPid);
      case "-":
        return [...state.options].filter((option) => option.length === 1).join("");
      default:
        return undefined;
    }
  }

  sink(fd: number): ByteSink {
    return this.state.descriptors.get(fd)?.sink ?? new NullSink();
  }

  source(fd: number): ByteSource {
    return this.state.descriptors.get(fd)?.source ?? new BytesSource();
  }

  async print(text: string, fd = 1): Promise<void> {
    await this.sink(fd).write(encodeText(text), this.signal);
  }

  complain(text: string): Promise<void> {
    return this.print(`${this.state.name}: ${text}\n`, 2);
  }

  async runText(text: string): Promise<number> {
    if (this.#textDepth >= MAX_TEXT_DEPTH) throw new StackOverflowError();
    this.#textDepth++;
    try {
      return await this.runScript(this.parse(text));
    } finally {
      this.#textDepth--;
    }
  }

  async runScript(script: ScriptNode): Promise<number> {
    for (const statement of script.statements) await this.runStatement(statement);
    return this.state.lastStatus;
  }

  async runAll(statements: readonly StatementNode[]): Promise<number> {
    for (const statement of statements) await this.runStatement(statement);
    return this.state.lastStatus;
  }

  async runStatement(statement: StatementNode, isLast = false): Promise<number> {
    if (this.signal.aborted) throw this.signal.reason;
    if (statement.deferredError !== undefined) throw new ShellError(`syntax error: ${statement.deferredError.message}`);
    // `sh -n` only parses. A terminal ignores the option, which could not be taken back.
    if (this.state.options.has("n") && this.jobControl === undefined) return this.state.lastStatus;
    await this.traps.runPending();
    const others = this.self.turn();
    if (others !== undefined) await others;
    if (statement.background) return this.#startInBackground(statement);
    const { pipelines, operators } = statement;
    for (const [index, pipeline] of pipelines.entries()) {
      const operator = operators[index - 1];
      if (operator === "&&" && this.state.lastStatus !== 0) continue;
      if (operator === "||" && this.state.lastStatus === 0) continue;
      const isGuarded = operators[index] === "&&" || operators[index] === "||";
      const run = () => this.#runPipeline(pipeline, isLast && pipelines.length === 1);
      this.state.lastStatus = isGuarded || pipeline.negated ? await this.guarded(run) : await run();
      if (isGuarded || pipeline.negated) continue;
      this.#leaveOnError();
    }
    await this.traps.runPending();
    return this.state.lastStatus;
  }

  #leaveOnError(): void {
    if (this.state.lastStatus === 0 || this.#guards > 0 || !this.state.options.has("e")) return;
    throw new Leave("exit", this.state.lastStatus);
  }

  async guarded<T>(body: () => Promise<T>): Promise<T> {
    this.#guards++;
    try {
      return await body();
    } finally {
      this.#guards--;
    }
  }

  async #startInBackground(statement: StatementNode): Promise<number> {
    const child = this.fork(async (shell) => shell.runStatement({ ...statement, background: false }, true), {
      // A background command does not read the shell's input, and ignores Ctrl-C.
      stdin: new BytesSource(),
      ...(this.jobControl === undefined ? { ignores: [SIGINT] } : { group: "new" }),
    });
    this.state.lastBackgroundPid = child.pid;
    this.state.addJob(child);
    this.state.lastStatus = 0;
    return 0;
  }

  async #runPipeline(parsed: PipelineNode, isLast: boolean): Promise<number> {
    const pipeline = parsed.timed === true ? withTimeProgram(parsed) : parsed;
    const [first] = pipeline.commands;
    const status =
      pipeline.commands.length === 1 && first !== undefined
        ? await this.runCommand(first, isLast)
        : await this.#runPipes(pipeline);
    return pipeline.negated ? Number(status === 0) : status;
  }

  async #runPipes(pipeline: PipelineNode): Promise<number> {
    const children: Process[] = [];
    let stdin: ByteSource | undefined;
    for (const [index, command] of pipeline.commands.entries()) {
      const pipe = index === pipeline.commands.length - 1 ? undefined : new Pipe(this.self.machine.memory);
      const child = this.fork(async (shell) => shell.runCommand(command, true), {
        ...defined({ stdin }),
        ...(pipe === undefined ? {} : { stdout: pipe.writer }),
        ...(pipe !== undefined && pipeline.pipeStderr?.[index] === true ? { stderr: pipe.writer } : {}),
        ...(this.jobControl === undefined ? {} : { group: children[0]?.group ?? "new" }),
        command,
      });
      children.push(child);
      stdin?.release();
      pipe?.writer.release();
      stdin = pipe?.reader;
    }
    let status = 0;
    for (const code of await this.waitFor(children)) {
      if (!this.state.options.has("pipefail") || code !== 0) status = code;
    }
    return status;
  }

  async waitFor(children: readonly Process[]): Promise<readonly number[]> {
    if (this.jobControl !== undefined) return this.jobControl.waitFor(children);
    const codes: number[] = [];
    for (const child of children) codes.push(exitCodeOf(await child.exited));
    return codes;
  }

  fork(body: (shell: Shell) => Promise<number>, options: ForkOptions = {}): Process {
    const state = this.state.fork();
    if (showsJobs(options.command)) for (const job of this.state.jobs.values()) state.addJob(job);
    const stdin = options.stdin ?? this.source(0);
    const stdout = options.stdout ?? this.sink(1);
    const stderr = options.stderr ?? this.sink(2);
    state.descriptors.set(0, { source: stdin });
    state.descriptors.set(1, { sink: stdout });
    state.descriptors.set(2, { sink: stderr });
    const program = childProgram(body, state, this.language, options.ignores);
    const { argv, pid: parentPid, machine } = this.self;
    const group = options.group === undefined ? {} : { group: options.group };
    let child: Process;
    try {
      const { cwd, umask } = state;
      child = machine.fork(program, { argv, env: {}, cwd, umask, stdin, stdout, stderr, parentPid, ...group });
    } catch (error) {
      state.release();
      throw forkFailure(error);
    }
    try {
      state.holdIn(child.memory);
    } catch (error) {
      // The child was killed before it ran.
      if (!(error instanceof OutOfMemoryError)) throw error;
    }
    return child;
  }

  async holding<T>(words: readonly string[], body: () => Promise<T>): Promise<T> {
    const bytes = wordBytes(words);
    // Counting each short command would cost more than it holds.
    if (bytes < MIN_HELD_BYTES) return body();
    const { memory } = this.self;
    memory.hold(bytes);
    try {
      return await body();
    } finally {
      memory.release(bytes);
    }
  }

  /** Runs a whole shell: reports an error that ends it early, and runs its EXIT trap. @returns its exit code */
  async toTheEnd(body: () => Promise<number>): Promise<number> {
    let status = await this.#caught(body);
    this.state.lastStatus = status;
    const trap = this.traps.takeExit();
    if (trap !== undefined) {
      const before = status;
      status = await this.#caught(async () => {
        await this.runText(trap);
        return before;
      });
    }
    return status;
  }

  async #caught(body: () => Promise<number>): Promise<number> {
    try {
      return await body();
    } catch (error) {
      if (error instanceof Leave) return error.how === "exit" || error.how === "return" ? error.count : 0;
      if (error instanceof Interrupted) return 128 + SIGINT;
      if (!(error instanceof ShellError)) throw error;
      await this.complain(error.message);
      return error.status;
    }
  }

  async runCommand(node: CommandNode, isLast = false): Promise<number> {
    if (this.signal.aborted) throw this.signal.reason;
    if (node.type === "SimpleCommand") return runSimpleCommand(node, this, isLast);
    if (node.type === "FunctionDef") {
      this.state.setFunction(node);
      return 0;
    }
    let restore = () => {};
    try {
      restore = await redirect(node.redirections, this);
    } catch (error) {
      if (!(error instanceof ShellError)) throw error;
      await this.complain(error.message);
      return error.status;
    }
    try {
      return await runCompound(node, this);
    } finally {
      restore();
    }
  }

  /** The stdout of a command, for `$(command)`. */
  async substitute(body: ScriptNode): Promise<string> {
    const stdout = new HeldSink(this.self.memory);
    const child = this.fork(async (shell) => shell.runScript(body), { stdout, command: onlyCommandOf(body) });
    this.state.lastStatus = exitCodeOf(await child.exited);
    return stdout.take();
  }
}

/** A forked shell. It has no reference to its parent, which may end long before it. */
function childProgram(
  body: (shell: Shell) => Promise<number>,
  state: ShellState,
  language: ShellLanguage,
  ignores: readonly number[] = [],
): Program {
  return async (self) => {
    for (const signal of ignores) self.onSignal(signal, "ignore");
    await self.turn(UNITS_PER_FORK);
    const shell = new Interpreter(self, state, language);
    return shell.toTheEnd(() => body(shell));
  };
}

/** The command of a script with a single one. */
function onlyCommandOf({ statements }: ScriptNode): CommandNode | undefined {
  const [statement, ...others] = statements;
  const [pipeline, ...more] = statement?.pipelines ?? [];
  const isOnly = others.length + more.length === 0 && pipeline?.commands.length === 1;
  return isOnly ? pipeline.commands[0] : undefined;
}

/** ash has no keyword `time`: a program measures the first command. Differs: also in bash. */
function withTimeProgram({ timed: _, ...pipeline }: PipelineNode): PipelineNode {
  const [first, ...others] = pipeline.commands;
  if (first?.type !== "SimpleCommand") return pipeline;
  const word = (value: string): WordNode => ({ type: "Word", parts: [{ type: "Literal", value }] });
  const args = [
    ...(pipeline.timePosix === true ? [word("-p")] : []),
    ...(first.name === null ? [] : [first.name]),
    ...first.args,
  ];
  return { ...pipeline, commands: [{ ...first, name: word("time"), args }, ...others] };
}
