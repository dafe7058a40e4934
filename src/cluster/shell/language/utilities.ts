import { errorText, FsError } from "../fs/fs-error.js";
import { resolvePath } from "../fs/paths.js";
import { OutOfMemoryError } from "../process/memory-account.js";
import type { Self } from "../process/process.js";
import { readAll } from "../streams.js";
import { usageOf } from "../synopses.js";
import { awkWithProgram, utilityArguments } from "../utility/arguments.js";
import { busyboxErrors, busyboxRefusal, numberProblem } from "../utility/error-words.js";
import { readsInput } from "../utility/input.js";
import type { RemoteMethod, UtilityCommand, UtilityResult } from "../utility/messages.js";
import { UtilityPool } from "../utility/utility-pool.js";
import { UtilityOutOfMemoryError } from "../utility/utility-process.js";
import { bashFileSystem } from "./bash-fs.js";
import type { Shell } from "./shell.js";

const DIFF_HEAD = /^=+\n--- (.*)\t\n\+\+\+ (.*)\t\n/;
const DIFF_ONE = /(?<=^@@ [-+,\d ]{1,64}),1(?= )/gm;

/**
 * Runs a command of just-bash: `grep`, `sed`, `awk`, `sort`, ... They read all of their input before they write, and none
 * if they have files.
 * Differs: in an endless pipeline they write nothing, because they wait for the end of input.
 */
export async function runUtility(self: Self): Promise<number> {
  const name = (self.argv[0] ?? "").split("/").at(-1) ?? "";
  let given: readonly string[] = self.argv.slice(1);
  const hasZeros = /^(sort|[ef]?grep)$/.test(name) && given.some((arg) => /^-[A-Za-z]*z/.test(arg));
  const wrong = numberProblem(name, given);
  if (wrong !== undefined) {
    await self.stderr.write(Buffer.from(wrong), self.signal);
    return usageOf(name)?.code ?? 1;
  }
  if (name === "sed") keepBackups(self, given);
  let input: Buffer = readsInput(name, given) ? await readAll(self.stdin, self.signal, self) : Buffer.alloc(0);
  let program = "";
  try {
    if (name === "awk")
      given = awkWithProgram(given, (file) => {
        program = file;
        if (file !== "-") return self.machine.fs.readFile(resolvePath(self.cwd, file)).toString();
        const text = input.toString();
        input = Buffer.alloc(0);
        return text;
      });
  } catch (error) {
    await self.stderr.write(Buffer.from(`awk: can't open '${program}': ${errorText(error)}\n`), self.signal);
    return 1;
  }
  const stdin = hasZeros ? swapZeros(input) : input;
  const nowMs = self.machine.clock.now();
  const command = { text: name, args: utilityArguments(name, given), stdin, env: self.env, cwd: self.cwd, nowMs };
  const refused: FsError[] = [];
  const { stdout, stderr, exitCode } = await runOutside(command, self, refused);
  self.memory.hold(stdout.length);
  // just-bash writes a line that patches of Subversion have, empty times, and counts of one line.
  const patch = () => stdout.toString("latin1").replace(DIFF_HEAD, "--- $1\n+++ $2\n").replace(DIFF_ONE, "");
  // A group that matches nothing is an empty text.
  const isNoGroup = name === "expr" && exitCode === 1 && given.length === 3 && given[2]?.includes("\\(") === true;
  const output = name === "diff" ? Buffer.from(patch(), "latin1") : isNoGroup ? Buffer.from("\n") : stdout;
  const isCount = name !== "sort" && given.some((arg) => /^-[A-Za-z]*c/.test(arg));
  await self.stdout.write(hasZeros && !isCount ? swapZeros(output) : output, self.signal);
  const said = stderr.replace(/^bash: /gm, "");
  const refusal = busyboxRefusal(said, name);
  const text = refusal?.text ?? busyboxErrors(said, command, refused);
  const isSilent = name.endsWith("grep") && given.some((arg) => /^-[A-Za-z]*s/.test(arg));
  const shown = isSilent ? text.replace(/^.*: (No such file or directory|Permission denied)\n/gm, "") : text;
  await self.stderr.write(Buffer.from(shown), self.signal);
  return refusal?.exitCode ?? exitCode;
}

