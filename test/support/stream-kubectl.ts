import { execFileSync, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

/** One installed kubectl. */
export interface KubectlProgram {
  readonly path: string;
  /** `1.32` */
  readonly version: string;
}

const NEWER = "/usr/lib/google-cloud-sdk/bin";

/** The kubectl in PATH, and those of other releases next to it. */
export function kubectlPrograms(): readonly KubectlProgram[] {
  const others = ["1.27", "1.33"].map((version) => join(NEWER, `kubectl.${version}`));
  const old = process.env["KUBELAB_TEST_OLD_KUBECTL"] ?? "";
  const paths = ["kubectl", ...[...others, old].filter((path) => path !== "" && existsSync(path))];
  return paths.flatMap((path) => {
    const version = versionOf(path);
    return version === undefined ? [] : [{ path, version }];
  });
}

function versionOf(path: string): string | undefined {
  try {
    const text = execFileSync(path, ["version", "--client", "-o", "json"], { encoding: "utf8", stdio: "pipe" });
    const { major, minor } = (JSON.parse(text) as { clientVersion: { major: string; minor: string } }).clientVersion;
    return `${major}.${Number.parseInt(minor, 10)}`;
  } catch {
    return undefined; // missing: the suite is skipped for another reason
  }
}

export interface ProgramRun {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ProgramOptions {
  /** its stdin, followed by its end; undefined: no stdin */
  readonly input?: string | Buffer;
  /** keep stdin open after the input */
  readonly keepsStdin?: boolean;
  /** called with all of stdout and stderr so far; return true to interrupt */
  readonly until?: (text: string) => boolean;
}

const LIMIT_MS = 40_000;

/** Runs a program to its end. A hanging program is killed, and has no exit code. */
export function runProgram(
  [program = "", ...argv]: readonly string[],
  kubeconfig: string,
  { input, keepsStdin = false, until }: ProgramOptions = {},
): Promise<ProgramRun> {
  const env = { PATH: process.env["PATH"], HOME: dirname(kubeconfig), KUBECONFIG: kubeconfig, LANG: "C.UTF-8" };
  const child = spawn(program, argv, { env, cwd: dirname(kubeconfig), timeout: LIMIT_MS, killSignal: "SIGKILL" });
  let stdout = "";
  let stderr = "";
  const look = () => {
    if (until?.(stdout + stderr) === true) child.kill("SIGINT");
  };
  child.stdout.on("data", (piece) => {
    stdout += String(piece);
    look();
  });
  child.stderr.on("data", (piece) => {
    stderr += String(piece);
    look();
  });
  child.stdin.on("error", () => {}); // the program ended before it read everything
  if (input !== undefined) child.stdin.write(input);
  if (!keepsStdin) child.stdin.end();
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, stdout, stderr }));
  });
}
