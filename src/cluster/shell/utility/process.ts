import { isAscii } from "node:buffer";
import { Bash, type CommandName, defineCommand, type IFileSystem } from "just-bash";
import { SystemClock } from "../../../util/clock.js";
import { messageOf } from "../../../util/errors.js";
import { endWithParent } from "../../../util/os/watchdog.js";
import { encodeText } from "../byte-text.js";
import { resolvePath } from "../fs/paths.js";
import { bytesOf, charactersIn, charactersOf } from "./c-locale.js";
import commands from "./commands.json" with { type: "json" };
import {
  type BashCommand,
  type FromUtility,
  type MatchCommand,
  REMOTE_METHODS,
  type RemoteMethod,
  type ToUtility,
  type UtilityCommand,
  type UtilityResult,
} from "./messages.js";

const MIB = 1024 * 1024;
const UNLIMITED = Number.MAX_SAFE_INTEGER;

/**
 * The container and the heap of this process limit a command's memory. Its time has no limit, because the waiting
 * container can kill it. The limits for texts are for strings that V8 joins without memory (`x = x x`, repeated).
 */
const EXECUTION_LIMITS = {
  maxExecutionTimeMs: Number.POSITIVE_INFINITY,
  maxStringLength: 64 * MIB,
  maxLiveBytes: 128 * MIB,
  maxInputBytes: 64 * MIB,
  maxOutputSize: 32 * MIB,
  maxArchiveBytes: 32 * MIB,
  maxArchiveEntryBytes: 32 * MIB,
  maxCommandCount: UNLIMITED,
  maxLoopIterations: UNLIMITED,
  maxAwkIterations: UNLIMITED,
  maxSedIterations: UNLIMITED,
  maxJqIterations: UNLIMITED,
  maxWorkUnits: UNLIMITED,
  maxArrayElements: UNLIMITED,
};

/** The exit code and the last line of stderr of a command that exceeds one of just-bash's limits. */
const LIMIT_EXIT_CODE = 126;
const LIMIT_MESSAGE = /(size|length|memory) limit exceeded \(\d+ bytes\)\n?$/;

/** Commands that read texts. The others read bytes, or no content. */
const TEXT_COMMANDS = new Set(
  "awk comm cut diff egrep expr fgrep find fold grep nl paste rev sed sort tac tree uniq xargs".split(" "),
);

/** Its parent stops using it after a shorter time. */
const MAX_IDLE_MS = 20_000;

// The process that runs commands of just-bash for the containers of a runtime. It ends with its parent, or when idle.
process.title = "kubelab-utility";
process.once("disconnect", () => process.exit());
void endWithParent();
const clock = new SystemClock();
let idle = clock.timer(MAX_IDLE_MS, () => process.exit());

const calls = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
let lastId = 0;

process.on("message", (message: ToUtility) => {
  if (message.type === "run") {
    idle.stop();
    void run(message.command).then((result) => {
      idle = clock.timer(MAX_IDLE_MS, () => process.exit());
      send(isOutOfMemory(result) ? { type: "out-of-memory" } : { type: "ended", result });
    });
    return;
  }
  const call = calls.get(message.id);
  calls.delete(message.id);
  if (message.type === "answer") call?.resolve(message.value);
  else call?.reject(Object.assign(new Error(message.message), { code: message.code }));
});

function isOutOfMemory({ exitCode, stderr }: UtilityResult): boolean {
  return exitCode === LIMIT_EXIT_CODE && LIMIT_MESSAGE.test(stderr);
}

function run(command: UtilityCommand): Promise<UtilityResult> {
  return "pattern" in command ? match(command) : runBash(command);
}

async function match({ subject, pattern }: MatchCommand): Promise<UtilityResult> {
  const { RE2JS } = await import("re2js");
  const isFound = RE2JS.compile(pattern, RE2JS.DOTALL).matcher(subject).find();
  return { stdout: Buffer.alloc(0), stderr: "", exitCode: Number(!isFound) };
}

/** The container's, for whole scripts: just-bash's own is that of no machine. */
const hostname = defineCommand("hostname", async (_args, { env }) => {
  return { stdout: `${env.get("HOSTNAME") ?? "localhost"}\n`, stderr: "", exitCode: 0 };
});

/** Runs a command in a separate shell, on the files of the container. */
async function runBash({ text, args, stdin, env, cwd, nowMs }: BashCommand): Promise<UtilityResult> {
  // A container has no locale: its programs take bytes for characters. A whole script gets the text that it has.
  const isText = args !== undefined && TEXT_COMMANDS.has(text);
  Object.assign(globalThis, { awkNowMs: nowMs });
  const bash = new Bash({
    fs: isText ? charactersIn(remoteFiles()) : remoteFiles(),
    cwd: "/",
    env: {},
    commands: commands as CommandName[],
    customCommands: [hostname],
    // Defence in depth keeps scripts from running JavaScript. They cannot run any here.
    defenseInDepth: false,
    sleep: async (ms) => {
      await call("sleep", [ms]);
    },
    executionLimits: EXECUTION_LIMITS,
  });
  const how =
    args === undefined
      ? { rawScript: true }
      : { args: args.map((arg) => (isText ? charactersOf(encodeText(arg)) : arg)) };
  try {
    const { stdout, stderr, exitCode, stdoutKind, stdoutEncoding } = await bash.exec(text, {
      ...how,
      // just-bash copies texts more often than bytes, which differ only above 0x7f.
      ...(isText && !isAscii(stdin)
        ? { stdin: charactersOf(stdin), stdinKind: "text" as const }
        : { stdin: stdin.toString("latin1"), stdinKind: "bytes" as const }),
      env: { ...env },
      replaceEnv: true,
      cwd,
    });
    const isBytes = stdoutKind === "bytes" || stdoutEncoding === "binary";
    const bytes = Buffer.from(stdout, isBytes ? "latin1" : "utf8");
    return isText
      ? { stdout: bytesOf(bytes.toString()), stderr: bytesOf(stderr).toString(), exitCode }
      : { stdout: bytes, stderr, exitCode };
  } catch (error) {
    return { stdout: Buffer.alloc(0), stderr: `${messageOf(error)}\n`, exitCode: 1 };
  }
}

/** The container's files, which its machine reads and writes. */
function remoteFiles(): IFileSystem {
  const methods = REMOTE_METHODS.map((method) => [method, (...given: readonly unknown[]) => call(method, given)]);
  return { ...Object.fromEntries(methods), resolvePath, getAllPaths: () => [] } as IFileSystem;
}

function call(method: RemoteMethod, given: readonly unknown[]): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const id = ++lastId;
    calls.set(id, { resolve, reject });
    send({ type: "call", id, method, given });
  });
}

/** A message that cannot be sent has no reader: the parent has ended. */
function send(message: FromUtility): void {
  process.send?.(message, undefined, undefined, () => {});
}