/** The lines of `sort -z` and `grep -z` end with zeros. Differs: those of its input, not those of files. */
function swapZeros(bytes: Buffer): Buffer {
  return Buffer.from(bytes.map((byte) => (byte === 0 ? 0x0a : byte === 0x0a ? 0 : byte)));
}

/** `sed -i.bak`: copies of the files that it is about to change. */
function keepBackups({ machine: { fs }, cwd }: Self, args: readonly string[]): void {
  const suffix = args.map((arg) => /^-[nEr]*i(.+)$/.exec(arg)?.[1]).find((one) => one !== undefined);
  if (suffix === undefined) return;
  const operands = args.filter((arg, at) => !arg.startsWith("-") && !/^-[nEr]*[ef]$/.test(args[at - 1] ?? ""));
  const files = args.some((arg) => /^-[nEr]*[ef]/.test(arg)) ? operands : operands.slice(1);
  for (const path of files.map((name) => resolvePath(cwd, name)).filter((one) => fs.exists(one))) {
    const { mode } = fs.stat(path);
    fs.write(`${path}${suffix}`, fs.readFile(path), { truncate: true, mode });
  }
}

/**
 * Runs a script with features that our interpreter lacks (arrays, process substitution) in just-bash as a whole.
 * Differs: its output appears when it has ended.
 */
export async function runWhole(text: string, shell: Shell): Promise<number> {
  const { self, state, signal } = shell;
  const stdin = self.stdin.isTerminal === true ? Buffer.alloc(0) : await readAll(shell.source(0), signal, self);
  const command = { text, args: undefined, stdin, env: state.environment(), cwd: state.cwd };
  const { stdout, stderr, exitCode } = await runOutside(command, self);
  self.memory.hold(stdout.length);
  await shell.sink(1).write(stdout, signal);
  self.memory.release(stdout.length);
  await shell.sink(2).write(Buffer.from(stderr), signal);
  return exitCode;
}

/** Whether a text matches a regular expression. */
export async function matchOutside(subject: string, pattern: string, self: Self): Promise<boolean> {
  return (await runOutside({ subject, pattern }, self)).exitCode === 0;
}

/** Shared by all containers of this process. */
const pool = new UtilityPool();

/** What just-bash sees of an input. */
const NO_FOLDER = { isFile: true, isDirectory: false, isSymbolicLink: false, mode: 0o600, mtime: new Date(0) };

/** A command that fails that often has more to read than a person. */
const MAX_REFUSED = 1000;

/** Runs a command in a process of its own, on the container's files. @param refused gets its failed operations @throws OutOfMemoryError */
async function runOutside(command: UtilityCommand, self: Self, refused: FsError[] = []): Promise<UtilityResult> {
  const { memory, signal, turn } = self;
  const serve = async (method: RemoteMethod, given: readonly unknown[]) => {
    await turn();
    // The input was read before the command started.
    if (given[0] === "/dev/stdin" && "stdin" in command) {
      if (method === "stat") return { ...NO_FOLDER, size: command.stdin.length };
      if (method === "readFileBuffer") return command.stdin;
    }
    try {
      return await answer(self, method, given);
    } catch (error) {
      const cause = error instanceof Error ? error.cause : undefined;
      if (cause instanceof FsError && refused.length < MAX_REFUSED) refused.push(cause);
      throw error;
    }
  };
  let heldBytes = 0;
  const onMemory = (bytes: number) => {
    const growth = bytes - heldBytes;
    try {
      if (growth > 0) memory.hold(growth);
      else memory.release(-growth);
      heldBytes += growth;
    } catch (error) {
      // The process was killed, which aborts the command.
      if (!(error instanceof OutOfMemoryError)) throw error;
    }
  };
  try {
    return await pool.run(self.machine, command, { serve, onMemory }, signal);
  } catch (error) {
    if (error instanceof UtilityOutOfMemoryError) memory.runOut();
    throw error;
  } finally {
    memory.release(heldBytes);
  }
}

function answer({ machine, umask }: Self, method: RemoteMethod, given: readonly unknown[]): unknown {
  if (method === "sleep") return machine.clock.sleep(Number(given[0]));
  const files = bashFileSystem(machine.fs, umask);
  const operation = files[method] as (...given: readonly unknown[]) => unknown;
  return operation(...given);
}
