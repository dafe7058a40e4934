import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { EtcdConfig } from "../../../../../src/cluster/apiserver/storage/etcd/config.js";
import { openEtcd } from "../../../../../src/cluster/apiserver/storage/etcd/open.js";
import {
  createApiServerCertificate,
  createAuthority,
  createClientCertificate,
} from "../../../../../src/staging/pki/authority.js";
import { SystemClock } from "../../../../../src/util/clock.js";
import { LabError } from "../../../../../src/util/errors.js";
import { SystemRandom } from "../../../../../src/util/random.js";
import { SMALL, TestEtcd } from "../../../../support/etcd.js";
import { missingPath } from "../../../../support/missing-path.js";
import { suiteNeeding } from "../../../../support/requirements.js";

let made = 0;

function open(config: EtcdConfig, problems: string[] = []) {
  const pem = (what: string) => `-----BEGIN ${what} ${++made}-----`;
  const makeIdentity = async () => ({
    caCertificatePem: pem("CA"),
    caKeyPem: pem("CA KEY"),
    serviceAccountKeyPem: pem("KEY"),
  });
  const prefixes = ["/registry/services/specs/", "/registry/pods/"];
  const deps = { kindOf: () => undefined, prefixes, makeIdentity, report: (one: string) => void problems.push(one) };
  return openEtcd(config, deps, {}, 5_000);
}

async function failure(config: EtcdConfig): Promise<string> {
  const error = await open(config).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return error instanceof LabError ? `${error.code} ${error.message}` : String(error);
}

test("etcd that does not answer is named; a configuration that cannot work is refused", async () => {
  const missing = missingPath("ca.pem");
  const refused = "No connection established: connect ECONNREFUSED 127.0.0.1:1";
  const table: [EtcdConfig, string][] = [
    [{ servers: ["http://127.0.0.1:1"] }, `CLUSTER_UNREACHABLE etcd does not answer: http://127.0.0.1:1: ${refused}`],
    [
      { servers: ["http://127.0.0.1:1", "https://127.0.0.1:1"] },
      `CLUSTER_UNREACHABLE etcd does not answer: http://127.0.0.1:1: ${refused}; https://127.0.0.1:1: ${refused}`,
    ],
    [{ servers: [] }, "USAGE no etcd server is named"],
    [{ servers: ["127.0.0.1:2379"] }, 'USAGE "127.0.0.1:2379" is not the address of an etcd server'],
    [{ servers: ["http://127.0.0.1:1/x"] }, 'USAGE "http://127.0.0.1:1/x" is not the address of an etcd server'],
    [
      { servers: ["http://root:secret@127.0.0.1:1"] },
      "USAGE --etcd takes no user and no password, as kube-apiserver's flag",
    ],
    [{ servers: ["http://127.0.0.1:1"], caFile: "/ca" }, "USAGE etcd's certificates are of no use with http://"],
    [
      { servers: ["https://127.0.0.1:1"], certFile: "/cert" },
      "USAGE etcd's client certificate needs its key, and the key its certificate",
    ],
    [{ servers: ["https://127.0.0.1:1"], caFile: missing }, `BAD_FILE cannot read ${missing}: no such file or folder`],
  ];
  for (const [config, message] of table) expect(await failure(config)).toBe(message);
});

/** How a server that speaks something else ends the connection, once it has read a part of the first bytes or all of them. */
const HANG_UPS: readonly (readonly [how: string, hangUp: (socket: Socket) => unknown])[] = [
  ["by an end", (socket) => socket.destroy()],
  ["by a reset", (socket) => socket.resetAndDestroy()],
];

for (const [how, hangUp] of HANG_UPS) {
  test(`a server that ends each connection ${how} does not speak what the address says`, async () => {
    const server = createServer((socket) => socket.on("error", () => {}).once("data", () => hangUp(socket)));
    await once(server.listen(0, "127.0.0.1"), "listening");
    const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const ends = "CLUSTER_NOT_TRUSTED etcd ends the connection: ";
    expect(await failure({ servers: [`http://${address}`] })).toContain(ends);
    const noTls = "CLUSTER_NOT_TRUSTED etcd does not answer with TLS: ";
    expect(await failure({ servers: [`https://${address}`] })).toContain(noTls);
    server.close();
  });
}

