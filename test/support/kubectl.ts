import { type ExecFileException, execFile, execFileSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { kubeconfigText } from "../../src/staging/client-go/clientcmd/kubeconfig-text.js";
import type { RestConfig } from "../../src/staging/client-go/rest/client.js";

export interface KubectlRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface KubectlOptions {
  /** text for its stdin */
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** interrupts it (Ctrl-C) */
  readonly signal?: AbortSignal;
  /** called with all output so far */
  readonly onOutput?: (stdout: string) => void;
}

/** Time limit of a command; a hanging command fails its test with its name. */
const LIMIT_MS = 25_000;

/** The minor release of this machine's kubectl: 20, 32; undefined without kubectl. */
export const kubectlMinor = readMinor();

function readMinor(): number | undefined {
  try {
    const text = execFileSync("kubectl", ["version", "--client", "-o", "json"], { encoding: "utf8", stdio: "pipe" });
    const { clientVersion } = JSON.parse(text) as { clientVersion: { minor: string } };
    return Number.parseInt(clientVersion.minor, 10);
  } catch {
    return undefined;
  }
}

/** Whether this machine's kubectl has this minor release (32 for v1.32) or newer. */
export function kubectlAtLeast(minor: number): boolean {
  return kubectlMinor !== undefined && kubectlMinor >= minor;
}

/** The real kubectl, with a temporary home, as one user of one cluster. */
export class Kubectl {
  readonly home = mkdtempSync(join(tmpdir(), "kubelab-kubectl-"));
  readonly kubeconfig = join(this.home, "config");

  constructor(readonly config: RestConfig) {
    const names = { cluster: "test", user: "test", context: "test" };
    writeFileSync(this.kubeconfig, kubeconfigText(config, names), { mode: 0o600 });
  }

  /** Writes a manifest: YAML text, or a value as JSON. @returns its path */
  file(name: string, content: unknown): string {
    const path = join(this.home, name);
    writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
    return path;
  }

  /** Runs it to its end, with any exit code. */
  try(argv: readonly string[], options: KubectlOptions = {}): Promise<KubectlRun> {
    const env = { PATH: process.env["PATH"], HOME: this.home, LANG: "C.UTF-8", ...options.env };
    const args = ["--kubeconfig", this.kubeconfig, ...argv];
    const limits = { timeout: LIMIT_MS, maxBuffer: 64 << 20 };
    return new Promise((resolve, reject) => {
      const child = execFile("kubectl", args, { env, cwd: this.home, ...limits }, (error, stdout, stderr) => {
        if (error !== null && wasKilled(error) && options.signal?.aborted !== true) {
          reject(new Error(`kubectl ${argv.join(" ")} took longer than ${LIMIT_MS} ms\n${stdout}${stderr}`));
        } else
          resolve({ code: typeof error?.code === "number" ? error.code : error === null ? 0 : -1, stdout, stderr });
      });
      let printed = "";
      child.stdout?.on("data", (chunk) => {
        printed += String(chunk);
        options.onOutput?.(printed);
      });
      options.signal?.addEventListener("abort", () => child.kill("SIGINT"), { once: true });
      child.stdin?.end(options.input ?? "");
    });
  }

  /** @returns stdout @throws if the exit code is not 0 */
  async run(...argv: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.try(argv);
    if (code !== 0) throw new Error(`kubectl ${argv.join(" ")} exited with ${code}\n${stdout}${stderr}`);
    return stdout;
  }

  async json<T>(...argv: string[]): Promise<T> {
    return JSON.parse(await this.run(...argv, "-o", "json")) as T;
  }
}

function wasKilled(error: ExecFileException): boolean {
  return error.killed === true;
}
