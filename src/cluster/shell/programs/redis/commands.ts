import { compileGlob, matchesAll } from "../../language/expansion/glob.js";
import { changeSetting, infoText, type Server } from "./config.js";
import { costOf, type Database, RedisError, type Turn } from "./database.js";
import { ITEM_BYTES, MAX_BULK_BYTES, type Reply } from "./resp.js";

/** A client's connection. */
export interface Client {
  database: number;
  /** it needed no password, or gave it */
  isKnown: boolean;
}

interface Call extends Server {
  readonly client: Client;
  readonly db: Database;
}

type Words = readonly string[];

const UNCONFIGURED = "configured for the default user. Are you sure your configuration is correct?";
const OK = { ok: "OK" };
/** The farthest end of a key. */
const MAX_MS = 2 ** 52;

/** The numbers of arguments: exactly, from-to, or at least (+). Mirrors redis' commands (arity). */
const ARITY = new Map(
  [
    "AUTH 1-2 PING 0-1 ECHO 1 SELECT 1 SET 2+ GET 1 MGET 1+ MSET 2+ APPEND 2 STRLEN 1 INCR 1 DECR 1 INCRBY 2 DECRBY 2 DEL 1+",
    "EXISTS 1+ TYPE 1 KEYS 1 DBSIZE 0 FLUSHALL 0-1 FLUSHDB 0-1 EXPIRE 2 PEXPIRE 2 PERSIST 1 TTL 1 PTTL 1 LPUSH 2+",
    "RPUSH 2+ LPOP 1 RPOP 1 LLEN 1 LRANGE 3 HSET 3+ HGET 2 HGETALL 1 HLEN 1 HDEL 2+ SADD 2+ SREM 2+ SMEMBERS 1 SCARD 1",
    "SISMEMBER 2 CONFIG 2+ INFO 0+ ROLE 0 COMMAND 0+ QUIT 0+ SHUTDOWN 0-4",
  ]
    .flatMap((line) => [...line.matchAll(/(\w+) (\d)-?(\d|\+)?/g)])
    .map(([, name = "", least, most = least]) => [name, [Number(least), most === "+" ? Infinity : Number(most)]]),
);

/** Commands that a full store refuses. */
const GROWS = new Set("SET MSET APPEND INCR DECR INCRBY DECRBY LPUSH RPUSH HSET SADD".split(" "));

