import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { afterEach, beforeAll, test } from "vitest";
import type { Container, Sandbox } from "../../../src/cluster/runtime/state/container.js";
import { serveExec } from "../../../src/cluster/runtime/streaming/exec.js";
import { duplexOf } from "../../../src/cluster/shell/process/duplex.js";
import { encode, splitWords } from "../../../src/cluster/shell/programs/redis/resp.js";
import { loadPrograms, never, RuntimeLab, stateOf } from "../runtime/lab.js";
import { FakeSession } from "../runtime/streaming/fake-session.js";

const newLab = () => new RuntimeLab({ images: ["redis", "busybox"] });
let lab = newLab();
beforeAll(async () => {
  await loadPrograms();
  await import("../../../src/cluster/shell/programs/redis/server.js");
  await import("../../../src/cluster/shell/programs/redis/cli.js");
});
afterEach(() => {
  lab.stop();
  lab = newLab();
});

interface Redis {
  readonly sandbox: Sandbox;
  readonly container: Container;
  readonly log: () => string;
}

async function start(args: readonly string[] = [], memoryLimitInBytes = 0n): Promise<Redis> {
  const sandbox = lab.sandbox();
  const linux = { resources: { memoryLimitInBytes } };
  const container = lab.run({ image: { image: "redis" }, args: [...args], linux }, sandbox);
  const log = lab.output(container);
  await lab.settle();
  return { sandbox, container, log };
}

/** Sends bytes on a new connection. @returns all that the server answers until it has nothing more to do */
async function answerTo({ sandbox }: Redis, ...parts: readonly string[]): Promise<string> {
  const connection = await sandbox.network.connect({ ip: "127.0.0.1", port: 6379 }, never);
  let answer = "";
  let isOver = false;
  const reading = (async () => {
    for (;;) {
      const bytes = await connection.incoming.read(never);
      if (bytes === undefined) break;
      answer += bytes.toString("latin1");
    }
    isOver = true;
  })();
  for (const part of parts) {
    if (!isOver) await connection.outgoing.write(Buffer.from(part, "latin1"), never);
    await lab.settle();
  }
  const isClosed = isOver;
  connection.outgoing.release();
  await reading;
  connection.incoming.release();
  return isClosed ? `${answer}(closed)` : answer;
}

const commands = (text: string) => text.split("; ").map((line) => encode(splitWords(line) ?? []));

/** What a client sends, and what Redis 7.2 answers. */
const BYTES: readonly (readonly [sent: string, answered: string])[] = [
  ["PING\r\n", "+PONG\r\n"],
  ["\r\nPING\n", "+PONG\r\n"],
  ["*1\r\n$4\r\nPING\r\n", "+PONG\r\n"],
  ["*2\r\n$4\r\nECHO\r\n$3\r\n\xff\0\n\r\n", "$3\r\n\xff\0\n\r\n"],
  ["*0\r\n*-1\r\nPING\r\n", "+PONG\r\n"],
  ['SET k "a\\x41\\n" \r\nGET k\r\n', "+OK\r\n$3\r\naA\n\r\n"],
  ["ECHO 'a b'\r\nECHO \"\"\r\n", "$3\r\na b\r\n$0\r\n\r\n"],
  ['ECHO "a\r\n', "-ERR Protocol error: unbalanced quotes in request\r\n(closed)"],
  ["*2\r\n$4\r\nPING\r\nx\r\n", "-ERR Protocol error: expected '$', got 'x'\r\n(closed)"],
  ["*1\r\n$1048577\r\n", "-ERR Protocol error: invalid bulk length\r\n(closed)"],
  ["*1\r\n$-1\r\n", "-ERR Protocol error: invalid bulk length\r\n(closed)"],
  ["*65537\r\n", "-ERR Protocol error: invalid multibulk length\r\n(closed)"],
  ["*x\r\n", "-ERR Protocol error: invalid multibulk length\r\n(closed)"],
  ["*1\r\n*1\r\n$4\r\nPING\r\n", "-ERR Protocol error: expected '*' and strings\r\n(closed)"],
  ["x".repeat(70_000), "-ERR Protocol error: too big inline request\r\n(closed)"],
  ["QUIT\r\nPING\r\n", "+OK\r\n(closed)"],
  ["GET\r\n", "-ERR wrong number of arguments for 'get' command\r\n"],
  ["foo a b\r\n", "-ERR unknown command 'foo', with args beginning with: 'a' 'b' \r\n"],
  ["constructor\r\n", "-ERR unknown command 'constructor', with args beginning with: \r\n"],
  ["REPLICAOF h 1\r\n", "-ERR unknown command 'REPLICAOF', with args beginning with: 'h' '1' \r\n"],
  ["ROLE\r\n", "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n"],
];
for (const [sent, answered] of BYTES) {
  test(`redis: ${JSON.stringify(sent.slice(0, 60))}`, async () => {
    assert.equal(await answerTo(await start(), sent), answered);
    assert.equal(await answerTo(await start(), ...(sent.length < 100 ? sent : [sent])), answered, "byte by byte");
  });
}