suiteNeeding(["etcd"], "opening etcd", () => {
  test("the first control plane makes the cluster's identity, the next ones find it", async () => {
    const etcd = await TestEtcd.start();
    try {
      const config = { servers: [etcd.url] };
      const opened = await Promise.all([open(config), open(config)]);
      opened.push(await open(config));
      expect(new Set(opened.map(({ identity }) => JSON.stringify(identity))).size).toBe(1);
      for (const { storage } of opened) await storage.close();
      await etcd.ctl("put", "/kubelab/identity", "{}");
      expect(await failure(config)).toBe(
        "BAD_FILE etcd's key /kubelab/identity does not have the cluster's CA and keys",
      );
    } finally {
      await etcd.stop();
    }
  });

  test("keys that are of no resource are counted, and the first is named", async () => {
    const etcd = await TestEtcd.start();
    try {
      const problems: string[] = [];
      const keys = ["/registry/pods/a", "/registry/services/specs/a", "/registry0", "/other/a"];
      for (const key of keys) await etcd.ctl("put", key, "x");
      await (await open({ servers: [etcd.url] }, problems)).storage.close();
      expect(problems).toEqual([]);
      for (const key of ["/registry/zoo/a", "/registry/pods.x/a", "/registry/pods.x/b", "/registry/services/a"])
        await etcd.ctl("put", key, "x");
      await (await open({ servers: [etcd.url] }, problems)).storage.close();
      const first = '"/registry/pods.x/a"';
      expect(problems).toEqual([
        `etcd has 4 keys below /registry/ of no kind that is served here, first ${first}: left as they are`,
      ]);
    } finally {
      await etcd.stop();
    }
  });

  test("an etcd without room cannot take a new cluster", async () => {
    const etcd = await TestEtcd.start(undefined, SMALL);
    try {
      await etcd.fill();
      const why = `${etcd.url}: etcdserver: mvcc: database space exceeded`;
      expect(await failure({ servers: [etcd.url] })).toBe(`REFUSED etcd has no room: ${why}`);
    } finally {
      await etcd.stop();
    }
  });

  test("TLS: with its CA and a client certificate; another CA or no certificate is refused", async () => {
    const folder = mkdtempSync(join(tmpdir(), "kubelab-etcd-tls-"));
    const file = (name: string, text: string) => {
      writeFileSync(join(folder, name), text, { mode: 0o600 });
      return join(folder, name);
    };
    const deps = { clock: new SystemClock(), random: new SystemRandom() };
    const ca = await createAuthority(deps, { commonName: "etcd-ca" });
    const other = await createAuthority(deps, { commonName: "other-ca" });
    const serving = await createApiServerCertificate(ca, deps, { commonName: "etcd" });
    const client = await createClientCertificate(ca, deps, { commonName: "root", organization: [] });
    const caFile = file("ca.pem", ca.certificatePem);
    const own = {
      certFile: file("client.pem", client.certificatePem),
      keyFile: file("client.key", client.privateKeyPem),
    };
    const etcd = await TestEtcd.start({
      certFile: file("server.pem", serving.certificatePem),
      keyFile: file("server.key", serving.privateKeyPem),
      clientCaFile: caFile,
    });
    const plain = await TestEtcd.start();
    try {
      const servers = [etcd.url];
      const { storage } = await open({ servers, caFile, ...own });
      expect(await storage.currentRevision()).toBeGreaterThan(0);
      await storage.close();
      const otherCa = file("other.pem", other.certificatePem);
      const foreign = await createClientCertificate(other, deps, { commonName: "root", organization: [] });
      const ofOther = {
        certFile: file("foreign.pem", foreign.certificatePem),
        keyFile: file("foreign.key", foreign.privateKeyPem),
      };
      const refused: readonly (readonly [EtcdConfig, string])[] = [
        [{ servers, caFile: otherCa, ...own }, `etcd's certificate is not signed by the CA in ${otherCa}`],
        [{ servers, ...own }, "etcd's certificate is not signed by a CA that is trusted here"],
        [{ servers, caFile }, "etcd asks for a client certificate"],
        [{ servers, caFile, ...ofOther }, `etcd refuses the certificate in ${ofOther.certFile}`],
        [{ servers: [etcd.url.replace("https:", "http:")] }, "etcd ends the connection"],
        [{ servers: [plain.url.replace("http:", "https:")], caFile }, "etcd does not answer with TLS"],
      ];
      for (const [config, what] of refused) {
        const said = await failure(config);
        // One line, though OpenSSL's errors end with one of their own.
        expect(said).toMatch(/^CLUSTER_NOT_TRUSTED .*$/);
        expect(said).toContain(`${what}: ${config.servers[0]}: No connection established: `);
      }
      const mixed = { servers, caFile, ...own, keyFile: file("other.key", other.privateKeyPem) };
      expect(await failure(mixed)).toBe("BAD_FILE the client key does not belong to the client certificate");
      const unreadable = "BAD_FILE the CA, client certificate or client key is not readable PEM";
      expect(await failure({ servers, caFile: own.keyFile })).toBe(unreadable);
      expect(await failure({ servers, caFile, ...own, certFile: file("text.pem", "text") })).toBe(unreadable);

      // With users, the common name of the certificate is the user.
      const ctl = (...args: string[]) =>
        etcd.ctl(`--cacert=${caFile}`, `--cert=${own.certFile}`, `--key=${own.keyFile}`, ...args);
      await ctl("user", "add", "root:secret");
      await ctl("user", "grant-role", "root", "root");
      await ctl("auth", "enable");
      await (await open({ servers, caFile, ...own })).storage.close();
      const nobody = await createClientCertificate(ca, deps, { commonName: "nobody", organization: [] });
      const theirs = {
        certFile: file("nobody.pem", nobody.certificatePem),
        keyFile: file("nobody.key", nobody.privateKeyPem),
      };
      // The first key that is asked for is /registry/health, the next one the cluster's identity.
      await ctl("role", "add", "objects");
      await ctl("role", "grant-permission", "objects", "readwrite", "--prefix=true", "/registry/");
      const denied = `FORBIDDEN etcd refuses: ${etcd.url}: etcdserver: permission denied`;
      expect(await failure({ servers, caFile, ...theirs })).toBe(denied);
      await ctl("user", "add", "nobody:secret");
      await ctl("user", "grant-role", "nobody", "objects");
      expect(await failure({ servers, caFile, ...theirs })).toBe(denied);
    } finally {
      await etcd.stop();
      await plain.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
