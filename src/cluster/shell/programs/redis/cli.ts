import { NetError } from "../../../../util/net/net-error.js";
import { encodeText } from "../../byte-text.js";
import { History } from "../../language/interactive/history.js";
import { LineEditor } from "../../language/interactive/line-editor.js";
import { lookUpHost } from "../../net/resolver.js";
import type { Connection } from "../../process/ports.js";
import type { Self } from "../../process/process.js";
import { terminalOf } from "../../process/terminal.js";
import { readAll, readLine } from "../../streams.js";
import { parseArgs, print, warn } from "../console.js";
import { encode, type Reply, RespReader, splitWords } from "./resp.js";

const INSECURE = "Warning: Using a password with '-a' or '-u' option on the command line interface may not be safe.\n";

/**
 * `redis-cli [-h HOST] [-p PORT] [-n DB] [-a PASSWORD] [--user NAME] [-x] [--raw] [COMMAND [ARG...]]`: without a command those of
 * its input.
 */
export async function redisCli(self: Self): Promise<number> {
  const [long, args] = longOptions(self.argv.slice(1));
  const isRaw = long.has("--raw") || (self.stdout.isTerminal !== true && !long.has("--no-raw"));
  const { options, rest, unknown } = parseArgs(args, "+h:p:n:xa:");
  if (unknown !== undefined) {
    await warn(self, `Unrecognized option or bad number of args for: '${self.argv.slice(1).join(" ")}'\n`);
    return 1;
  }
  const [host, port] = [options.get("h") ?? "127.0.0.1", Number(options.get("p") ?? "6379")];
  const given = options.get("a") ?? long.get("--pass");
  if (given !== undefined && !long.has("--no-auth-warning")) await warn(self, INSECURE);
  const password = given ?? self.env["REDISCLI_AUTH"];
  const user = long.get("--user");
  const login = password === undefined ? [] : ["AUTH", ...(user === undefined ? [] : [user]), password];
  const cli = new Cli(self, host, port, { database: Number(options.get("n") ?? "0"), login }, isRaw);
  if (rest.length === 0) return cli.repl();
  const words = rest.map((word) => encodeText(word).toString("latin1"));
  if (options.has("x")) words.push((await readAll(self.stdin, self.signal, self)).toString("latin1"));
  return Number(!(await cli.run(words)));
}

/** Takes the long options before the command. @returns their values, or "", and the other arguments */
function longOptions(args: readonly string[]): [ReadonlyMap<string, string>, readonly string[]] {
  const long = new Map<string, string>();
  const others: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? "";
    if (!arg.startsWith("-")) return [long, [...others, ...args.slice(at)]];
    if (/^--(no-)?raw$|^--no-auth-warning$/.test(arg)) long.set(arg, "");
    else if (/^--(pass|user)$/.test(arg)) long.set(arg, args[++at] ?? "");
    else others.push(...(/^-[hpna]$/.test(arg) ? [arg, ...args.slice(++at, at + 1)] : [arg]));
  }
  return [long, others];
}

class Cli {
  #connection: Connection | undefined;
  #reader: RespReader | undefined;

  /** @param isRaw without the formatting for people */
  constructor(
    readonly self: Self,
    readonly host: string,
    readonly port: number,
    readonly session: { database: number; readonly login: readonly string[] },
    readonly isRaw: boolean,
  ) {}

  /** Runs the commands of a terminal or a pipe. */
  async repl(): Promise<number> {
    const { stdin, signal } = this.self;
    const terminal = terminalOf(stdin);
    const history = new History();
    const editor = terminal && new LineEditor({ terminal, history, complete: () => ({ insert: "", choices: [] }) });
    if (editor !== undefined) await this.#connect();
    for (;;) {
      const edited = await editor?.readLine(this.#prompt(), signal);
      const read = edited === undefined ? await readLine(stdin, signal, this.self) : undefined;
      const line = edited?.kind === "line" ? edited.text : read?.toString();
      if (line === undefined) return 0;
      history.add(line);
      const words = splitWords(Buffer.from(line).toString("latin1"));
      if (words === undefined) await print(this.self, "Invalid argument(s)\n");
      else if (/^(quit|exit)$/i.test(words[0] ?? "")) return 0;
      else if (words.length > 0) await this.run(words);
    }
  }

  #prompt(): string {
    const database = this.session.database === 0 ? "" : `[${this.session.database}]`;
    return this.#connection === undefined ? "not connected> " : `${this.host}:${this.port}${database}> `;
  }