const WRONG = "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n";
const RANGE = "-ERR value is not an integer or out of range\r\n";
/** Commands, and the answer to the last one. */
const COMMANDS: readonly (readonly [commands: string, last: string])[] = [
  ["SET a 1; GET a", "$1\r\n1\r\n"],
  ["GET a", "$-1\r\n"],
  ["SET a 1 XX", "$-1\r\n"],
  ["SET a 1; SET a 2 NX", "$-1\r\n"],
  ["SET a 1; SET a 2 XX", "+OK\r\n"],
  ["SET a 1 NX XX", "-ERR syntax error\r\n"],
  ["SET a 1 EX 0", "-ERR invalid expire time in 'set' command\r\n"],
  ["SET a 1 EX x", RANGE],
  ["SET a 1 EX 10; TTL a", ":10\r\n"],
  ["SET a 1 PX 10000; PTTL a", ":10000\r\n"],
  ["SET a 1 EX 10; SET a 2; TTL a", ":-1\r\n"],
  ["TTL a", ":-2\r\n"],
  ["SET a 1; EXPIRE a 5; PERSIST a", ":1\r\n"],
  ["SET a 1; PERSIST a", ":0\r\n"],
  ["SET a 1; EXPIRE a -1; EXISTS a", ":0\r\n"],
  ["EXPIRE a 1", ":0\r\n"],
  ["INCR a; INCR a", ":2\r\n"],
  ["DECR a", ":-1\r\n"],
  ["SET a 9223372036854775807; INCR a", "-ERR increment or decrement would overflow\r\n"],
  ["SET a 9007199254740993; INCRBY a 2", ":9007199254740995\r\n"],
  ["SET a 1 EX 9; INCR a; TTL a", ":9\r\n"],
  ["SET a x; INCR a", RANGE],
  ["INCRBY a 9223372036854775808", RANGE],
  ["APPEND a b; APPEND a cd; STRLEN a", ":3\r\n"],
  ["MSET a 1 b 2; MGET a x b", "*3\r\n$1\r\n1\r\n$-1\r\n$1\r\n2\r\n"],
  ["MSET a 1 b", "-ERR wrong number of arguments for 'mset' command\r\n"],
  ["MSET a 1 b 2; DEL a b c", ":2\r\n"],
  ["MSET a 1 b 2; EXISTS a a c", ":2\r\n"],
  ["MSET aa 1 ab 2 b 3; KEYS a*", "*2\r\n$2\r\naa\r\n$2\r\nab\r\n"],
  ["MSET a 1 b 2; DBSIZE", ":2\r\n"],
  ["SET a 1; SELECT 1; DBSIZE", ":0\r\n"],
  ["SELECT 16", "-ERR DB index is out of range\r\n"],
  ["SET a 1; SELECT 1; SET b 1; FLUSHDB; SELECT 0; DBSIZE", ":1\r\n"],
  ["SET a 1; SELECT 1; FLUSHALL; SELECT 0; DBSIZE", ":0\r\n"],
  ["LPUSH l a b; RPUSH l c; LRANGE l 0 -1", "*3\r\n$1\r\nb\r\n$1\r\na\r\n$1\r\nc\r\n"],
  ["RPUSH l a b c; LRANGE l -2 -2", "*1\r\n$1\r\nb\r\n"],
  ["RPUSH l a b c; LRANGE l -100 0", "*1\r\n$1\r\na\r\n"],
  ["RPUSH l a b c; LRANGE l 5 9", "*0\r\n"],
  ["RPUSH l a b; LPOP l", "$1\r\na\r\n"],
  ["RPUSH l a b; RPOP l; RPOP l; EXISTS l", ":0\r\n"],
  ["RPOP l", "$-1\r\n"],
  ["RPUSH l a; LLEN l", ":1\r\n"],
  ["RPUSH l a; GET l", WRONG],
  ["SET a 1; LPUSH a 1", WRONG],
  ["HSET h a 1 b 2; HSET h a 3 c 4", ":1\r\n"],
  ["HSET h a 1; HGETALL h", "*2\r\n$1\r\na\r\n$1\r\n1\r\n"],
  ["HSET h a 1; HGET h a", "$1\r\n1\r\n"],
  ["HSET h a", "-ERR wrong number of arguments for 'hset' command\r\n"],
  ["HSET h a 1 b 2; HDEL h a x; HLEN h", ":1\r\n"],
  ["HSET h a 1; HDEL h a; TYPE h", "+none\r\n"],
  ["SADD s a b a", ":2\r\n"],
  ["SADD s a; SISMEMBER s a", ":1\r\n"],
  ["SADD s a b; SREM s a; SMEMBERS s", "*1\r\n$1\r\nb\r\n"],
  ["SADD s a b; SCARD s", ":2\r\n"],
  ["SADD s a; TYPE s", "+set\r\n"],
  ["SADD s a; HGET s a", WRONG],
  ["CONFIG GET maxmemory", "*2\r\n$9\r\nmaxmemory\r\n$1\r\n0\r\n"],
  ["CONFIG SET maxmemory 2mb; CONFIG GET maxm*ory", "*2\r\n$9\r\nmaxmemory\r\n$7\r\n2097152\r\n"],
  [
    "CONFIG SET maxmemory x",
    "-ERR CONFIG SET failed (possibly related to argument 'maxmemory') - argument must be a memory value\r\n",
  ],
  ["CONFIG SET nope 1", "-ERR Unknown option or number of arguments for CONFIG SET - 'nope'\r\n"],
  ["CONFIG SET maxmemory 1; SET a 1; SET b 1", "-OOM command not allowed when used memory > 'maxmemory'.\r\n"],
  ["CONFIG SET maxmemory 1; SET a 1; GET a", "$1\r\n1\r\n"],
  ["CONFIG SET maxmemory 1 maxmemory-policy allkeys-lru; SET a 1; SET b 1; EXISTS a b", ":0\r\n"],
  [
    "CONFIG SET maxmemory 500 maxmemory-policy volatile-lru; SET a 1; SET b 1 EX 9; SET c 1; PING; EXISTS a b c",
    ":2\r\n",
  ],
  ["INFO replication", "$48\r\n# Replication\r\nrole:master\r\nconnected_slaves:0\r\n\r\n"],
];
for (const [text, last] of COMMANDS) {
  test(`redis: ${text}`, async () => {
    const redis = await start();
    const list = commands(text);
    const all = await answerTo(redis, list.join(""));
    assert.ok(all.endsWith(last), all);
    const before = await answerTo(redis, commands("FLUSHALL").join(""), list.slice(0, -1).join(""));
    assert.ok(text.includes("CONFIG") || all.length - last.length === before.length - "+OK\r\n".length, before);
  });
}

