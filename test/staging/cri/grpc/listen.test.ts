import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "vitest";
import { serveCri } from "../../../../src/staging/cri/server.js";
import { LabError } from "../../../../src/util/errors.js";
import { missingPath } from "../../../support/missing-path.js";
import { startRuntime, temporaryFolder } from "../support.js";

const handlers = { runtime: {}, image: {} };

test("the socket has mode 0600, and is gone after close", async () => {
  const folder = temporaryFolder();
  const path = join(folder, "a.sock");
  const server = await serveCri(handlers, `unix://${path}`);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(folder), ["a.sock"]);
  await server.close();
  await server.close();
  assert.deepEqual(readdirSync(folder), []);
});

test("a socket file without a server is replaced", async () => {
  const path = join(temporaryFolder(), "a.sock");
  const left = await serveCri(handlers, `unix://${path}`);
  rmSync(path);
  await left.close();
  const { spawnSync } = await import("node:child_process");
  const script = `require("net").createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, "SIGKILL"))`;
  spawnSync(process.execPath, ["-e", script]);
  assert.ok(statSync(path).isSocket(), "a killed server leaves its socket");
  await startRuntime({}, { endpoint: `unix://${path}` });
});

test("a socket that another server has put in its place stays", async () => {
  const path = join(temporaryFolder(), "a.sock");
  const first = await serveCri(handlers, `unix://${path}`);
  rmSync(path);
  const second = await serveCri(handlers, `unix://${path}`);
  await first.close();
  assert.ok(existsSync(path));
  await second.close();
  assert.ok(!existsSync(path));
});

const refused: readonly (readonly [string, (path: string) => void, RegExp])[] = [
  ["a regular file", (path) => writeFileSync(path, "precious"), /a file with that name exists and is not a socket/],
  ["a folder", (path) => mkdirSync(path), /not a socket/],
  ["a link, even to a socket", (path) => symlinkSync(missingPath(), path), /not a socket/],
];
for (const [what, make, why] of refused) {
  test(`${what} at the socket's path is left alone`, async () => {
    const folder = temporaryFolder();
    const path = join(folder, "a.sock");
    make(path);
    await assert.rejects(serveCri(handlers, `unix://${path}`), (error) => {
      return error instanceof LabError && error.code === "BAD_FILE" && why.test(error.message);
    });
    assert.deepEqual(readdirSync(folder), ["a.sock"]);
  });
}

test("a socket with another server behind it is left alone", async () => {
  const path = join(temporaryFolder(), "a.sock");
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(path, resolve));
  await assert.rejects(serveCri(handlers, `unix://${path}`), /another server listens on it/);
  await new Promise((resolve) => other.close(resolve));
});

const bad = [
  [`unix://${missingPath("all.sock")}`, "BAD_FILE", /its folder does not exist/],
  ["tcp://0.0.0.0:0", "USAGE", /would be reachable from other machines/],
  ["tcp://192.0.2.1:0", "USAGE", /would be reachable from other machines/],
] as const;
for (const [endpoint, code, why] of bad) {
  test(`does not listen on ${endpoint}`, async () => {
    await assert.rejects(serveCri(handlers, endpoint), (error) => {
      return error instanceof LabError && error.code === code && why.test(error.message);
    });
  });
}

test("a taken port is reported", async () => {
  const first = await startRuntime({}, { endpoint: "tcp://127.0.0.1:0" });
  await assert.rejects(serveCri(handlers, first.endpoint), /the port is taken/);
});