  /** Runs a command, and prints its reply. @returns false without one */
  async run(words: readonly string[]): Promise<boolean> {
    const [name = ""] = words;
    let reply: Reply | undefined;
    // A server that was started again gets the command on a new connection.
    for (let count = 0; reply === undefined && count < 2; count++) {
      if (this.#connection === undefined && !(await this.#connect())) return false;
      reply = await this.#ask(words);
      if (reply === undefined && /^shutdown$/i.test(name)) return true;
    }
    if (reply === undefined) {
      await warn(this.self, "Error: Server closed the connection\n");
      return false;
    }
    if (/^select$/i.test(name) && isObject(reply) && "ok" in reply) this.session.database = Number(words[1]);
    const text = this.isRaw || /^info$/i.test(name) ? raw(reply) : shown(reply, "");
    await this.self.stdout.write(Buffer.from(`${text}\n`, "latin1"), this.self.signal);
    this.#reader?.free();
    return true;
  }

  async #connect(): Promise<boolean> {
    const { self, host, port } = this;
    const [ip] = await lookUpHost(self, host);
    try {
      if (ip === undefined) throw new NetError("EHOSTUNREACH");
      this.#connection = await self.machine.network.connect({ ip, port }, self.signal, self);
    } catch (error) {
      if (!(error instanceof NetError)) throw error;
      const why = ip === undefined ? "Name or service not known" : error.message;
      await warn(self, `Could not connect to Redis at ${host}:${port}: ${why}\n`);
      return false;
    }
    this.#reader = new RespReader(self, this.#connection.incoming);
    const { login, database } = this.session;
    const answer = login.length > 0 ? await this.#ask(login) : undefined;
    if (answer !== undefined && isObject(answer) && "error" in answer)
      await warn(self, `AUTH failed: ${answer.error}\n`);
    if (database !== 0) await this.#ask(["SELECT", String(database)]);
    return true;
  }

  /** @returns undefined if the connection has ended */
  async #ask(words: readonly string[]): Promise<Reply | undefined> {
    try {
      await this.#connection?.outgoing.write(Buffer.from(encode(words), "latin1"), this.self.signal);
      const reply = await this.#reader?.next();
      if (reply !== undefined) return reply;
    } catch {
      this.self.signal.throwIfAborted();
    }
    this.#connection?.outgoing.release();
    this.#connection?.incoming.release();
    this.#connection = undefined;
    return undefined;
  }
}

function isObject(reply: Reply): reply is { ok: string } | { error: string } {
  return typeof reply === "object" && reply !== null && !Array.isArray(reply);
}

/** Mirrors redis-cli.c (cliFormatReplyRaw). */
function raw(reply: Reply): string {
  if (reply === null) return "";
  if (isObject(reply)) return "ok" in reply ? reply.ok : `${reply.error}\n`;
  return typeof reply === "object" ? reply.map(raw).join("\n") : String(reply);
}

/** For people. Mirrors redis-cli.c (cliFormatReplyTTY). */
function shown(reply: Reply, indent: string): string {
  if (reply === null) return "(nil)";
  if (typeof reply === "string") return `"${reply.replace(/[\\"]|[^ -~]/g, escaped)}"`;
  if (typeof reply === "number" || typeof reply === "bigint") return `(integer) ${reply}`;
  if (isObject(reply)) return "ok" in reply ? reply.ok : `(error) ${reply.error}`;
  const width = String(reply.length).length;
  const lines = reply.map((one, at) => {
    const head = `${String(at + 1).padStart(width)}) `;
    return `${at === 0 ? "" : indent}${head}${shown(one, indent + " ".repeat(head.length))}`;
  });
  return lines.length === 0 ? "(empty array)" : lines.join("\n");
}

/** Mirrors redis' sds.c (sdscatrepr). */
function escaped(one: string): string {
  const at = '\\"\n\r\t\x07\b'.indexOf(one);
  return at < 0 ? `\\x${one.charCodeAt(0).toString(16).padStart(2, "0")}` : `\\${'\\"nrtab'.charAt(at)}`;
}