test("redis: the least recently used keys go, and a key ends at its time", async () => {
  const redis = await start(["redis-server", "--maxmemory", "1kb", "--maxmemory-policy", "allkeys-lru"]);
  const used = "SET a 1; SET b 1; SET c 1; SET d 1; GET a; SET e 1; SET f 1; PING; EXISTS a; EXISTS b";
  assert.match(await answerTo(redis, commands(used).join("")), /:1\r\n:0\r\n$/);
  await answerTo(redis, commands("FLUSHALL; SET t 1 EX 10").join(""));
  await lab.clock.advance(9_999);
  assert.equal(await answerTo(redis, "EXISTS t\r\n"), ":1\r\n");
  await lab.clock.advance(1);
  assert.equal(await answerTo(redis, "DBSIZE\r\nGET t\r\n"), ":0\r\n$-1\r\n");
});

test("redis: memory is released with what was stored, and the limit of the container holds", async () => {
  const redis = await start();
  const { memory } = redis.container.running?.machine ?? assert.fail();
  const before = memory.usedBytes;
  const fill = "SET a 1; APPEND a 2; SET a 33; LPUSH l 1 2 3; LPOP l; HSET h a 1 a 22; HDEL h a; SADD s a b; SREM s a";
  await answerTo(redis, commands(fill).join(""));
  assert.ok(memory.usedBytes > before);
  await answerTo(redis, commands("DEL a l h s").join(""));
  assert.equal(memory.usedBytes, before);
  const small = await start([], 1_000_000n);
  const flood = encode(["APPEND", "a", "x".repeat(100_000)]).repeat(12);
  await answerTo(small, flood).catch(() => {});
  assert.equal(stateOf(small.container), "exited (137, OOMKilled)");
});