const COMMANDS: Readonly<Record<string, (args: Words, call: Call) => Reply | Promise<Reply>>> = {
  AUTH: (words, { client, config }) => {
    const [password, user = "default"] = words.toReversed();
    if (config["requirepass"] === "" && words.length === 1)
      throw new RedisError(`ERR AUTH <password> called without any password ${UNCONFIGURED}`);
    if (user !== "default" || (config["requirepass"] !== "" && password !== config["requirepass"]))
      throw new RedisError("WRONGPASS invalid username-password pair or user is disabled.");
    client.isKnown = true;
    return OK;
  },
  PING: ([text]) => text ?? { ok: "PONG" },
  ECHO: ([text = ""]) => text,
  SELECT: ([index], { client, store }) => {
    if (store.databases[integer(index)] === undefined) throw new RedisError("ERR DB index is out of range");
    client.database = integer(index);
    return OK;
  },
  SET: set,
  GET: ([key = ""], { db }) => db.get(key, "string")?.value ?? null,
  MGET: (keys, { db }) => keys.map((key) => (db.find(key)?.type === "string" ? text(db, key) : null)),
  MSET: (args, call) => {
    for (const [key, value] of pairsOf(args, "mset")) write(call, key, value);
    return OK;
  },
  APPEND: ([key = "", more = ""], { db, store }) => {
    const length = (text(db, key)?.length ?? 0) + more.length;
    if (length > MAX_BULK_BYTES) throw new RedisError("ERR string exceeds maximum allowed size (proto-max-bulk-len)");
    const entry = db.make(key, "string", "");
    store.grow(entry, more.length + ITEM_BYTES);
    entry.value += more;
    return length;
  },
  STRLEN: ([key = ""], { db }) => text(db, key)?.length ?? 0,
  INCR: ([key = ""], call) => increase(call, key, 1n),
  DECR: ([key = ""], call) => increase(call, key, -1n),
  INCRBY: ([key = "", by], call) => increase(call, key, int64(by)),
  DECRBY: ([key = "", by], call) => increase(call, key, -int64(by)),
  DEL: (keys, { db }) => keys.filter((key) => db.find(key) !== undefined && db.delete(key)).length,
  EXISTS: (keys, { db }) => keys.filter((key) => db.find(key) !== undefined).length,
  TYPE: ([key = ""], { db }) => ({ ok: db.find(key)?.type ?? "none" }),
  KEYS: async ([pattern = ""], { db, turn }) => db.keys(turn, matcher(pattern)),
  DBSIZE: async (_args, { db, turn }) => (await db.keys(turn)).length,
  FLUSHALL: (_args, { store, turn }) => flush(store.databases, turn),
  FLUSHDB: (_args, { db, turn }) => flush([db], turn),
  EXPIRE: ([key = "", seconds], call) => expire(call, key, integer(seconds) * 1000),
  PEXPIRE: ([key = "", ms], call) => expire(call, key, integer(ms)),
  PERSIST: ([key = ""], { db }) => {
    const entry = db.find(key);
    if (entry?.expiresMs === undefined) return 0;
    db.expire(key, entry, undefined);
    return 1;
  },
  TTL: ([key = ""], call) => left(call, key, 1000),
  PTTL: ([key = ""], call) => left(call, key, 1),
  LPUSH: (args, call) => push(call, args, (list, values) => values.reverse().concat(list)),
  RPUSH: (args, call) => push(call, args, (list, values) => list.concat(values)),
  LPOP: ([key = ""], call) => pop(call, key, (list) => list.shift()),
  RPOP: ([key = ""], call) => pop(call, key, (list) => list.pop()),
  LLEN: ([key = ""], { db }) => db.get(key, "list")?.value.length ?? 0,
  LRANGE: ([key = "", from, to], { db }) => {
    const list = db.get(key, "list")?.value ?? [];
    return list.slice(integer(from), integer(to) === -1 ? list.length : integer(to) + 1);
  },
  HSET: ([key = "", ...args], call) => put(call, key, "hash", pairsOf(args, "hset")),
  HGET: ([key = "", field = ""], { db }) => db.get(key, "hash")?.value.get(field) ?? null,
  HGETALL: ([key = ""], { db }) => [...(db.get(key, "hash")?.value ?? [])].flat(),
  HLEN: ([key = ""], { db }) => db.get(key, "hash")?.value.size ?? 0,
  HDEL: (args, call) => remove(call, args, "hash"),
  SADD: ([key = "", ...members], call) =>
    put(
      call,
      key,
      "set",
      members.map((one) => [one, ""]),
    ),
  SREM: (args, call) => remove(call, args, "set"),
  SMEMBERS: ([key = ""], { db }) => [...(db.get(key, "set")?.value.keys() ?? [])],
  SCARD: ([key = ""], { db }) => db.get(key, "set")?.value.size ?? 0,
  SISMEMBER: ([key = "", one = ""], { db }) => Number(db.get(key, "set")?.value.has(one) === true),
  CONFIG: changeConfig,
  INFO: (sections, call) => infoText(call, sections),
  ROLE: () => ["master", 0, []],
  COMMAND: ([sub = ""]) => (sub.toUpperCase() === "COUNT" ? ARITY.size : []),
  QUIT: () => OK,
  SHUTDOWN: (_args, { shutDown }) => {
    shutDown();
    return OK;
  },
};

