import assert from "node:assert/strict";
import { afterEach, beforeAll, test } from "vitest";
import { loadPrograms, never, RuntimeLab, stateOf } from "../runtime/lab.js";

const newLab = () => new RuntimeLab({ images: ["postgres:15", "busybox"] });
let lab = newLab();
beforeAll(async () => {
  await loadPrograms();
  await import("../../../src/cluster/shell/programs/postgres.js");
});
afterEach(() => {
  lab.stop();
  lab = newLab();
});

const PASSWORD = { key: "POSTGRES_PASSWORD", value: "pw" };

function start(envs: readonly { key: string; value: string }[], args: readonly string[] = []) {
  const sandbox = lab.sandbox();
  const container = lab.run({ image: { image: "postgres:15" }, envs: [...envs], args: [...args] }, sandbox);
  return { sandbox, container, log: lab.output(container, "stderr") };
}

test("postgres needs a password for a new database", async () => {
  const { container, log } = start([]);
  await lab.settle();
  assert.equal(stateOf(container), "exited (1, Error)");
  assert.match(log(), /^Error: Database is uninitialized and superuser password is not specified\.$/m);
});

for (const env of [PASSWORD, { key: "POSTGRES_HOST_AUTH_METHOD", value: "trust" }]) {
  test(`postgres with ${env.key} is ready, and ends on SIGINT`, async () => {
    const { container } = start([env]);
    await lab.settle();
    const script = "pg_isready; echo $?; pg_isready -h localhost -U app -d app; pg_isready -q -p 5433; echo $?";
    const { stdout } = await lab.sh(`${script}; cat $PGDATA/PG_VERSION; stat -c %U $PGDATA/PG_VERSION`, container);
    assert.deepEqual(stdout.toString().split("\n"), [
      "/var/run/postgresql:5432 - accepting connections",
      "0",
      "localhost:5432 - accepting connections",
      "2",
      "15",
      "postgres",
      "",
    ]);
    container.running?.signal(2);
    await lab.settle();
    assert.equal(stateOf(container), "exited (0, Completed)");
  });
}

/** A server's answer to a start, and what pg_isready makes of it. */
const ANSWERS: readonly (readonly [what: string, answer: string, result: string])[] = [
  ["an error of a server that starts up", "E\0\0\0\x0dC57P03\0\0\0", "rejecting connections 1"],
  ["another error", "E\0\0\0\x0dC28000\0\0\0", "accepting connections 0"],
  ["a request for a password", "R\0\0\0\x08\0\0\0\x03", "accepting connections 0"],
  ["another protocol", "HTTP/1.1 400 Bad Request", "no response 2"],
  ["nothing", "", "no response 2"],
];
for (const [what, answer, result] of ANSWERS) {
  test(`pg_isready reads ${what}`, async () => {
    const { sandbox, container } = start([PASSWORD], ["postgres", "-p", "6000"]);
    sandbox.network.ports.listen(5432, ({ incoming, outgoing }) => {
      void incoming
        .read(never)
        .then(() => outgoing.write(Buffer.from(answer, "latin1"), never))
        .then(() => {
          outgoing.release();
          incoming.release();
        });
    });
    const { stdout } = await lab.sh("echo $(pg_isready -h 127.0.0.1; echo $?)", container);
    assert.equal(stdout.toString(), `127.0.0.1:5432 - ${result}\n`);
  });
}

test("pg_isready refuses what it cannot do", async () => {
  const { container } = start([PASSWORD]);
  const { stdout, stderr } = await lab.sh("pg_isready -p x; echo $?; pg_isready a; pg_isready -Z; echo $?", container);
  assert.equal(stdout.toString(), "/var/run/postgresql:x - no attempt\n3\n3\n");
  assert.match(stderr.toString(), /too many command-line arguments \(first is "a"\).*invalid option -- 'Z'/s);
});

test("a client gets postgres' refusal in its protocol", async () => {
  const { sandbox } = start([PASSWORD]);
  await lab.settle();
  const connection = await sandbox.network.connect({ ip: "127.0.0.1", port: 5432 }, never);
  const hello = "\0\0\0\x08\x04\xd2\x16\x2f\0\0\0\x10\0\x03\0\0user\0a\0\0";
  await connection.outgoing.write(Buffer.from(hello, "latin1"), never);
  await lab.settle();
  const parts: Buffer[] = [];
  for (;;) {
    const bytes = await connection.incoming.read(never);
    if (bytes === undefined) break;
    parts.push(bytes);
  }
  const text = Buffer.concat(parts).toString("latin1");
  assert.match(text, /^NE\0\0\0.SFATAL\0VFATAL\0C0A000\0Mkubelab's postgres runs no SQL\0\0$/s);
  assert.equal(text.charCodeAt(5), text.length - 2);
  connection.outgoing.release();
  connection.incoming.release();
});
