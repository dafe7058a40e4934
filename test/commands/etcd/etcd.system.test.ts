import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { EtcdClient } from "../../../src/cluster/apiserver/storage/etcd/client.js";
import { openEndpoints } from "../../../src/cluster/apiserver/storage/etcd/endpoints.js";
import { COMPACT, LEASE_GRANT, TXN } from "../../../src/cluster/apiserver/storage/etcd/rpcs.js";
import type { KubeObject } from "../../../src/staging/apimachinery/api/meta.js";
import { encodeProtobuf } from "../../../src/staging/apimachinery/scheme/protobuf/envelope.js";
import { type ClusterState, writeClusterState } from "../../../src/testbed/target/cluster-state.js";
import { TestEtcd } from "../../support/etcd.js";
import { missingPath } from "../../support/missing-path.js";
import { suiteNeeding } from "../../support/requirements.js";
import { runInProcess } from "../../support/run-cli.js";

const configMap = (x: string): KubeObject => ({
  kind: "ConfigMap",
  apiVersion: "v1",
  metadata: { name: "a", namespace: "default" },
  data: { x },
});
const SECRET = {
  kind: "Secret",
  apiVersion: "v1",
  metadata: { name: "s", namespace: "default" },
  data: { pw: Buffer.from("hunter2-hunter2").toString("base64") },
};
const A = "/registry/configmaps/default/a";

