import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, test } from "vitest";
import { kubeconfigText } from "../../../src/staging/client-go/clientcmd/kubeconfig-text.js";
import { nearestRelease } from "../../../src/testbed/target/server-release.js";
import { makeAuthority, makeLeaf, startHttpsServer, status } from "../../support/https-server.js";
import { missingPath } from "../../support/missing-path.js";
import { runInProcess } from "../../support/run-cli.js";

const TOKEN = "abcdef.0123456789abcdef";
const HASH = `sha256:${"0".repeat(64)}`;
const BOOTSTRAP = join(mkdtempSync(join(tmpdir(), "kubelab-cli-")), "bootstrap.kubeconfig");
writeFileSync(
  BOOTSTRAP,
  kubeconfigText({ server: "https://127.0.0.1:1", token: TOKEN }, { cluster: "c", user: "u", context: "c" }),
);
const folder = () => mkdtempSync(join(tmpdir(), "kubelab-cli-"));

describe("invalid arguments: exit 2 before a folder is created or a question is asked", () => {
  const table: readonly [string, readonly string[], RegExp][] = [
    ["a node's name", ["--node", "Node_1"], /cannot be a node's name.*RFC 1123/s],
    [
      "a malformed token",
      ["--token", "abcdef"],
      /token is malformed: it has no dot.*separated by a dot: \[a-z0-9\]\{6\}\.\[a-z0-9\]\{16\}/s,
    ],
    ["a capital in the token", ["--token", "ABCDEF.0123456789abcdef"], /upper-case/],
    ["--server without a token", ["--server", "https://h", "--ca-cert-hash", HASH], /--server needs --token/],
    ["--server without a hash", ["--server", "https://h", "--token", TOKEN], /--server needs --ca-cert-hash/],
    [
      "--server in the clear",
      ["--server", "http://h", "--token", TOKEN, "--ca-cert-hash", HASH],
      /not the address of an API server/,
    ],
    ["a malformed hash", ["--server", "https://h", "--token", TOKEN, "--ca-cert-hash", "abc"], /not the hash of a CA/],
    [
      "a hash that would not be looked at",
      ["--server", "https://h", "--token", TOKEN, "--ca-cert-hash", HASH, "--insecure-skip-tls-verify"],
      /--insecure-skip-tls-verify and --ca-cert-hash contradict each other/,
    ],
    ["a hash without --server", ["--ca-cert-hash", HASH], /--ca-cert-hash is for --server/],
    [
      "--server and --speed",
      ["--server", "https://h", "--token", TOKEN, "--speed", "2"],
      /--server and --speed contradict/,
    ],
    [
      "--server and --cluster",
      ["--server", "https://h", "--token", TOKEN, "--ca-cert-hash", HASH, "--cluster", "mine"],
      /--server and --cluster contradict/,
    ],
    [
      "--server and --approve ask",
      ["--server", "https://h", "--token", TOKEN, "--ca-cert-hash", HASH, "--approve", "ask"],
      /needs an administrator/,
    ],
    [
      "a bootstrap kubeconfig and --server",
      ["--bootstrap-kubeconfig", BOOTSTRAP, "--server", "https://h", "--token", TOKEN, "--ca-cert-hash", HASH],
      /--bootstrap-kubeconfig and --server contradict/,
    ],
    [
      "a bootstrap kubeconfig and --kubeconfig",
      ["--bootstrap-kubeconfig", BOOTSTRAP, "--kubeconfig", "x"],
      /--bootstrap-kubeconfig and --kubeconfig contradict.*own kubeconfig is written to its folder/s,
    ],
    [
      "a bootstrap kubeconfig that is not there",
      ["--bootstrap-kubeconfig", "/none"],
      /kubeconfig \/none does not exist/,
    ],
    ["--approve ask without a terminal", ["--approve", "ask"], /needs a terminal/],
    ["--approve maybe", ["--approve", "maybe"], /auto, ask, manual/],
    ["a folder", ["--dir", ""], /--dir.*expected a path: it is empty/],
    ["a capacity", ["--cpu", "many"], /--cpu "many" is not a quantity/],
    ["a certificate of five minutes", ["--cert-duration", "5m"], /less than 10 minutes/],
    ["a timeout", ["--timeout", "soon"], /duration/],
    ["--speed on a real cluster", ["--kubeconfig", "x", "--speed", "10"], /--speed is for the embedded/],
  ];
  for (const [what, words, sentence] of table) {
    test(`${what}: ${sentence.source}`, async () => {
      const dir = join(folder(), "node");
      const { code, stdout, stderr } = await runInProcess(["bootstrap", ...words, "--dir", dir]);
      assert.equal(code, 2, stderr);
      assert.match(stderr, sentence);
      assert.equal(stdout, "");
      assert.doesNotMatch(stderr, /\bat .*\.[jt]s:\d+/, "never a stack trace");
    });
  }
});

describe("files that cannot be used: exit 2 before any request", () => {
  test("a kubeconfig that was cut off", async () => {
    const path = join(folder(), "config");
    writeFileSync(path, 'apiVersion: v1\nclusters:\n- name: a\n  cluster: {server: "https://h');
    const { code, stderr } = await runInProcess(["bootstrap", "--kubeconfig", path, "--yes"]);
    assert.equal(code, 2);
    assert.match(stderr, /not readable YAML/);
  });

  test("a kubeconfig that is not there", async () => {
    const path = missingPath("file");
    const { code, stderr } = await runInProcess(["bootstrap", "--kubeconfig", path, "--yes"]);
    assert.equal(code, 2);
    assert.ok(stderr.includes(`${path} does not exist`), stderr);
  });

  test("a folder that cannot be written to", async () => {
    const file = join(folder(), "file");
    writeFileSync(file, "");
    const { code, stderr } = await runInProcess(["bootstrap", "--dir", join(file, "node")]);
    assert.equal(code, 2);
    assert.match(stderr, /cannot be written to/);
  });

  test("a key that does not match the certificate; --force starts over", async () => {
    const dir = folder();
    const ca = await makeAuthority();
    const [one, other] = [await makeLeaf(ca), await makeLeaf(ca)];
    writeFileSync(join(dir, "kubelet.key"), one.keyPem);
    writeFileSync(join(dir, "kubelet.pem"), other.certificatePem);
    const refused = await runInProcess(["bootstrap", "--dir", dir]);
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /does not belong to the certificate/);
    const forced = await runInProcess(["bootstrap", "--dir", dir, "--force"]);
    assert.equal(forced.code, 0, forced.stderr);
    assert.deepEqual(readdirSync(dir).sort(), ["kubelet.config", "kubelet.key", "kubelet.pem"]);
  });

  test("the certificate of another real cluster is replaced with --force only", async () => {
    const dir = folder();
    const ca = await makeAuthority();
    const { keyPem, certificatePem } = await makeLeaf(ca, { commonName: "system:node:node-1" });
    const server = "https://10.0.0.1:6443";
    const names = { cluster: "c", user: "u", context: "c" };
    const credentials = { clientCertificatePem: certificatePem, clientKeyPem: keyPem };
    const kubeconfig = kubeconfigText({ server, caPem: ca.certificatePem, ...credentials }, names);
    const files = { "kubelet.key": keyPem, "kubelet.pem": certificatePem, "kubelet.config": kubeconfig };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
    for (const line of [`bootstrap --dir ${dir}`, `lease --dir ${dir}`, `node --root-dir ${dir}`]) {
      const { code, stderr } = await runInProcess(line.split(" "));
      assert.equal(code, 2, stderr);
      assert.match(
        stderr,
        /kubelet\.pem belongs to another cluster at https:\/\/10\.0\.0\.1:6443: CN=test-ca issued it/,
      );
      assert.match(stderr, /kubelab bootstrap --force/);
      for (const [name, text] of Object.entries(files)) assert.equal(readFileSync(join(dir, name), "utf8"), text);
    }
    const forced = await runInProcess(["bootstrap", "--dir", dir, "--force"]);
    assert.equal(forced.code, 0, forced.stderr);
  });

  test("the files of an embedded cluster, which is gone, are replaced", async () => {
    const dir = folder();
    for (let run = 0; run < 2; run++) {
      const { code, stderr } = await runInProcess(["bootstrap", "--dir", dir]);
      assert.equal(code, 0, stderr);
      assert.match(stderr, /yes: bootstrap with a token/);
    }
  });

  test("garbage in kubelet.key is not called another certificate's key", async () => {
    const dir = folder();
    writeFileSync(join(dir, "kubelet.key"), "garbage");
    const { code, stderr } = await runInProcess(["bootstrap", "--dir", dir]);
    assert.equal(code, 2);
    assert.match(stderr.replace(/\s+/g, " "), /cannot be read as a private key.*--force/);
  });

  test("a certificate that was not issued in time: only after --approve manual, the hint is to omit the flag", async () => {
    for (const [flags, hint] of [
      [[], /give more --timeout\.$/m],
      [["--approve", "manual"], /give more --timeout, or leave out --approve manual\.$/m],
    ] as const) {
      const { code, stderr } = await runInProcess(["bootstrap", "--dir", folder(), "--timeout", "0", ...flags]);
      assert.equal(code, 1);
      assert.match(stderr, hint);
    }
  });

  test("a bootstrap that fails leaves no folder behind", async () => {
    const dir = join(folder(), "nodes", "n1");
    const { code } = await runInProcess(["bootstrap", "--kubeconfig", missingPath("file"), "--yes", "--dir", dir]);
    assert.equal(code, 2);
    assert.throws(() => readdirSync(dirname(dir)), { code: "ENOENT" });
  });

  test("a half-written kubelet.config of the node is ignored: it bootstraps", async () => {
    const dir = folder();
    writeFileSync(join(dir, "kubelet.config"), "apiVersion: v1\nkind: Con");
    const { code, stdout, stderr } = await runInProcess(["bootstrap", "--dir", dir, "--json"]);
    assert.equal(code, 0, stderr);
    assert.equal((JSON.parse(stdout) as { skippedBootstrap: boolean }).skippedBootstrap, false);
    assert.match(readFileSync(join(dir, "kubelet.config"), "utf8"), /client-key: kubelet\.key/);
  });

  test.skipIf(process.getuid?.() === 0)("a folder without the right to write (not as root)", async () => {
    const dir = folder();
    mkdirSync(join(dir, "node"));
    chmodSync(join(dir, "node"), 0o500);
    const { code } = await runInProcess(["bootstrap", "--dir", join(dir, "node")]);
    assert.equal(code, 2);
  });
});