/** Runs a client's command. @throws OutOfMemoryError */
export async function runCommand([given = "", ...args]: Words, server: Server, client: Client): Promise<Reply> {
  const name = given.toUpperCase();
  const [least, most] = ARITY.get(name) ?? [];
  const run = COMMANDS[name];
  if (run === undefined || least === undefined || most === undefined) {
    const shown = args.map((arg) => `'${arg.slice(0, 128)}' `).join("");
    return { error: `ERR unknown command '${given.slice(0, 128)}', with args beginning with: ${shown.slice(0, 128)}` };
  }
  if (args.length < least || args.length > most)
    return { error: `ERR wrong number of arguments for '${given.toLowerCase()}' command` };
  if (!client.isKnown && !/^(AUTH|QUIT)$/.test(name)) return { error: "NOAUTH Authentication required." };
  const { store, config, turn } = server;
  const limit = Number(config["maxmemory"]) || Number.POSITIVE_INFINITY;
  const hasRoom = store.usedBytes <= limit || (await store.makeRoom(limit, config["maxmemory-policy"] ?? "", turn));
  if (!hasRoom && GROWS.has(name)) return { error: "OOM command not allowed when used memory > 'maxmemory'." };
  try {
    return await run(args, { ...server, client, db: store.databases[client.database] as Database });
  } catch (problem) {
    if (!(problem instanceof RedisError)) throw problem;
    return { error: problem.message };
  }
}

function int64(word = ""): bigint {
  const value = /^(0|-?[1-9]\d{0,18})$/.test(word) ? BigInt(word) : undefined;
  if (value !== undefined && BigInt.asIntN(64, value) === value) return value;
  throw new RedisError("ERR value is not an integer or out of range");
}

function integer(word: string | undefined): number {
  return Number(int64(word));
}

function text(db: Database, key: string): string | null {
  return db.get(key, "string")?.value ?? null;
}

function pairsOf(args: Words, command: string): (readonly [string, string])[] {
  if (args.length % 2 > 0) throw new RedisError(`ERR wrong number of arguments for '${command}' command`);
  return args.flatMap((arg, at) => (at % 2 === 0 ? [[arg, args[at + 1] ?? ""] as const] : []));
}

function write({ db, store }: Call, key: string, value: string, expiresMs?: number): Reply {
  db.delete(key);
  const entry = db.make(key, "string", "");
  store.grow(entry, value.length + ITEM_BYTES);
  entry.value = value;
  db.expire(key, entry, expiresMs);
  return OK;
}

function set([key = "", value = "", ...options]: Words, call: Call): Reply {
  let lifeMs: number | undefined;
  const flags = new Set<string>();
  for (let at = 0; at < options.length; at++) {
    const option = (options[at] ?? "").toUpperCase();
    if (/^(EX|PX)$/.test(option)) lifeMs = integer(options[++at]) * (option === "EX" ? 1000 : 1);
    else if (/^(NX|XX)$/.test(option)) flags.add(option);
    else throw new RedisError("ERR syntax error");
  }
  if (flags.size === 2) throw new RedisError("ERR syntax error");
  if (lifeMs !== undefined && !(lifeMs > 0 && lifeMs < MAX_MS))
    throw new RedisError("ERR invalid expire time in 'set' command");
  if (flags.has(call.db.find(key) === undefined ? "XX" : "NX")) return null;
  return write(call, key, value, lifeMs === undefined ? undefined : call.store.clock.now() + lifeMs);
}

function increase(call: Call, key: string, step: bigint): Reply {
  const sum = int64(text(call.db, key) ?? "0") + step;
  if (BigInt.asIntN(64, sum) !== sum) throw new RedisError("ERR increment or decrement would overflow");
  write(call, key, String(sum), call.db.find(key)?.expiresMs);
  return sum;
}

/** In linear time. */
function matcher(pattern: string): (name: string) => boolean {
  const glob = compileGlob([{ text: pattern, isQuoted: false }]);
  return (name) => {
    const search = matchesAll(glob, name);
    for (let step = search.next(); ; step = search.next()) if (step.done === true) return step.value;
  };
}

