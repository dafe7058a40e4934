import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import type { ControlPlane } from "../../src/cluster/control-plane/control-plane.js";
import { startControlPlane } from "../../src/cluster/control-plane/start.js";
import { kubeconfigText } from "../../src/staging/client-go/clientcmd/kubeconfig-text.js";
import { certificateProblem, parseCertificatePem } from "../../src/staging/pki/certificate.js";
import { keyMatchesCertificate } from "../../src/staging/pki/keys.js";
import { Trace } from "../../src/trace/trace.js";
import { SystemClock } from "../../src/util/clock.js";
import { SystemRandom } from "../../src/util/random.js";
import { runInProcess } from "../support/run-cli.js";

const root = mkdtempSync(join(tmpdir(), "kubelab-csr-cluster-"));
const kubeconfig = join(root, "admin.conf");
const clock = new SystemClock();
let cluster: ControlPlane;

beforeAll(async () => {
  cluster = await startControlPlane({
    clock,
    random: new SystemRandom(),
    trace: new Trace(clock),
    kubeVersion: "1.25",
  });
  writeFileSync(kubeconfig, kubeconfigText(cluster.admin, { cluster: "c", user: "admin", context: "c" }));
});
afterAll(async () => {
  await cluster.close();
  rmSync(root, { recursive: true, force: true });
});

let count = 0;
function freshFolder(): string {
  const folder = join(root, `${count++}`);
  mkdirSync(folder);
  return folder;
}
/** On the running cluster, as if it were a real one. */
const run = (cwd: string, line: string) =>
  runInProcess(["csr", ...line.split(" "), "--kubeconfig", kubeconfig, "--yes"], { cwd });

function issuedPair(folder: string) {
  const certificatePem = readFileSync(join(folder, "kubelet.pem"), "utf8");
  assert.ok(keyMatchesCertificate(readFileSync(join(folder, "kubelet.key"), "utf8"), certificatePem));
  assert.equal(statSync(join(folder, "kubelet.key")).mode & 0o777, 0o600);
  return parseCertificatePem(certificatePem);
}

describe("the whole round on one embedded control plane", () => {
  for (const [flags, subject, usages] of [
    ["--node n1", "system:node:n1 system:nodes", "digital signature,client auth"],
    ["--node n1 --key-type rsa", "system:node:n1 system:nodes", "digital signature,key encipherment,client auth"],
    [
      "--node n1 --signer kubelet-serving --dns n1 --ip 127.0.0.1",
      "system:node:n1 system:nodes",
      "digital signature,server auth",
    ],
    ["--cn jane --org devs,ops", "jane ops devs", "digital signature,client auth"],
  ] as const) {
    test(`csr create ${flags} --approve --wait`, async () => {
      const folder = freshFolder();
      const line = `create ${flags} --approve --wait`;
      const { code, stdout, stderr } = await runInProcess(["csr", ...line.split(" ")], { cwd: folder });
      assert.equal(code, 0, stderr);
      assert.match(stdout, /^csr-[a-z0-9]{5}\n.*kubelet\.key\n.*kubelet\.pem\n(?:.*kubelet\.config\n)?$/);
      assert.equal(stdout.includes("kubelet.config"), !flags.includes("serving"), flags);
      const certificate = issuedPair(folder);
      const { commonName, organization } = certificate.subject;
      assert.equal([commonName, ...organization].join(" "), subject);
      assert.equal([...certificate.keyUsages, ...certificate.extendedKeyUsages].join(","), usages);
      assert.doesNotMatch(stderr, /PRIVATE KEY/);
    });
  }

  test("without --wait it warns that the control plane ends with the command", async () => {
    const { code, stderr } = await runInProcess(["csr", "create", "--node", "n1"], { cwd: freshFolder() });
    assert.equal(code, 0, stderr);
    assert.match(stderr.replace(/\s+/g, " "), /This control plane ends with this command/);
  });

  test("a misshapen request is approved and still not signed: exit 4, the signer's words", async () => {
    const folder = freshFolder();
    const line = "create --node n1 --dns n1 --approve --wait";
    const { code, stderr } = await runInProcess(["csr", ...line.split(" ")], { cwd: folder });
    assert.equal(code, 4);
    assert.match(stderr, /SignerValidationFailure: DNS subjectAltNames are not allowed/);
    assert.deepEqual(readdirSync(folder).sort(), ["kubelet.csr", "kubelet.key"]);
  });
});