describe("tokens that the embedded cluster does not take: 401 explained, exit 4", () => {
  test("an unknown one", async () => {
    const { code, stderr } = await runInProcess(["bootstrap", "--token", TOKEN]);
    assert.equal(code, 4, stderr);
    assert.match(
      stderr.replace(/\s+/g, " "),
      /does not accept the credential \(token abcdef\.\*\*\*\*\): 401.*unknown, has expired/,
    );
    assert.doesNotMatch(stderr, /0123456789abcdef/);
  });
});

describe("not an API server: exit 3, the token is not sent", () => {
  const join3 = (server: string) => ["bootstrap", "--server", server, "--token", TOKEN, "--ca-cert-hash", HASH];
  const table: readonly [string, () => ReturnType<typeof createTcpServer> | ReturnType<typeof createServer>, RegExp][] =
    [
      ["not TLS", () => createServer((_, response) => response.end()), /does not speak TLS/],
      ["a reset", () => createTcpServer((socket) => socket.resetAndDestroy()), /reset the connection/],
    ];
  for (const [what, make, sentence] of table) {
    test(what, async () => {
      const server = make();
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
      try {
        const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
        const { code, stderr } = await runInProcess(join3(url));
        assert.equal(code, 3, stderr);
        assert.match(stderr.replace(/\s+/g, " "), sentence);
      } finally {
        server.close();
      }
    });
  }

  test("refused", async () => {
    const { code, stderr } = await runInProcess(join3("https://127.0.0.1:1"));
    assert.equal(code, 3);
    assert.match(stderr.replace(/\s+/g, " "), /refuses the connection/);
  });

  test("cluster-info is not for strangers: exit 4, nothing secret was sent", async () => {
    await using server = await startHttpsServer(await makeLeaf(await makeAuthority()), () => ({
      status: 403,
      body: status(403, "Forbidden", "anonymous may not"),
    }));
    const { code, stderr } = await runInProcess(join3(server.url));
    assert.equal(code, 4, stderr);
    assert.ok(server.seen.every(({ headers }) => headers.authorization === undefined));
  });
});

