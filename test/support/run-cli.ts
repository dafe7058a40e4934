import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { runCli } from "../../src/commands/main.js";
import { SystemRandom } from "../../src/util/random.js";

export interface CliRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly signal?: AbortSignal;
  /** the contents of standard input */
  readonly stdin?: Buffer;
  /** the simulated width of stdout's terminal */
  readonly columns?: number;
  /** input at a terminal, once there is a question */
  readonly typed?: string;
  /** called with all of stdout after each write */
  readonly onStdout?: (text: string) => void;
  /** called with all of stderr after each write */
  readonly onStderr?: (text: string) => void;
}

/** Runs one command line of the CLI in this process, without a terminal and with a temporary state folder. */
export async function runInProcess(argv: readonly string[], options: RunOptions = {}): Promise<CliRun> {
  const folder = mkdtempSync(join(tmpdir(), "kubelab-test-"));
  const stdin = new PassThrough();
  if (options.stdin !== undefined) stdin.end(options.stdin);
  const stdout = capture(options.onStdout);
  if (options.columns !== undefined) Object.assign(stdout.stream, { columns: options.columns });
  let isAnswered = false;
  const stderr = capture((text) => {
    options.onStderr?.(text);
    if (options.typed === undefined || isAnswered || !text.includes("?")) return;
    isAnswered = true;
    setImmediate(() => stdin.write(options.typed));
  });
  if (options.typed !== undefined) {
    Object.assign(stdin, { isTTY: true, setRawMode: () => stdin });
    // A pipe to the process's stderr does not end it.
    const moves = { cursorTo: () => true, clearLine: () => true, moveCursor: () => true };
    Object.assign(stderr.stream, { isTTY: true, columns: 80, end: () => stderr.stream, ...moves });
  }
  const code = await runCli(argv, "0.0.0-test", {
    env: { HOME: folder, XDG_STATE_HOME: join(folder, "state"), ...options.env },
    cwd: options.cwd ?? folder,
    streams: { stdin, stdout: stdout.stream, stderr: stderr.stream },
    random: new SystemRandom(),
    self: ["false"],
    signal: options.signal ?? new AbortController().signal,
  });
  return { code, stdout: stdout.text(), stderr: stderr.text() };
}

function capture(onText?: (text: string) => void): { stream: PassThrough; text: () => string } {
  const stream = new PassThrough();
  let text = "";
  stream.on("data", (chunk) => {
    text += String(chunk);
    onText?.(text);
  });
  return { stream, text: () => text };
}