suiteNeeding(["etcd"], "kubelab etcd", () => {
  let etcd: TestEtcd;
  let client: EtcdClient;
  const cwd = mkdtempSync(join(tmpdir(), "kubelab-etcd-cli-"));

  beforeAll(async () => {
    etcd = await TestEtcd.start();
    client = new EtcdClient(await openEndpoints({ servers: [etcd.url] }));
    await put("/registry/secrets/default/s", JSON.stringify(SECRET));
    await put("/registry/pods/default/p", encodeProtobuf({ ...configMap(""), kind: "Pod", data: undefined }) ?? "");
  });

  afterAll(async () => {
    client?.close();
    await etcd?.stop();
  });

  /** @returns the revision */
  async function put(key: string, value: string | Buffer, lease = 0n): Promise<number> {
    const requestPut = { key: Buffer.from(key), value: Buffer.from(value), lease };
    const { header } = await client.call(TXN, { success: [{ requestPut }] }, { timeoutMs: 5_000 });
    return Number(header?.revision);
  }

  const run = (...args: string[]) => runInProcess(["etcd", ...args, "--etcd", etcd.url], { cwd });

  function file(object: unknown): string {
    const name = `${Math.abs(JSON.stringify(object).length)}.json`;
    writeFileSync(join(cwd, name), JSON.stringify(object));
    return name;
  }

  test("get: JSON and protobuf as objects, with revisions; Secrets are masked unless asked for", async () => {
    const { code, stdout } = await run("get", "--json");
    expect(code).toBe(0);
    const { keys } = JSON.parse(stdout);
    const byKey = new Map(keys.map((one: { key: string }) => [one.key, one]));
    expect(byKey.get("/registry/pods/default/p")).toMatchObject({
      format: "protobuf",
      version: 1,
      object: { kind: "Pod", metadata: { name: "a" } },
    });
    expect(stdout).not.toContain(SECRET.data.pw);
    const pod = encodeProtobuf({ ...configMap(""), kind: "Pod", data: undefined }) ?? "";
    await put("/cluster-2/pods/default/p", pod);
    expect((await run("get", "/cluster-2/")).stdout).toMatch(/^ {2}protobuf, \d+ bytes: a Pod of v1$/m);
    expect((await run("get", "secrets/default/s", "--show-secrets")).stdout).toContain(SECRET.data.pw);
  });

  test("get: values that are no objects say what they are", async () => {
    const key = "-----BEGIN EC PRIVATE KEY-----\nabc\n-----END EC PRIVATE KEY-----";
    const values: readonly (readonly [name: string, value: string | Buffer, said: RegExp])[] = [
      ["text", "hello", /^ {2}text, 5 bytes\n {4}hello$/m],
      ["pem", key, /^ {2}text, \d+ bytes\n {4}-----BEGIN EC PRIVATE KEY-----\*\*\*\*/m],
      ["json", '{"a":1}', /^ {2}JSON, 7 bytes: it has no kind, apiVersion or metadata\n {4}\{/m],
      ["broken", '{"a":', /^ {2}JSON, 5 bytes: /m],
      ["sealed", "k8s:enc:aescbc:v1:key1:\u0001\u0002", /^ {2}encrypted by aescbc, \d+ bytes$/m],
      ["bytes", Buffer.from([0xff, 0xfe, 0]), /^ {2}binary, 3 bytes$/m],
      ["unknown", Buffer.from("k8s\0\x0a\x00"), /^ {2}protobuf, 6 bytes: it is protobuf of a kind that is not known/m],
    ];
    for (const [name, value, said] of values) {
      await put(`/other/${name}`, value);
      expect((await run("get", `/other/${name}`)).stdout).toMatch(said);
    }
  });

  test("get: keys only, an older revision, a limit, a lease; a compacted revision is named", async () => {
    const { id } = await client.call(LEASE_GRANT, { ttl: 600 }, { timeoutMs: 5_000 });
    const first = await put(A, JSON.stringify(configMap("1")), id);
    const second = await put(A, JSON.stringify(configMap("2")));
    const old = await run("get", A, "--rev", String(first));
    expect(old.stdout).toContain(
      `create_revision ${first}, mod_revision ${first}, version 1, lease ${id.toString(16)}`,
    );
    expect(old.stdout).toContain('x: "1"');
    const table = (await run("get", A, "--keys-only")).stdout.split("\n");
    expect(table[0]).toMatch(/^CREATE +MOD +VERSION +KEY$/);
    expect(table[1]?.split(/ +/)).toEqual([String(first), String(second), "2", A]);
    expect((await run("get", "--limit", "1")).stdout).toMatch(/ not shown: --limit 0$/m);
    await client.call(COMPACT, { revision: second }, { timeoutMs: 5_000 });
    const gone = await run("get", A, "--rev", String(first));
    expect([gone.code, gone.stderr]).toEqual([1, expect.stringContaining("required revision has been compacted")]);
    const ahead = await run("get", A, "--rev", String(second + 1_000_000));
    expect([ahead.code, ahead.stderr]).toEqual([1, expect.stringContaining("etcd has not come so far")]);
    const compacted = await run("watch", "--from-rev", String(first), "--duration", "10s");
    const why = `revision ${first} has been compacted; the oldest is ${second}`;
    expect([compacted.code, compacted.stderr]).toEqual([1, expect.stringContaining(why)]);
  });

  test("watch: each change as a JSON patch, from a revision on, with masked Secrets", async () => {
    const from = await put(A, JSON.stringify(configMap("3")));
    await put("/registry/secrets/default/s", JSON.stringify({ ...SECRET, type: "Opaque" }));
    const stop = new AbortController();
    const seen = (text: string) => text.includes("type") && stop.abort();
    const { stdout } = await runInProcess(["etcd", "watch", "--from-rev", String(from), "--etcd", etcd.url], {
      signal: stop.signal,
      onStdout: seen,
    });
    expect(stdout).toContain(`${from} PUT ${A}\n  version `);
    expect(stdout).toContain('  replace /data/x "3"');
    expect(stdout).toContain('  add /type "Opaque"');
    expect(stdout).not.toContain(SECRET.data.pw);
  });

  test("watch: a new key is a patch from nothing; a revision to come is waited for", async () => {
    const key = "/registry/configmaps/default/new";
    const from = await put(key, JSON.stringify(configMap("1")));
    const stop = new AbortController();
    const { stdout } = await runInProcess(["etcd", "watch", key, "--from-rev", String(from), "--etcd", etcd.url], {
      signal: stop.signal,
      onStdout: (text) => text.includes("/data") && stop.abort(),
    });
    expect(stdout).toContain('  add /kind "ConfigMap"\n');
    expect(stdout).toContain('  add /data {"x":"1"}');
    const end = new AbortController();
    const { stderr } = await runInProcess(["etcd", "watch", "--from-rev", String(from + 1_000), "--etcd", etcd.url], {
      signal: end.signal,
      onStderr: (text) => text.includes("waits") && end.abort(),
    });
    expect(stderr).toContain(`etcd is at revision ${from}: the watch waits for revision ${from + 1_000}`);
  });

  test("txn: shows the compare and both branches; writes only with --write; a failed compare exits with 1", async () => {
    const before = await put(
      A,
      JSON.stringify({ ...configMap("4"), metadata: { ...configMap("4").metadata, uid: "u" } }),
    );
    const given = file({ kind: "ConfigMap", apiVersion: "v1", metadata: { name: "a" }, data: { x: "five" } });
    const shown = await run("txn", "-f", given);
    expect(shown.stdout).toContain(`  if    mod_revision = ${before}\n  then  put `);
    expect(shown.stdout).toContain("  else  get the key, for another attempt");
    expect(shown.stdout).toMatch(/^ +replace \/data\/x "five"$/m);
    expect(shown.stdout).toContain("The compare holds now. Nothing was written");
    expect((await run("get", A)).stdout).toContain(`mod_revision ${before},`);
    const late = await run("txn", "-f", given, "--if-rev", "1", "--write");
    expect([late.code, late.stdout]).toEqual([1, expect.stringContaining("else: the compare failed")]);
    expect((await run("txn", "-f", given, "--write")).stdout).toContain(`then: done at revision ${before + 1}`);
    const { stdout } = await run("get", A, "--json");
    expect(JSON.parse(stdout).keys[0].object).toMatchObject({ metadata: { uid: "u", namespace: "default" } });
    expect((await run("txn", A, "--delete", "--write")).stdout).toContain("then: done at revision");
    expect((await run("get", A)).stdout).toMatch(/^0 keys/);
    expect((await run("txn", "-f", given)).stdout).toMatch(/^ +add \/data \{"x":"five"\}$/m);
  });

  test("txn: what it cannot do is one sentence", async () => {
    const pod = file({ kind: "Pod", apiVersion: "v1", metadata: { name: "web" } });
    const table: readonly (readonly [args: readonly string[], code: number, said: string])[] = [
      [[], 2, "a transaction puts a file or deletes a key: give -f or --delete"],
      [["-f", pod, "--delete"], 2, "a transaction puts a file or deletes a key: give -f or --delete"],
      [["--delete"], 2, "--delete needs a key"],
      [["gone", "--delete"], 1, "etcd has no key /registry/gone: there is nothing to delete"],
      [[A, "-f", pod], 2, `belongs at /registry/pods/default/web, not at ${A}`],
      [["-f", file({ kind: "Gizmo", apiVersion: "x/v1" })], 2, "a Gizmo of x/v1, which has no place in etcd here"],
    ];
    for (const [args, code, said] of table) {
      const ended = await run("txn", ...args);
      expect([ended.code, ended.stderr]).toEqual([code, expect.stringContaining(said)]);
    }
  });
});

test("no etcd: one that does not answer is named, exit 3; none at all, exit 2", async () => {
  const down = await runInProcess(["etcd", "get", "--etcd", "http://127.0.0.1:1"]);
  expect([down.code, down.stderr]).toEqual([3, expect.stringContaining("etcd does not answer: http://127.0.0.1:1: ")]);
  const none = await runInProcess(["etcd", "get"]);
  expect([none.code, none.stderr]).toEqual([
    2,
    expect.stringContaining("no etcd is named, and no kubelab cluster runs"),
  ]);
});

test("clusters on different etcds: one of them must be named; with its files", async () => {
  const env = { XDG_STATE_HOME: mkdtempSync(join(tmpdir(), "kubelab-etcd-states-")) };
  const common = { version: 1, pid: process.pid, url: "https://127.0.0.1:1", kubeVersion: "1.25", nodes: 0 } as const;
  const missing = missingPath("ca.pem");
  const state = (name: string, more: Partial<ClusterState>) =>
    writeClusterState(env, { ...common, name, kubeconfig: "/k", speed: 1, ...more });
  await state("memory", {});
  await state("one", { etcd: ["http://127.0.0.1:1"] });
  const ended = (...args: string[]) => runInProcess(["etcd", "get", ...args], { env });
  // The only one that any of them has.
  expect((await ended()).stderr).toContain("etcd does not answer: http://127.0.0.1:1: ");
  await state("two", { etcd: ["https://127.0.0.1:2"], etcdFiles: { caFile: missing } });
  const table: readonly (readonly [args: readonly string[], code: number, said: string])[] = [
    [[], 2, "no etcd is named, and the running clusters use different ones"],
    [[], 2, "Running: memory, one, two. Name one with --cluster."],
    [["--cluster", "one"], 3, "etcd does not answer: http://127.0.0.1:1: "],
    [["--cluster", "two"], 2, `cannot read ${missing}: no such file or folder`],
    [["--cluster", "memory"], 2, "no etcd is named, and cluster memory keeps its state elsewhere"],
    [["--cluster", "gone"], 2, "no cluster named gone is running"],
    [["--cluster", "one", "--etcd", "http://127.0.0.1:1"], 2, "--etcd and --cluster are two names for one etcd"],
  ];
  for (const [args, code, said] of table) {
    const { code: actual, stderr } = await ended(...args);
    expect([actual, stderr.replaceAll(/\s+/g, " ")]).toEqual([code, expect.stringContaining(said)]);
  }
});