describe("step by step on a running cluster", () => {
  test("create, inspect, approve, fetch: the certificate is the CA's and fits the key", async () => {
    const folder = freshFolder();
    const created = await run(folder, "create --cn jane --name jane-1 --expiration 10m");
    assert.equal(created.code, 0, created.stderr);
    assert.equal(created.stdout, "jane-1\n");

    const pending = await run(folder, "inspect jane-1");
    assert.match(pending.stdout, /state +Pending/);
    assert.match(pending.stdout, /requester +kubernetes-admin/);

    const timedOut = await run(folder, "fetch jane-1 --timeout 50ms");
    assert.equal(timedOut.code, 1);
    assert.match(timedOut.stderr, /CSR jane-1 was not approved/);
    const said = timedOut.stderr.replace(/\s+/g, " ");
    assert.match(said, /kubelab csr approve jane-1 --kubeconfig \S/);
    assert.doesNotMatch(said, /same command again/);

    const approved = await run(folder, "approve jane-1 --reason Because --message ok");
    assert.equal(approved.stdout, "CSR jane-1 approved\n", approved.stderr);
    assert.equal((await run(folder, "approve jane-1")).stdout, "CSR jane-1 was approved before\n");

    const fetched = await run(folder, "fetch jane-1");
    assert.equal(fetched.code, 0, fetched.stderr);
    assert.equal(fetched.stdout, `${join(folder, "kubelet.pem")}\n${join(folder, "kubelet.config")}\n`);
    const certificate = issuedPair(folder);
    const issuer = parseCertificatePem(cluster.caPem);
    assert.equal(certificateProblem(certificate, { issuer, nowMs: clock.now(), purpose: "client auth" }), undefined);
    assert.equal((certificate.notAfterMs - certificate.notBeforeMs) / 1000, 900);

    writeFileSync(join(folder, "ca.pem"), cluster.caPem);
    const inspected = await run(folder, "inspect kubelet.pem --ca ca.pem");
    assert.match(inspected.stdout, /verified +signed by OU=kubelab, CN=kubernetes/);
    const issued = await run(folder, "inspect jane-1 --json");
    const facts = new Map<string, string>(JSON.parse(issued.stdout).facts);
    assert.equal(facts.get("state"), "Approved,Issued");
    assert.equal(facts.get("Approved"), "Because: ok");
  });

  test("the suggested next command keeps the flags; by hand, it is for kubectl", async () => {
    const folder = freshFolder();
    const flat = (text: string) => text.replace(/\s+/g, "");
    const jane = await run(folder, "create --cn jane --name jane-2 --prefix jane --out-dir keys");
    const hint = `kubelab csr fetch jane-2 --out-dir keys --prefix jane --kubeconfig ${kubeconfig}`;
    assert.ok(flat(jane.stderr).includes(flat(hint)), jane.stderr);
    assert.ok(flat(jane.stderr).includes(flat(`kubelab csr approve jane-2 --kubeconfig ${kubeconfig}`)));
    assert.ok(flat(jane.stderr).includes(flat("equivalent command: kubectl create -f - <<EOF")));
    assert.match(jane.stderr, /metadata: \{name: jane-2\}/);

    const other = await run(folder, "fetch jane-2 --prefix jane --timeout 50ms");
    assert.equal(other.code, 1, "no key there: it waits");
    await run(folder, "create --cn other --name other-1");
    const mismatch = await run(folder, "fetch jane-2 --timeout 50ms");
    assert.equal(mismatch.code, 2);
    assert.match(flat(mismatch.stderr), /--out-dir.*--prefix/);

    const approved = await run(folder, "approve jane-2");
    assert.match(approved.stderr.replace(/\s+/g, " "), /equivalent command: kubectl certificate approve jane-2/);
    const fetched = await run(folder, "fetch jane-2 --prefix jane --out-dir keys");
    assert.ok(
      flat(fetched.stderr).includes(flat("kubectl get csr jane-2 -o jsonpath='{.status.certificate}' | base64 -d >")),
    );

    const node = await run(freshFolder(), "create --node n5 --name n5-1");
    assert.doesNotMatch(node.stderr, /csr approve/);
    assert.match(node.stderr, /csr fetch n5-1/);
  });

  test("created again with the same key and name, it continues; with another key it is refused", async () => {
    const folder = freshFolder();
    assert.equal((await run(folder, "create --cn joe --name joe-1")).code, 0);
    const again = await run(folder, "create --cn joe --name joe-1");
    assert.equal(again.code, 0, again.stderr);
    const other = await run(freshFolder(), "create --cn joe --name joe-1");
    assert.equal(other.code, 4);
    assert.match(other.stderr, /CSR joe-1 exists already, for another key or signer/);
  });

  test("denied: fetch ends with 4 and the words; approving afterwards is refused", async () => {
    const folder = freshFolder();
    await run(folder, "create --cn eve --name eve-1");
    assert.equal((await run(folder, "deny eve-1 --reason No --message never")).stdout, "CSR eve-1 denied\n");
    const fetched = await run(folder, "fetch eve-1");
    assert.equal(fetched.code, 4);
    assert.match(fetched.stderr, /CSR eve-1 was denied: No: never/);
    const approved = await run(folder, "approve eve-1");
    assert.equal(approved.code, 4);
    assert.match(approved.stderr, /was denied already/);
  });

  test("if the second of two is refused, the error reports the first", async () => {
    await run(freshFolder(), "create --cn ann --name ann-1");
    const { code, stdout, stderr } = await run(freshFolder(), "approve ann-1 nosuch");
    assert.equal(code, 4, stderr);
    assert.equal(stdout, "CSR ann-1 approved\n");
    assert.match(stderr, /there is no CSR nosuch/);
  });

  for (const [line, said] of [
    ["inspect nosuch", /there is no CSR nosuch/],
    ["approve nosuch", /there is no CSR nosuch/],
    ["fetch nosuch", /there is no CSR nosuch/],
    [
      "create --cn root --org system:masters",
      /use of kubernetes\.io\/kube-apiserver-client signer with system:masters group is not allowed/,
    ],
    ["create --cn jane --name a/b", /may not contain '\/'/],
  ] as const) {
    test(`the cluster refuses: csr ${line}`, async () => {
      const { code, stderr } = await run(freshFolder(), line);
      assert.equal(code, 4, stderr);
      assert.match(stderr, said);
    });
  }

  test("No at the prompt: nothing was changed, exit 1", async () => {
    const words = ["csr", "create", "--cn", "jane", "--kubeconfig", kubeconfig];
    const folder = freshFolder();
    const { code, stderr } = await runInProcess(words, { cwd: folder, typed: "n\r" });
    assert.equal(code, 1, stderr);
    assert.match(stderr, /nothing was changed/);
    assert.deepEqual(readdirSync(folder), []);
  });

  test("without --yes and without a terminal nothing is written to a real cluster: exit 2", async () => {
    const words = ["csr", "create", "--cn", "jane", "--kubeconfig", kubeconfig];
    const { code, stderr } = await runInProcess(words, { cwd: freshFolder() });
    assert.equal(code, 2);
    assert.match(stderr, /--yes/);
  });
});
