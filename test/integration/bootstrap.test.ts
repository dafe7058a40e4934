import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadKubeconfig } from "../../src/staging/client-go/clientcmd/kubeconfig.js";
import { kubeconfigText } from "../../src/staging/client-go/clientcmd/kubeconfig-text.js";
import type { TraceEvent } from "../../src/trace/events.js";
import { CliProcess, newHome, runCliProcess } from "../support/cli-process.js";
import { isTooWide } from "../support/rendered-widths.js";
import { suiteNeeding } from "../support/requirements.js";

interface BootstrapJson {
  readonly node: string;
  readonly server: string;
  readonly ready: boolean;
  readonly skippedBootstrap: boolean;
  readonly csr: string | null;
  readonly files: { readonly key: string; readonly certificate: string; readonly kubeconfig: string };
}

describe("kubelab bootstrap on a control plane of its own", () => {
  test("one command joins a node: result on stdout, trace on stderr, three files", async () => {
    const home = newHome();
    const { code, stdout, stderr } = await runCliProcess(home, "bootstrap", "--node", "n1", "--json");
    assert.equal(code, 0, stderr);
    const result = JSON.parse(stdout) as BootstrapJson;
    assert.deepEqual([result.node, result.ready, result.skippedBootstrap], ["n1", true, false]);
    assert.equal(statSync(result.files.key).mode & 0o777, 0o600);
    for (const step of [
      "Request a certificate for O=system:nodes, CN=system:node:n1",
      "Register node n1",
      "Renew the Lease",
    ]) {
      assert.ok(stderr.replace(/\s+/g, " ").includes(step), `no step "${step}" in\n${stderr}`);
    }
    assert.deepEqual(
      stderr.split("\n").filter((line) => isTooWide(line, 80)),
      [],
    );
    assert.ok(!stderr.includes("\u001b"), "no colour without a terminal");
  });

  test("the trace file has each request with its cause, and no secret", async () => {
    const home = newHome();
    const { code, stderr } = await runCliProcess(
      home,
      "bootstrap",
      "--node",
      "n1",
      "-v",
      "4",
      "--trace",
      "trace.ndjson",
    );
    assert.equal(code, 0, stderr);
    const text = readFileSync(join(home, "trace.ndjson"), "utf8");
    const events = text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as TraceEvent);
    assert.deepEqual(
      events.map(({ seq }) => seq),
      events.map((_, i) => i + 1),
    );
    const post = events.find((event) => event.kind === "request" && event.path.endsWith("/certificatesigningrequests"));
    const cause = events.find((event) => event.id === post?.causedBy);
    assert.match(cause?.kind === "step" ? cause.title : "", /Request a certificate/);
    for (const output of [text, stderr]) {
      assert.doesNotMatch(output, /\b[a-z0-9]{6}\.[a-z0-9]{16}\b/);
      assert.doesNotMatch(output, /PRIVATE KEY-----\n?[A-Za-z0-9]/);
      assert.doesNotMatch(output, /"token-secret":"(?!\*)/);
    }
  });

  test("nothing is left of it: no state, no temporary files", async () => {
    const home = newHome();
    const { code } = await runCliProcess(home, "bootstrap", "--node", "n1", "--dir", "node");
    assert.equal(code, 0);
    assert.deepEqual(readdirSync(join(home, "node")).sort(), ["kubelet.config", "kubelet.key", "kubelet.pem"]);
    assert.deepEqual(readdirSync(home), ["node"]);
  });
});

/** A kill at each of these lines of the trace leaves the node another stretch of the way behind. */
const moments = [
  ["the key is made", /private key\s+generated/],
  ["the request is sent", /POST\s+\/apis\/certificates/],
  ["the certificate is awaited", /Watch CSR/],
  ["the certificate is stored", /kubelet\.pem: file\s+written/],
  ["the kubeconfig is written", /Test the new identity/],
  ["the node is registered", /object registered/],
  ["the node is Ready", /Renew the Lease/],
] as const;

