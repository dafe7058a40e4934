import { OutOfMemoryError } from "../process/memory-account.js";
import type { Machine, Self } from "../process/process.js";
import { readAll } from "../streams.js";
import { awkArguments } from "../utility/awk-arguments.js";
import type { RemoteMethod, UtilityCommand, UtilityResult } from "../utility/messages.js";
import { UtilityPool } from "../utility/utility-pool.js";
import { UtilityOutOfMemoryError } from "../utility/utility-process.js";
import { bashFileSystem } from "./bash-fs.js";
import type { Shell } from "./shell.js";

/**
 * Runs a command of just-bash: `grep`, `sed`, `awk`, `sort`, ... They read all of their input before they write.
 * Differs: in an endless pipeline they write nothing, because they wait for the end of input.
 */
export async function runUtility(self: Self): Promise<number> {
  const name = (self.argv[0] ?? "").split("/").at(-1) ?? "";
  const stdin = await readAll(self.stdin, self.signal, self);
  const given = self.argv.slice(1);
  const args = name === "awk" ? awkArguments(given) : given;
  const command = { text: name, args, stdin, env: self.env, cwd: self.cwd };
  const { stdout, stderr, exitCode } = await runOutside(command, self);
  self.memory.hold(stdout.length);
  await self.stdout.write(stdout, self.signal);
  await self.stderr.write(Buffer.from(stderr.replace(/^bash: /gm, "")), self.signal);
  return exitCode;
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

/** Runs a command in a process of its own, on the container's files. @throws OutOfMemoryError */
async function runOutside(command: UtilityCommand, { machine, memory, signal, turn }: Self): Promise<UtilityResult> {
  const serve = async (method: RemoteMethod, given: readonly unknown[]) => {
    await turn();
    return answer(machine, method, given);
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
    return await pool.run(machine, command, { serve, onMemory }, signal);
  } catch (error) {
    if (error instanceof UtilityOutOfMemoryError) memory.runOut();
    throw error;
  } finally {
    memory.release(heldBytes);
  }
}

function answer(machine: Machine, method: RemoteMethod, given: readonly unknown[]): unknown {
  if (method === "sleep") return machine.clock.sleep(Number(given[0]));
  const files = bashFileSystem(machine.fs);
  const operation = files[method] as (...given: readonly unknown[]) => unknown;
  return operation(...given);
}