describe("a real cluster's release", () => {
  for (const [seen, want] of [
    ["v1.28.3+k3s1", "1.28"],
    ["v1.25.0", "1.25"],
    ["v1.19.16", "1.25"],
    ["v1.99.0", "1.34"],
    ["v0.0.0-master", "1.25"],
    ["", "1.25"],
  ] as const) {
    test(`${seen} is quoted from v${want}`, () => assert.equal(nearestRelease(seen), want));
  }
});

describe("approval", () => {
  test("manual: no approval, the error names the timeout, exit 1; the key stays for the next run", async () => {
    const dir = folder();
    const args = ["bootstrap", "--dir", dir, "--approve", "manual", "--timeout", "20s", "--speed", "100"];
    const { code, stderr } = await runInProcess(args);
    assert.equal(code, 1, stderr);
    assert.match(stderr.replace(/\s+/g, " "), /CSR .* was not approved within 20 s/);
    // A long path is broken over lines.
    assert.match(stderr.replace(/\s+/g, ""), /kubectl--kubeconfig\S+kubelab-admin\.configcertificateapprove/);
    assert.match(stderr.replace(/\s+/g, " "), /wait by watch.*--timeout = 20 s/);
    assert.doesNotMatch(stderr, /bootstrap CSR timeout/);
    assert.match(stderr.replace(/\s+/g, " "), /The request is gone with this control plane/);
    assert.deepEqual(readdirSync(dir), ["kubelet.key"]);
  });

  test("ask with --yes: the administrator approves, not the controller", async () => {
    const { code, stdout, stderr } = await runInProcess([
      "bootstrap",
      "--approve",
      "ask",
      "--yes",
      "--json",
      "-v",
      "2",
    ]);
    assert.equal(code, 0, stderr);
    assert.equal((JSON.parse(stdout) as { ready: boolean }).ready, true);
    assert.match(stderr.replace(/\s+/g, " "), /Approved: KubelabApprove/);
    assert.match(stderr, /Delete Secret/);
  });
});
