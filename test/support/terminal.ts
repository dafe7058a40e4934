import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const CLI = resolve("dist/cli.js");

export interface TerminalOptions {
  readonly home: string;
  readonly columns?: number;
  readonly rows?: number;
  readonly env?: Readonly<Record<string, string>>;
}

/** The CLI in a real terminal, drawn by tmux. */
export class Terminal implements AsyncDisposable {
  readonly #folder = mkdtempSync(join(tmpdir(), "kubelab-tmux-"));
  readonly #socket = join(this.#folder, "s");
  readonly #control: ChildProcess;
  readonly #listeners = new Set<() => void>();

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

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = new Promise((resolveEnd) => this.#control.once("close", resolveEnd));
    try {
      this.#tmux("kill-server");
    } catch {
      this.#control.kill();
    }
    await ended;
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
