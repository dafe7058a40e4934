import type { Self } from "../../process/process.js";
import { getHttp } from "./dial.js";
import type { Flags } from "./flags.js";
import { goLog } from "./go-log.js";
import { type Exchange, listenAndServe } from "./web.js";

const REGISTER_TIMEOUT_MS = 15_000;
const RETRY_MS = 1_000;
const PRIMARY = "agnhost-primary";
const REPLICA = "agnhost-replica";

/**
 * `guestbook`: a store that pushes changes to its replicas, or a front end for it.
 * Mirrors test/images/agnhost/guestbook/guestbook.go.
 */
export async function guestbook(self: Self, flags: Flags): Promise<number> {
  const backendPort = flags.number("backend-port", 6379);
  const book = new Guestbook(self, backendPort);
  const replicaOf = flags.text("replicaof");
  const serving = listenAndServe(self, flags.number("http-port", 80), (exchange) => book.answer(exchange));
  if (replicaOf === "" || (await book.register(replicaOf))) return serving;
  await goLog(self, "Timed out while registering to primary.");
  return 1;
}

class Guestbook {
  #store: Record<string, unknown> = {};
  readonly #replicas: string[] = [];

  constructor(
    readonly self: Self,
    readonly backendPort: number,
  ) {}

  /** @returns whether the primary answered in time */
  async register(primary: string): Promise<boolean> {
    const { machine, signal } = this.self;
    const endMs = machine.clock.now() + REGISTER_TIMEOUT_MS;
    while (machine.clock.now() < endMs) {
      try {
        const answer = await getHttp(this.self, primary, this.backendPort, `register?host=${machine.network.ip}`);
        this.#store = (JSON.parse(answer) as { readonly data: Record<string, unknown> }).data;
        await goLog(this.self, `Registered to node: ${primary}`);
        return true;
      } catch (error) {
        signal.throwIfAborted();
        await goLog(
          this.self,
          `encountered error while registering to primary: ${(error as Error).message}. Retrying in 1s.`,
        );
        await machine.clock.sleep(RETRY_MS, signal);
      }
    }
    return false;
  }

  async answer(exchange: Exchange): Promise<void> {
    const { path, query, answer } = exchange;
    const key = query.get("key") ?? "";
    switch (path) {
      case "/register":
        this.#replicas.push(query.get("host") ?? "");
        return answer(200, JSON.stringify({ data: this.#store }));
      case "/get":
        return answer(200, JSON.stringify({ data: key === "" ? this.#store : (this.#store[key] ?? "") }));
      case "/set":
        return this.#set(exchange, key);
      case "/guestbook":
        return this.#forward(exchange, key);
      default:
        return answer(404, "404 page not found\n");
    }
  }

  async #set({ query, answer }: Exchange, key: string): Promise<void> {
    if (key === "") return answer(400, "cannot set with empty key.\n");
    const value = query.get("value") ?? "";
    this.#store = { ...this.#store, [key]: value };
    for (const replica of this.#replicas) {
      try {
        await getHttp(this.self, replica, this.backendPort, requestOf("set", key, value));
      } catch (error) {
        this.self.signal.throwIfAborted();
        const why = (error as Error).message;
        return answer(417, `encountered error while propagating to replica '${replica}': ${why}\n`);
      }
    }
    answer(200, JSON.stringify({ message: "Updated" }));
  }

  async #forward({ query, answer }: Exchange, key: string): Promise<void> {
    const command = (query.get("cmd") ?? "").toLowerCase();
    if (command !== "get" && command !== "set") return answer(400, `unsupported cmd: '${command}'\n`);
    if (command === "set" && key === "") return answer(400, "cannot set with empty key.\n");
    try {
      const request = requestOf(command, key, query.get("value") ?? "");
      answer(200, await getHttp(this.self, command === "get" ? REPLICA : PRIMARY, this.backendPort, request));
    } catch (error) {
      this.self.signal.throwIfAborted();
      answer(417, `encountered error: ${(error as Error).message}\n`);
    }
  }
}

function requestOf(command: string, key: string, value: string): string {
  return `${command}?key=${encodeURIComponent(key)}&value=${encodeURIComponent(value)}`;
}
