#!/usr/bin/env node
import type { Secrets } from "./trace/redaction/secrets.js";
import { openFilesError } from "./util/errors.js";
import { SystemRandom } from "./util/random.js";

/** Put in by the build. */
declare const KUBELAB_VERSION: string | undefined;

const VERSION = typeof KUBELAB_VERSION === "string" ? KUBELAB_VERSION : "0.0.0-source";
/** What the scripts of `kubelab completion` call. */
const COMPLETE_COMMAND = "__complete";
const EXIT_FAILED = 1;
const EXIT_INTERRUPTED = 130;
const EXIT_BUG = 70;

process.exitCode = await start(process.argv.slice(2));

/** The process edge: the only place that reads argv, installs signal handlers and sets the exit code. */
async function start(argv: readonly string[]): Promise<number> {
  // A reader that closes early (`| head -1`) is not an error.
  let lost: NodeJS.ErrnoException | undefined;
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EPIPE" || lost !== undefined) return;
      lost = error;
      process.exitCode = EXIT_FAILED;
      process.stderr.write(`error: the output could not be written: ${error.code}\n`);
    });
  }
  if (argv.length === 1 && (argv[0] === "--version" || argv[0] === "-V")) {
    process.stdout.write(`${VERSION}\n`);
    return 0;
  }
  const edge = {
    env: process.env,
    cwd: currentFolder(),
    streams: { stdin: process.stdin, stdout: process.stdout, stderr: process.stderr },
    random: new SystemRandom(),
    self: [process.execPath, process.argv[1] ?? "kubelab"],
  };
  // Runs at each TAB in a shell, so it loads only what the line needs.
  if (argv[0] === COMPLETE_COMMAND) {
    const { complete } = await import("./commands/completion/complete.js");
    process.stdout.write(await complete(argv.slice(1), { ...edge, signal: new AbortController().signal }));
    return 0;
  }
  const { runCli } = await import("./commands/main.js");
  const { Secrets } = await import("./trace/redaction/secrets.js");
  const secrets = new Secrets();
  const code = await runCli(argv, VERSION, { ...edge, signal: interruption(secrets), secrets });
  return lost === undefined || code !== 0 ? code : EXIT_FAILED;
}

/** The current folder, or / if it was removed, for example at the end of a lab. */
function currentFolder(): string {
  try {
    return process.cwd();
  } catch {
    process.chdir("/");
    return "/";
  }
}

/**
 * Aborts on the first Ctrl-C, SIGTERM or closed terminal, so that everything closes. A second Ctrl-C or SIGTERM exits at
 * once. A second SIGHUP does not, because a terminal that closes causes more than one event.
 */
function interruption(secrets: Secrets): AbortSignal {
  const controller = new AbortController();
  const onSignal = (name: NodeJS.Signals) => {
    if (controller.signal.aborted && name !== "SIGHUP") process.exit(EXIT_INTERRUPTED);
    controller.abort();
  };
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, onSignal);
  process.stdin.on("error", () => controller.abort());
  // An open prompt then throws where no caller can catch the error.
  process.on("uncaughtException", (error: NodeJS.ErrnoException) => {
    if (error.syscall === "setRawMode" && error.code === "EIO") return controller.abort();
    const limit = openFilesError(error);
    if (limit === undefined)
      void reportBug(String(error.stack ?? error), secrets).finally(() => process.exit(EXIT_BUG));
    else {
      process.stderr.write(`error: ${limit.message}\n${limit.hint}\n`);
      process.exit(limit.exitCode);
    }
  });
  return controller.signal;
}

async function reportBug(stack: string, secrets: Secrets): Promise<void> {
  const { withSources } = await import("./util/stack-maps.js");
  process.stderr.write(`error: kubelab has a bug: ${secrets.mask(await withSources(stack).catch(() => stack))}\n`);
}