async function flush(databases: readonly Database[], turn: Turn): Promise<Reply> {
  for (const db of databases) {
    for (const key of [...db.entries.keys()]) {
      db.delete(key);
      await turn(1 / 8);
    }
  }
  return OK;
}

function expire({ db, store }: Call, key: string, ms: number): Reply {
  const entry = db.find(key);
  if (!(Math.abs(ms) < MAX_MS)) throw new RedisError("ERR invalid expire time in 'expire' command");
  if (entry === undefined) return 0;
  if (ms <= 0) db.delete(key);
  else db.expire(key, entry, store.clock.now() + ms);
  return 1;
}

/** The time that a key has left. @returns -2 without the key, -1 without an end */
function left({ db, store }: Call, key: string, unitMs: number): Reply {
  const entry = db.find(key);
  if (entry === undefined) return -2;
  return entry.expiresMs === undefined ? -1 : Math.round((entry.expiresMs - store.clock.now()) / unitMs);
}

/** Lists are copied, so their length is work. */
const ITEMS_PER_UNIT = 2048;

type Join = (list: string[], values: string[]) => string[];

async function push({ db, store, turn }: Call, [key = "", ...values]: Words, join: Join): Promise<Reply> {
  const list = db.make(key, "list", []);
  for (const value of values) store.grow(list, costOf(value));
  list.value = join(list.value, values);
  const { length } = list.value;
  await turn(length / ITEMS_PER_UNIT);
  return length;
}

type Take = (list: string[]) => string | undefined;

async function pop({ db, store, turn }: Call, key: string, take: Take): Promise<Reply> {
  const list = db.get(key, "list");
  if (list === undefined) return null;
  const taken = take(list.value) ?? "";
  store.grow(list, -costOf(taken));
  if (list.value.length === 0) db.delete(key);
  await turn(list.value.length / ITEMS_PER_UNIT);
  return taken;
}

/** Sets fields of a hash, or adds members to a set. @returns how many are new */
function put({ db, store }: Call, key: string, type: "hash" | "set", pairs: readonly (readonly string[])[]): Reply {
  const entry = db.make(key, type, new Map());
  const before = entry.value.size;
  for (const [field = "", value = ""] of pairs) {
    const old = entry.value.get(field);
    store.grow(entry, old === undefined ? costOf(field, value) : value.length - old.length);
    entry.value.set(field, value);
  }
  return entry.value.size - before;
}

function remove({ db, store }: Call, [key = "", ...fields]: Words, type: "hash" | "set"): Reply {
  const entry = db.get(key, type);
  const removed = fields.filter((field) => {
    const value = entry?.value.get(field);
    if (value !== undefined && entry !== undefined) store.grow(entry, -costOf(field, value));
    return entry?.value.delete(field);
  });
  if (entry?.value.size === 0) db.delete(key);
  return removed.length;
}

function changeConfig([action = "", ...args]: Words, { config }: Call): Reply {
  if (action.toUpperCase() === "GET") {
    const matches = args.map((pattern) => matcher(pattern.toLowerCase()));
    return Object.keys(config).flatMap((name) => (matches.some((one) => one(name)) ? [name, config[name] ?? ""] : []));
  }
  if (action.toUpperCase() !== "SET") throw new RedisError(`ERR unknown subcommand '${action}'. Try CONFIG HELP.`);
  for (const [name, value] of pairsOf(args, "config|set")) {
    if (config[name] === undefined)
      throw new RedisError(`ERR Unknown option or number of arguments for CONFIG SET - '${name}'`);
    const problem = changeSetting(config, name, value);
    if (problem !== undefined)
      throw new RedisError(`ERR CONFIG SET failed (possibly related to argument '${name}') - ${problem}`);
  }
  return OK;
}
