import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { onTestFinished } from "vitest";

const CLI = resolve("dist/cli.js");

export interface TerminalOptions {
  readonly home: string;
  readonly columns?: number;
  readonly rows?: number;
  readonly env?: Readonly<Record<string, string>>;
}

/** For the CLI to end in order after its terminal is gone. */
const GRACE_SECONDS = 10;

/** The CLI in a real terminal, drawn by tmux. It ends with the test at the latest, also one that timed out. */
export class Terminal implements AsyncDisposable {
  readonly #folder = mkdtempSync(join(tmpdir(), "kubelab-tmux-"));
  readonly #socket = join(this.#folder, "s");
  readonly #control: ChildProcess;
  readonly #listeners = new Set<() => void>();
  #closing: Promise<void> | undefined;

  constructor(argv: readonly string[], { home, columns = 80, rows = 24, env = {} }: TerminalOptions) {
    const all = { HOME: home, XDG_STATE_HOME: join(home, "state"), TMPDIR: tmpdir(), LANG: "C.UTF-8", ...env };
    const words = [
      ...["env", "-u", "TMUX", ...Object.entries(all).map(([key, value]) => `${key}=${value}`)],
      ...[process.execPath, CLI, ...argv],
    ];
    const line = words.map((word) => `'${word}'`).join(" ");
    // Control mode: tmux reports every change on its stdout.
    const first = [
      "-S",
      this.#socket,
      "-f",
      "/dev/null",
      "-u",
      "-C",
      "new-session",
      "-x",
      `${columns}`,
      "-y",
      `${rows}`,
    ];
    this.#control = spawn(
      "tmux",
      [...first, `${line}; echo "ended with $?"; stty -a | grep -o -- '.icanon\\|.echo ' ; exec sleep 1000`],
      {
        stdio: ["pipe", "pipe", "ignore"],
        env: { ...process.env, LANG: "C.UTF-8" },
      },
    );
    this.#control.stdout?.on("data", () => {
      for (const look of [...this.#listeners]) look();
    });
    this.resize(columns, rows);
    onTestFinished(() => this[Symbol.asyncDispose]());
  }

  #tmux(...args: readonly string[]): string {
    return execFileSync("tmux", ["-S", this.#socket, ...args], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
  }

  resize(columns: number, rows: number): void {
    this.#control.stdin?.write(`refresh-client -C ${columns}x${rows}\n`);
  }

  /** The visible lines and the scrollback. */
  screen(withHistory = false): string {
    try {
      return this.#tmux("capture-pane", "-p", ...(withHistory ? ["-S", "-5000"] : []));
    } catch {
      return ""; // the server has not started yet
    }
  }

  /** The same with colours. */
  colouredScreen(): string {
    return this.#tmux("capture-pane", "-p", "-e", "-S", "-5000");
  }

  /** Keys in tmux's names: `Down`, `Enter`, `C-c`, or text. */
  press(...keys: readonly string[]): void {
    this.#tmux("send-keys", ...keys);
  }

  /** Resolves with the screen, without trailing blanks, once it matches. */
  shows(pattern: RegExp, withHistory = false): Promise<string> {
    return new Promise((resolveShown, reject) => {
      const look = () => {
        const screen = this.screen(withHistory).trimEnd();
        if (!pattern.test(screen)) return;
        this.#listeners.delete(look);
        this.#control.off("close", onClose);
        resolveShown(screen);
      };
      const onClose = () => reject(new Error(`the terminal ended before it showed ${pattern}`));
      this.#listeners.add(look);
      this.#control.once("close", onClose);
      look();
    });
  }

  /** The process that tmux has started: the leader of the terminal's session. */
  get #pid(): number | undefined {
    try {
      return Number(this.#tmux("list-panes", "-F", "#{pane_pid}"));
    } catch {
      return undefined;
    }
  }

  /** Ends the terminal and what runs in it. Safe to call twice. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    await this.#closing;
  }

  async #close(): Promise<void> {
    const pid = this.#pid;
    const ended = new Promise((resolveEnd) => this.#control.once("close", resolveEnd));
    try {
      this.#tmux("kill-server");
    } catch {
      this.#control.kill();
    }
    await ended;
    if (pid !== undefined) await endSession(pid);
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Waits for the processes of a terminal's session, which have got SIGHUP, and kills those that do not end. */
async function endSession(session: number): Promise<void> {
  const left = () => {
    const { stdout } = spawnSync("ps", ["-s", `${session}`, "-o", "pid="], { encoding: "utf8" });
    return stdout.split("\n").flatMap((line) => (line.trim() === "" ? [] : [Number(line)]));
  };
  for (const pid of left()) {
    // Ends when the process has, or after the time.
    await once(spawn("timeout", [`${GRACE_SECONDS}`, "tail", "-f", "/dev/null", `--pid=${pid}`]), "close");
  }
  for (const pid of left()) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has ended by itself.
    }
  }
}
