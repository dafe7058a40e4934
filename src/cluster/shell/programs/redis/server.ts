import { FsError } from "../../fs/fs-error.js";
import { resolvePath } from "../../fs/paths.js";
import { bindErrorText, listenTcp } from "../../net/listen.js";
import type { Connection } from "../../process/ports.js";
import type { Self } from "../../process/process.js";
import { SIGINT, SIGTERM } from "../../process/signals.js";
import { print, warn } from "../console.js";
import { formatDate } from "../date.js";
import { untilSignal } from "../system.js";
import { runCommand } from "./commands.js";
import { applyLine, type Config, DEFAULT_VERSION, defaultConfig, type Server } from "./config.js";
import { Store } from "./database.js";
import { encode, ProtocolError, type Reply, RespReader, sizeOf, splitWords } from "./resp.js";

/** The memory of a connection besides its messages. */
const CLIENT_BYTES = 4096;

/**
 * `redis-server [FILE] [--OPTION VALUE...]`: Redis' keys and values, in memory. Differs: no persistence, replication, users,
 * transactions, scripts, streams and subscriptions.
 */
export async function redisServer(self: Self): Promise<number> {
  const [first = "", ...rest] = self.argv.slice(1);
  const version = self.env["REDIS_VERSION"] ?? DEFAULT_VERSION;
  if (/^(-v|--version)$/.test(first)) {
    await print(self, `Redis server v=${version} sha=00000000:0 malloc=libc bits=64 build=0\n`);
    return 0;
  }
  const file = first.startsWith("-") ? "" : first;
  const config = defaultConfig();
  const ignored: string[] = [];
  const problem = readConfig(self, config, file, file === "" ? [first, ...rest] : rest, ignored);
  if (problem === undefined) return serve(self, { version, config, file, ignored });
  await warn(self, `\n*** FATAL CONFIG FILE ERROR (Redis ${version}) ***\n${problem}\n`);
  return 1;
}

/** @param ignored receives the lines without effect @returns the problem */
function readConfig({ machine: { fs }, cwd }: Self, config: Config, file: string, args: string[], ignored: string[]) {
  // `--maxmemory 2mb --port 7000` are two more lines.
  const options = args
    .join("\n")
    .split(/(?:^|\n)--/)
    .slice(1);
  try {
    const text = file === "" ? "" : fs.readFile(resolvePath(cwd, file)).toString();
    for (const [at, line] of [...text.split("\n"), ...options.map((one) => one.replaceAll("\n", " "))].entries()) {
      if (/^\s*(#|$)/.test(line)) continue;
      const [name = "", ...values] = splitWords(line) ?? [];
      const why = applyLine(config, name.toLowerCase(), values.join(" "));
      if (why?.startsWith("ignored") === true) ignored.push(`${line.trim()}: ${why}`);
      else if (why !== undefined)
        return `Reading the configuration file, at line ${at + 1}\n>>> '${line.trim()}'\n${why}`;
    }
  } catch (error) {
    if (error instanceof FsError) return `Fatal error, can't open config file '${file}': ${error.text}`;
    throw error;
  }
  return undefined;
}

interface Start {
  readonly version: string;
  readonly config: Config;
  readonly file: string;
  /** lines of the configuration */
  readonly ignored: readonly string[];
}

async function serve(self: Self, { version, config, file, ignored }: Start): Promise<number> {
  const {
    machine: { clock },
    pid,
  } = self;
  const log = (text: string, level = "*", role = "M") => {
    const when = formatDate(new Date(clock.now()), "%d %b %Y %H:%M:%S");
    const ms = String(Math.floor(clock.now() % 1000)).padStart(3, "0");
    return print(self, `${pid}:${role} ${when}.${ms} ${level} ${text}\n`);
  };
  const server: Server = {
    version,
    config,
    store: new Store(clock, self.memory),
    facts: { pid, file, startedMs: clock.now(), clients: 0, connections: 0, commands: 0 },
    turn: (units) => self.turn(units),
    shutDown: () => {},
  };
  const port = Number(config["port"]);
  await log("oO0OoO0OoO0Oo Redis is starting oO0OoO0OoO0Oo", "*", "C");
  await log(`Redis version=${version}, bits=64, commit=00000000, modified=0, pid=${pid}, just started`, "*", "C");
  if (file === "") await log("Warning: no config file specified, using the default config.", "#", "C");
  else await log("Configuration loaded", "*", "C");
  for (const line of ignored) await log(line, "#");
  await log(`Running mode=standalone, port=${port}.`);
  const listening = listenTcp(self, port, (connection) => {
    server.facts.clients++;
    server.facts.connections++;
    void talk(self, connection, server).finally(() => server.facts.clients--);
  });
  if (typeof listening === "string") {
    const why = bindErrorText(listening);
    await log(`Warning: Could not create server TCP listening socket *:${port}: bind: ${why}`, "#");
    await log(`Failed listening on port ${port} (tcp), aborting.`, "#");
    return 1;
  }
  const ended = new Promise<string>((resolve, reject) => {
    const asked = (signal: number) => `Received ${signal === SIGINT ? "SIGINT" : "SIGTERM"} scheduling shutdown...`;
    untilSignal(self, SIGTERM, SIGINT).then((signal) => resolve(asked(signal)), reject);
    server.shutDown = () => resolve("");
  });
  await log("Server initialized");
  await log("Ready to accept connections tcp");
  const received = await ended;
  if (received !== "") await print(self, `${pid}:signal-handler (${Math.floor(clock.now() / 1000)}) ${received}\n`);
  await log("User requested shutdown...");
  await log("Redis is now ready to exit, bye bye...", "#");
  return 0;
}

/** Answers a client until it leaves. */
async function talk(self: Self, { incoming, outgoing }: Connection, server: Server): Promise<void> {
  const { memory, signal } = self;
  const reader = new RespReader(self, incoming);
  const client = { database: 0, isKnown: server.config["requirepass"] === "" };
  const send = async (reply: Reply) => {
    const bytes = 2 * sizeOf(reply);
    memory.hold(bytes);
    const encoded = Buffer.from(encode(reply), "latin1");
    await self.turn(1 + encoded.length / 16_384);
    await outgoing.write(encoded, signal);
    memory.release(bytes);
  };
  memory.hold(CLIENT_BYTES);
  try {
    for (let name = ""; name !== "QUIT"; reader.free()) {
      const words = await reader.next();
      if (words === undefined) break;
      if (!Array.isArray(words) || words.some((one) => typeof one !== "string"))
        throw new ProtocolError("expected '*' and strings");
      if (words.length === 0) continue;
      name = words[0].toUpperCase();
      server.facts.commands++;
      await send(await runCommand(words, server, client));
    }
  } catch (error) {
    // Otherwise the client has gone, or this process has: out of memory, or killed.
    if (error instanceof ProtocolError) await send({ error: `ERR Protocol error: ${error.message}` }).catch(() => {});
  }
  reader.free();
  memory.release(CLIENT_BYTES);
  outgoing.release();
  incoming.release();
}