test("redis: one reply cannot take more memory than the container has", async () => {
  const redis = await start([], 20_000_000n);
  await answerTo(redis, encode(["SET", "a", "x".repeat(1_000_000)])).catch(() => {});
  await answerTo(redis, encode(["MGET", ...Array.from({ length: 1000 }, () => "a")])).catch(() => {});
  assert.equal(stateOf(redis.container), "exited (137, OOMKilled)");
});

test("redis: redis.conf of the documentation's tutorial, the log, SIGTERM, a taken port and a bad file", async () => {
  const script = (text: string) => ["sh", "-c", text];
  const conf = "printf '# x\\nmaxmemory 2mb\\nmaxmemory-policy allkeys-lru\\nsave 60 1\\n' > /tmp/redis.conf";
  const redis = await start(script(`${conf}; exec redis-server /tmp/redis.conf`));
  assert.equal(
    await answerTo(redis, "CONFIG GET maxmemory*\r\n").then((text) => text.match(/\w{5,}.*/g)?.join(" ")),
    "maxmemory 2097152 maxmemory-policy allkeys-lru",
  );
  assert.match(
    redis.log(),
    /\d:C .* \* Redis version=7\.2\.4, .*\n.*\n\d:M .* # save 60 1: ignored: nothing is saved\n/,
  );
  assert.match(redis.log(), /\d:M 01 Jan 2026 00:00:00\.000 \* Ready to accept connections tcp\n$/);
  assert.match(
    (await lab.sh("redis-server", redis.container)).stdout.toString(),
    /bind: Address already in use\n.*aborting\.\n$/,
  );
  const bad = await lab.sh(
    "redis-server --port 1 --maxmemory lots; redis-server /nope; redis-server --cluster-enabled yes",
    redis.container,
  );
  assert.deepEqual(bad.stderr.toString().match(/^(?:>>>.*\n.*|Fatal.*)$/gm), [
    ">>> 'maxmemory lots'\nargument must be a memory value",
    "Fatal error, can't open config file '/nope': No such file or directory",
    ">>> 'cluster-enabled yes'\nkubelab's redis cannot do it",
  ]);
  redis.container.running?.signal(15);
  await lab.settle();
  assert.match(
    redis.log(),
    /\d:signal-handler \(1767225600\) Received SIGTERM scheduling shutdown\.\.\.\n.*requested.*\n.*bye bye/,
  );
  assert.equal(stateOf(redis.container), "exited (0, Completed)");
});

test("redis: SHUTDOWN ends the server", async () => {
  const redis = await start();
  await answerTo(redis, "SHUTDOWN\r\n");
  await lab.settle();
  assert.equal(stateOf(redis.container), "exited (0, Completed)");
});

/** Scripts in the server's container, and their output on both streams. */
const CLI: readonly (readonly [script: string, output: string])[] = [
  ["redis-cli ping", "PONG\n"],
  ["redis-cli set k 'a b'; redis-cli get k; redis-cli get nope", "OK\na b\n\n"],
  [
    "redis-cli --no-raw lpush l 'a\"' \"$(printf 'b\\n\\001é')\"; redis-cli --no-raw lrange l 0 -1",
    '(integer) 2\n1) "b\\n\\x01\\xc3\\xa9"\n2) "a\\""\n',
  ],
  [
    "redis-cli --no-raw get nope; redis-cli --no-raw keys '*'; redis-cli --no-raw role",
    '(nil)\n(empty array)\n1) "master"\n2) (integer) 0\n3) (empty array)\n',
  ],
  [
    "redis-cli --no-raw foo; redis-cli foo",
    "(error) ERR unknown command 'foo', with args beginning with: \nERR unknown command 'foo', with args beginning with: \n\n",
  ],
  ['printf \'set a "x y"\\n\\nget a\\nget "\\nquit\\nget a\\n\' | redis-cli', "OK\nx y\nInvalid argument(s)\n"],
  ["echo one | redis-cli -x set k; redis-cli strlen k", "OK\n4\n"],
  ["redis-cli -n 2 set k v; redis-cli dbsize; redis-cli -n 2 dbsize", "OK\n0\n1\n"],
  ["redis-cli -p 1 ping; echo $?", "Could not connect to Redis at 127.0.0.1:1: Connection refused\n1\n"],
  ["redis-cli set é ü; redis-cli get é", "OK\nü\n"],
];
for (const [script, output] of CLI) {
  test(`redis-cli: ${script}`, async () => {
    const { container } = await start();
    assert.equal((await lab.sh(`{ ${script}; } 2>&1`, container)).stdout.toString(), output);
  });
}

