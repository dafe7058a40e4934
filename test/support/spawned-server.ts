import { type ChildProcess, spawn } from "node:child_process";

export interface ServerOptions {
  readonly speed?: number;
  readonly kubeVersion?: string;
  /** default: not running */
  readonly withControllers?: boolean;
}

/** An administrator's access to a server. */
export interface Access {
  readonly url: string;
  /** PEM */
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** The server process after a garbage collection. */
export interface Usage {
  readonly rssBytes: number;
  /** heap and external memory */
  readonly usedBytes: number;
  /** open handles by type */
  readonly resources: Readonly<Record<string, number>>;
  /** stacks of unhandled rejections and exceptions */
  readonly unhandled: readonly string[];
  /** the server's own error reports */
  readonly bugs: readonly string[];
}

export type ServerMessage =
  | { readonly type: "ready"; readonly access: Access }
  | { readonly type: "usage"; readonly usage: Usage };

/** A control plane in a separate process. */
export class SpawnedServer {
  #closed: Promise<number | null> | undefined;

  private constructor(
    readonly child: ChildProcess,
    readonly access: Access,
  ) {}

  static async start(options: ServerOptions = {}): Promise<SpawnedServer> {
    const program = ["--expose-gc", "scripts/run.mjs", "test/support/server-process.ts", JSON.stringify(options)];
    const child = spawn(process.execPath, program, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
    const ready = await messageOf(child, "ready");
    return new SpawnedServer(child, ready.access);
  }

  async usage(): Promise<Usage> {
    const answer = messageOf(this.child, "usage");
    this.child.send("usage");
    return (await answer).usage;
  }

  /** Closes it. @returns its exit code once it has ended by itself, which proves that nothing was left open */
  close(): Promise<number | null> {
    this.#closed ??= new Promise((resolve) => {
      this.child.once("exit", resolve);
      this.child.send("close");
    });
    return this.#closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed === undefined) this.child.kill("SIGKILL");
    else await this.#closed;
  }
}

function messageOf<T extends ServerMessage["type"]>(
  child: ChildProcess,
  type: T,
): Promise<ServerMessage & { readonly type: T }> {
  return new Promise((resolve, reject) => {
    const take = (message: unknown) => {
      if ((message as ServerMessage).type !== type) return;
      child.off("message", take).off("exit", end);
      resolve(message as ServerMessage & { readonly type: T });
    };
    const end = (code: number | null) => reject(new Error(`the server's process ended with ${code}`));
    child.on("message", take).once("exit", end);
  });
}
