import type { Bash, IFileSystem } from "just-bash";
import type { Machine, Self } from "../process/process.js";
import { readAll } from "../process/streams.js";
import { bashFileSystem } from "./bash-fs.js";
import type { Shell } from "./shell.js";

/**
 * Runs a command of just-bash: `grep`, `sed`, `awk`, `sort`, ... They read all of their input before they write.
 * Differs: in an endless pipeline they write nothing, because they wait for the end of input.
 */
export async function runUtility(self: Self): Promise<number> {
  const name = (self.argv[0] ?? "").split("/").at(-1) ?? "";
  const stdin = await readAll(self.stdin, self.signal, self);
  const bash = await openBash(self.machine);
  const result = await bash.exec(name, {
    args: [...self.argv.slice(1)],
    stdin: stdin.toString("latin1"),
    stdinKind: "bytes",
    env: { ...self.env },
    replaceEnv: true,
    cwd: self.cwd,
    signal: self.signal,
  });
  if (self.signal.aborted) throw self.signal.reason;
  await self.stdout.write(output(result.stdout, result), self.signal);
  await self.stderr.write(Buffer.from(result.stderr.replace(/^bash: /gm, "")), self.signal);
  return result.exitCode;
}

/**
 * Runs a script with features that our interpreter lacks (arrays, process substitution) in just-bash as a whole.
 * Differs: its output appears when it has ended.
 */
export async function runWhole(text: string, shell: Shell): Promise<number> {
  const { self, state } = shell;
  const bash = await openBash(self.machine);
  const stdin = self.stdin.isTerminal === true ? Buffer.alloc(0) : await readAll(shell.source(0), shell.signal, self);
  const result = await bash.exec(text, {
    stdin: stdin.toString("latin1"),
    stdinKind: "bytes",
    env: state.environment(),
    replaceEnv: true,
    cwd: state.cwd,
    signal: shell.signal,
    rawScript: true,
  });
  if (shell.signal.aborted) throw shell.signal.reason;
  await shell.sink(1).write(output(result.stdout, result), shell.signal);
  await shell.sink(2).write(Buffer.from(result.stderr), shell.signal);
  return result.exitCode;
}

function output(
  text: string,
  { stdoutKind, stdoutEncoding }: { stdoutKind?: string; stdoutEncoding?: string },
): Buffer {
  return Buffer.from(text, stdoutKind === "bytes" || stdoutEncoding === "binary" ? "latin1" : "utf8");
}

const MIB = 1024 * 1024;

/** Its commands work on whole texts without a pause, so a text must not be long. They end with 126 beyond a limit. */
const EXECUTION_LIMITS = {
  maxExecutionTimeMs: Number.POSITIVE_INFINITY,
  maxStringLength: 4 * MIB,
  maxLiveBytes: 32 * MIB,
  maxInputBytes: 32 * MIB,
  maxOutputSize: 16 * MIB,
  maxArchiveBytes: 16 * MIB,
  maxArchiveEntryBytes: 16 * MIB,
  maxSedIterations: 20_000,
};

const bashOf = new WeakMap<Machine, Bash>();

/** One per container: it keeps no state between commands, but creating it takes a few milliseconds. */
async function openBash(machine: Machine): Promise<Bash> {
  const known = bashOf.get(machine);
  if (known !== undefined) return known;
  const { Bash } = await import("just-bash");
  const fs: IFileSystem = bashFileSystem(machine.fs);
  const bash = new Bash({
    fs,
    cwd: "/",
    env: {},
    // Defence in depth replaces globals of the whole process, which other containers and servers need, to keep scripts
    // from running JavaScript. Scripts cannot run JavaScript here anyway.
    defenseInDepth: false,
    sleep: (ms) => machine.clock.sleep(ms),
    executionLimits: EXECUTION_LIMITS,
  });
  bashOf.set(machine, bash);
  return bash;
}