test("redis-cli at a terminal: prompt, replies, database, end of the server", async () => {
  const { container } = await start();
  const session = new FakeSession({ stdin: true, tty: true });
  assert.ok(container.running !== undefined);
  const done = serveExec(session, container.running, ["redis-cli"], "0123");
  let seen = 0;
  const types = async (text: string) => {
    session.type(text);
    await lab.settle();
    const fresh = (session.stdout?.text ?? "").slice(seen);
    seen += fresh.length;
    return fresh;
  };
  await lab.settle();
  assert.equal(await types(""), "127.0.0.1:6379> ");
  assert.equal(
    await types("config get maxmemory\r"),
    'config get maxmemory\r\n1) "maxmemory"\r\n2) "0"\r\n127.0.0.1:6379> ',
  );
  assert.equal(await types("select 3\r"), "select 3\r\nOK\r\n127.0.0.1:6379[3]> ");
  assert.equal(await types("quit\r"), "quit\r\n");
  await done;
});

test("redis: a client of this machine's own sockets", async () => {
  const { sandbox } = await start();
  const relay = createServer(async (socket) => {
    const pod = duplexOf(await sandbox.network.connect({ ip: "127.0.0.1", port: 6379 }, never), never);
    socket.pipe(pod).pipe(socket);
  }).listen(0, "127.0.0.1");
  await once(relay, "listening");
  const client = connect((relay.address() as AddressInfo).port, "127.0.0.1");
  const value = "x".repeat(300_000);
  client.write(encode(["SET", "big", value]) + encode(["GET", "big"]) + encode(["QUIT"]), "latin1");
  let answer = "";
  for await (const bytes of client) answer += String(bytes);
  assert.equal(answer, `+OK\r\n$300000\r\n${value}\r\n+OK\r\n`);
  relay.close();
});

test("a password protects the keys", async () => {
  const redis = await start(["--requirepass", "pw", "--masterauth", "pw"]);
  const login = encode(["AUTH", "pw"]);
  const wrong = "-WRONGPASS invalid username-password pair or user is disabled.\r\n";
  const refused = "-NOAUTH Authentication required.\r\n";
  for (const [commands, want] of [
    ["GET a\r\nQUIT\r\n", `${refused}+OK\r\n(closed)`],
    [`AUTH no\r\nGET a\r\n${login}GET a\r\nQUIT\r\n`, `${wrong}${refused}+OK\r\n$-1\r\n+OK\r\n(closed)`],
    ["AUTH default pw\r\nAUTH other pw\r\nPING\r\nQUIT\r\n", `+OK\r\n${wrong}+PONG\r\n+OK\r\n(closed)`],
  ] as const)
    assert.equal(await answerTo(redis, commands), want);
  const script = [
    "redis-cli -a pw --no-auth-warning PING",
    "REDISCLI_AUTH=pw redis-cli --user default CONFIG GET requirepass",
    "redis-cli -a no PING",
    "redis-cli --no-auth-warning --pass pw -n 1 CONFIG SET requirepass ''",
    "redis-cli AUTH x",
  ];
  const { stdout, stderr } = await lab.sh(script.join("; "), redis.container);
  assert.deepEqual(stdout.toString().split("\n"), [
    "PONG",
    "requirepass",
    "pw",
    "NOAUTH Authentication required.",
    "",
    "OK",
    "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?",
    "",
    "",
  ]);
  assert.deepEqual(stderr.toString().split("\n"), [
    "Warning: Using a password with '-a' or '-u' option on the command line interface may not be safe.",
    "AUTH failed: WRONGPASS invalid username-password pair or user is disabled.",
    "",
  ]);
});

test("a replica starts as a master and logs that it does not replicate", async () => {
  for (const option of ["--replicaof", "--slaveof"]) {
    const redis = await start([option, "redis-0", "6379"]);
    assert.match(redis.log(), /of redis-0 6379: ignored: kubelab's redis does not replicate, so/);
    assert.match(redis.log(), /Ready to accept connections/);
    assert.match(await answerTo(redis, "ROLE\r\nQUIT\r\n"), /master/);
  }
});

for (const [tag, want] of [
  ["latest", "7.2.4"],
  ["6.2-alpine", "6.2.14"],
  ["7", "7.4.1"],
  ["7.2.1", "7.2.1"],
] as const) {
  test(`redis:${tag} reports its release`, async () => {
    const local = new RuntimeLab({ images: [`redis:${tag}`] });
    const container = local.run({ image: { image: `redis:${tag}` } });
    const log = local.output(container);
    await local.settle();
    assert.match(log(), new RegExp(`Redis version=${want.replaceAll(".", "\\.")},`));
    local.stop();
  });
}