suiteNeeding(["kubectl", "openssl"], "kubelab bootstrap on a running cluster", () => {
  const home = newHome();
  const kubeconfig = join(home, "state", "kubelab", "clusters", "kubelab.kubeconfig");
  const kubectl = (...args: string[]) =>
    execFileSync("kubectl", ["--kubeconfig", kubeconfig, ...args], {
      encoding: "utf8",
      env: { ...process.env, HOME: home },
    });

  beforeAll(async () => {
    const up = await runCliProcess(home, "cluster", "up", "--detach");
    expect(up.code, up.stderr).toBe(0);
  });
  afterAll(async () => {
    const down = await runCliProcess(home, "cluster", "down");
    expect(down.code, down.stderr).toBe(0);
  });

  for (const [i, [name, line]] of moments.entries()) {
    test(`killed when ${name}, the next run continues`, async () => {
      const node = `killed-${i}`;
      const args = ["bootstrap", "--node", node, "--dir", node, "-v", "2"];
      const first = new CliProcess(home, args);
      await first.printed(line);
      const { signal } = await first.kill("SIGKILL");
      assert.equal(signal, "SIGKILL");
      const keyBefore = keyOf(join(home, node));
      const second = await runCliProcess(home, ...args, "--json");
      assert.equal(second.code, 0, second.stderr);
      const result = JSON.parse(second.stdout) as BootstrapJson;
      assert.equal(result.ready, true);
      if (keyBefore !== undefined)
        assert.equal(keyOf(join(home, node)), keyBefore, "the key is the one of the first run");
      const requests = kubectl(
        "get",
        "csr",
        "-o",
        "jsonpath={range .items[*]}{.spec.username} {.metadata.name}{'\\n'}{end}",
      );
      assert.ok(requests.includes("system:bootstrap:"));
      assert.match(kubectl("get", "node", node, "--no-headers"), /\sReady\s/);
      assert.deepEqual(readdirSync(join(home, node)).sort(), ["kubelet.config", "kubelet.key", "kubelet.pem"]);
    });
  }

  test("run again, it skips bootstrap: the kubeconfig is valid; --force gets a new certificate", async () => {
    const args = ["bootstrap", "--node", "twice", "--dir", "twice", "--json"];
    const runs = [
      await runCliProcess(home, ...args),
      await runCliProcess(home, ...args),
      await runCliProcess(home, ...args, "--force"),
    ];
    for (const { code, stderr } of runs) assert.equal(code, 0, stderr);
    const [first, again, forced] = runs.map(({ stdout }) => JSON.parse(stdout) as BootstrapJson);
    assert.deepEqual(
      [first?.skippedBootstrap, again?.skippedBootstrap, forced?.skippedBootstrap],
      [false, true, false],
    );
    assert.notEqual(forced?.csr, first?.csr);
  });

  test("under the name of a Node that is Ready, from another folder: refused, exit 4, nothing is taken over", async () => {
    const args = ["bootstrap", "--node", "taken", "--json"];
    const first = await runCliProcess(home, ...args, "--dir", "taken");
    assert.equal(first.code, 0, first.stderr);
    const requests = () => kubectl("get", "csr", "-o", "name");
    const before = requests();
    for (const approve of ["auto", "manual"]) {
      const second = await runCliProcess(home, ...args, "--dir", "other", "--approve", approve);
      assert.equal(second.code, 4, second.stderr);
      assert.match(second.stderr.replace(/\s+/g, " "), /the cluster already has a Ready Node taken/);
    }
    assert.equal(requests(), before);
    kubectl("delete", "node", "taken");
    const third = await runCliProcess(home, ...args, "--dir", "other");
    assert.equal(third.code, 0, third.stderr);
  });

  test("a folder with an old address of the cluster uses the given one, and stores it", async () => {
    const args = ["bootstrap", "--node", "moved", "--dir", "moved", "--json"];
    const first = await runCliProcess(home, ...args);
    assert.equal(first.code, 0, first.stderr);
    const path = join(home, "moved", "kubelet.config");
    const before = readFileSync(path, "utf8");
    writeFileSync(path, before.replace(/server: .*/, "server: https://127.0.0.1:1"));
    const second = await runCliProcess(home, ...args);
    assert.equal(second.code, 0, second.stderr);
    const { skippedBootstrap, server } = JSON.parse(second.stdout) as BootstrapJson;
    assert.deepEqual([skippedBootstrap, server], [true, (JSON.parse(first.stdout) as BootstrapJson).server]);
    assert.equal(readFileSync(path, "utf8"), before);
  });

  test("openssl verifies the certificate against the CA, and reads the node's name in it", async () => {
    const { code, stderr } = await runCliProcess(home, "bootstrap", "--node", "ssl", "--dir", "ssl");
    assert.equal(code, 0, stderr);
    const ca = kubectl("get", "cm", "-n", "kube-public", "kube-root-ca.crt", "-o", "jsonpath={.data.ca\\.crt}");
    writeFileSync(join(home, "ca.crt"), ca);
    const pem = join(home, "ssl", "kubelet.pem");
    const verified = execFileSync(
      "openssl",
      ["verify", "-purpose", "sslclient", "-CAfile", join(home, "ca.crt"), pem],
      { encoding: "utf8" },
    );
    assert.match(verified, /: OK/);
    const subject = execFileSync("openssl", ["x509", "-in", pem, "-noout", "-subject"], { encoding: "utf8" });
    assert.match(subject, /O ?= ?system:nodes.*CN ?= ?system:node:ssl/);
  });

  test("by --server, --token and --ca-cert-hash, as on a machine that knows nothing else", async () => {
    const token = await runCliProcess(home, "token", "create", "--print-join-command");
    const words = token.stdout.trim().split(" ").slice(1);
    const { code, stdout, stderr } = await runCliProcess(home, ...words, "--node", "far", "--dir", "far", "--json");
    assert.equal(code, 0, stderr);
    assert.equal((JSON.parse(stdout) as BootstrapJson).ready, true);
  });

  for (const [flag, more] of [
    ["--kubeconfig", "a kubeconfig with only a bootstrap token does the same"],
    ["--bootstrap-kubeconfig", "as a kubelet"],
  ] as const) {
    test(`by ${flag}: ${more}, the node asks with the token and waits for its certificate`, async () => {
      const name = `by${flag.slice(1)}`;
      const { stdout: token } = await runCliProcess(home, "token", "create");
      const { caPem, server } = (await loadKubeconfig(kubeconfig)).config;
      const file = join(home, `${name}.kubeconfig`);
      writeFileSync(
        file,
        kubeconfigText(
          { server, token: token.trim(), ...(caPem === undefined ? {} : { caPem }) },
          { cluster: "c", user: "bootstrap", context: "c" },
        ),
      );
      const flags = [flag, file, "--node", name, "--dir", name, "--json", "-v", "2"];
      const { code, stdout, stderr } = await runCliProcess(home, "bootstrap", ...flags);
      assert.equal(code, 0, stderr);
      const { ready, csr } = JSON.parse(stdout) as BootstrapJson;
      assert.equal(ready, true);
      assert.match(csr ?? "", /^node-csr-/);
      assert.match(stderr, /POST\s+\/apis\/certificates\.k8s\.io\/v1\/certificatesigningrequests/);
      assert.doesNotMatch(stderr, /\/secrets/);
    });
  }

  test("kubelab node --server prints a kubectl line that works: it has the node's own rights", async () => {
    const token = await runCliProcess(home, "token", "create", "--print-join-command");
    const words = token.stdout.trim().split(" ").slice(2);
    const node = new CliProcess(home, ["node", ...words, "--node", "further", "--port", "0"]);
    await node.printed(/^kubectl .*\n/m);
    const { code, stdout, stderr } = await node.kill("SIGINT");
    assert.equal(code, 130, stderr);
    assert.match(stdout, /^kubectl --kubeconfig \S+\/further\/kubelet\.config\n$/);
    const [, ...args] = stdout.trim().split(" ");
    const seen = execFileSync("kubectl", [...args, "get", "node", "further", "-o", "name"], { encoding: "utf8" });
    assert.equal(seen, "node/further\n");
  });

  test("a wrong CA hash: exit 3, nothing written, the token not sent", async () => {
    const token = await runCliProcess(home, "token", "create", "--print-join-command");
    const words = token.stdout
      .trim()
      .replace(/sha256:\w+/, `sha256:${"0".repeat(64)}`)
      .split(" ")
      .slice(1);
    const { code, stdout, stderr } = await runCliProcess(home, ...words, "--node", "bad", "--dir", "bad", "-v", "2");
    assert.equal(code, 3, stderr);
    assert.equal(stdout, "");
    assert.doesNotMatch(stderr, /as token/);
  });

  test("--approve manual prints the kubectl line and waits; kubectl approves", async () => {
    const run = new CliProcess(home, ["bootstrap", "--node", "manual", "--dir", "manual", "--approve", "manual"]);
    await run.printed(/kubectl.*certificate approve\s+node-csr-\S+/s);
    const pending = kubectl("get", "csr", "--no-headers")
      .split("\n")
      .find((line) => line.includes("Pending"))
      ?.split(/\s+/)[0];
    kubectl("certificate", "approve", pending ?? "none is pending");
    const { code, stderr } = await run.ended;
    assert.equal(code, 0, stderr);
  });

  test("denied by kubectl: exit 4 with the controller's message", async () => {
    const run = new CliProcess(home, ["bootstrap", "--node", "denied", "--dir", "denied", "--approve", "manual"]);
    await run.printed(/kubectl.*certificate approve\s+node-csr-\S+/s);
    const pending = kubectl("get", "csr", "--no-headers")
      .split("\n")
      .find((line) => line.includes("Pending"))
      ?.split(/\s+/)[0];
    kubectl("certificate", "deny", pending ?? "none is pending");
    const { code, stderr } = await run.ended;
    assert.equal(code, 4, stderr);
    assert.match(stderr, /denied/);
  });

  test("Ctrl-C during the wait: exit 130, and the next run continues with the same request", async () => {
    const args = ["bootstrap", "--node", "again", "--dir", "again", "--approve", "manual"];
    const run = new CliProcess(home, args);
    await run.printed(/certificate approve/);
    assert.equal((await run.kill("SIGINT")).code, 130);
    const second = new CliProcess(home, args);
    await second.printed(/continue with CSR/);
    const pending = kubectl("get", "csr", "--no-headers")
      .split("\n")
      .filter((line) => line.includes("Pending"));
    assert.equal(pending.length, 1);
    kubectl("certificate", "approve", pending[0]?.split(/\s+/)[0] ?? "");
    assert.equal((await second.ended).code, 0);
  });

  test("kubectl describes the node; its own identity may read it and no other's secrets", () => {
    assert.match(kubectl("describe", "node", "ssl"), /KubeletReady/);
    assert.equal(
      kubectl("auth", "can-i", "get", "nodes/ssl", "--as", "system:node:ssl", "--as-group", "system:nodes").trim(),
      "yes",
    );
    assert.throws(() =>
      kubectl("auth", "can-i", "list", "secrets", "--as", "system:node:ssl", "--as-group", "system:nodes"),
    );
    assert.match(kubectl("get", "lease", "-n", "kube-node-lease"), /ssl\s+ssl/);
  });
});

function keyOf(folder: string): string | undefined {
  try {
    return readFileSync(join(folder, "kubelet.key"), "utf8");
  } catch {
    return undefined;
  }
}
