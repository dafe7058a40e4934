import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, test } from "vitest";
import { parse } from "yaml";
import { parseSubject } from "../../../src/staging/csr/subject.js";
import { runInProcess } from "../../support/run-cli.js";

const root = mkdtempSync(join(tmpdir(), "kubelab-csr-cli-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let count = 0;
function freshFolder(): string {
  const folder = join(root, `${count++}`);
  mkdirSync(folder);
  return folder;
}
const run = (cwd: string, line: string) => runInProcess(["csr", ...line.split(" ")], { cwd });

describe("wrong usage exits with 2, before anything is created or started", () => {
  for (const [line, said] of [
    ["create", /the certificate needs a subject/],
    ["create --node n1 --cn jane", /exclude each other/],
    ["create --node N1", /"N1" cannot be a node's name/],
    ["create --subject O=x", /does not begin with a slash/],
    ["create --subject /X=x", /known are CN, C, O, OU, L, ST, not X/],
    ["create --subject /CN=a --org b", /--org needs --cn/],
    ["create --cn jane --signer nosuch", /is not a signer's name/],
    ["create --cn jane --usages nonsense", /"nonsense" is not a usage/],
    ["create --node n1 --ip 1.2.3", /is not an IP address/],
    ["create --node n1 --print --approve", /--print sends no request, but --approve needs one/],
    ["create --node n1 --dry-run --wait", /--dry-run sends no request, but --wait needs one/],
    ["create --node n1 --out-dir=", /expected a path: it is empty/],
    ["inspect --ca= x", /expected a path: it is empty/],
    ["create --node n1 --expiration 9m", /540s is too short/],
    ["create --node n1 --expiration soon", /expected a duration/],
    ["create --node n1 --key-type dsa", /Allowed choices are ec, rsa/],
    ["create --node n1 --print --signer example.com/x", /the usual usages of .* are unknown/],
    ["create --cn jane --prefix k/../../x --print", /cannot begin a file's name/],
    ["create --cn jane --prefix k/../../x", /cannot begin a file's name/],
    ["fetch jane-1 --prefix /x", /cannot begin a file's name/],
    ["create --node n1 --dns Bad_Dns", /"Bad_Dns" is not a DNS name/],
    ["approve", /missing required argument/],
    ["inspect nosuch.pem", /there is no file nosuch\.pem/],
    ["inspect ./nosuch", /there is no file \.\/nosuch/],
    ["inspect .", /it is a folder/],
  ] as const) {
    test(`csr ${line}`, async () => {
      const folder = freshFolder();
      const { code, stdout, stderr } = await run(folder, line);
      assert.equal(code, 2, stderr);
      assert.match(stderr, said);
      assert.equal(stdout, "");
      assert.doesNotMatch(stderr, /\n\s+at /, "no stack trace");
      assert.deepEqual(readdirSync(folder), []);
    });
  }
});

describe("on this machine alone", () => {
  test("--print: the object on stdout, key and request in files; inspect reads all three", async () => {
    const folder = freshFolder();
    const printed = await run(folder, "create --node n1 --print --name csr-1 --expiration 1h");
    assert.equal(printed.code, 0, printed.stderr);
    const object = parse(printed.stdout);
    assert.equal(object.kind, "CertificateSigningRequest");
    assert.deepEqual(object.metadata, { name: "csr-1" });
    assert.equal(object.spec.expirationSeconds, 3600);
    assert.equal(
      Buffer.from(object.spec.request, "base64").toString(),
      readFileSync(join(folder, "kubelet.csr"), "utf8"),
    );
    assert.deepEqual(readdirSync(folder).sort(), ["kubelet.csr", "kubelet.key"]);

    writeFileSync(join(folder, "csr.yaml"), printed.stdout);
    for (const file of ["kubelet.csr", "csr.yaml"]) {
      const { code, stdout } = await run(folder, `inspect ${file}`);
      assert.equal(code, 0);
      assert.match(stdout, /kubernetes\.io\/kube-apiserver-client-kubelet: yes/);
      assert.match(stdout, /kubernetes\.io\/kubelet-serving: NO/);
    }
    const key = await run(folder, "inspect kubelet.key");
    assert.equal(key.code, 2);
    assert.match(key.stderr, /contains a private key, which is not shown/);
  });

  test("--dry-run writes nothing, and --json is one document", async () => {
    const folder = freshFolder();
    const { code, stdout } = await run(folder, "create --cn jane --org devs,admins --org ops --dry-run --json");
    assert.equal(code, 0);
    assert.equal(JSON.parse(stdout).spec.signerName, "kubernetes.io/kube-apiserver-client");
    assert.deepEqual(readdirSync(folder), []);
  });

  test("a folder that cannot be written to: exit 2, nothing sent", async () => {
    const folder = freshFolder();
    writeFileSync(join(folder, "file"), "");
    const { code, stderr } = await run(folder, "create --node n1 --print --out-dir file/inside");
    assert.equal(code, 2);
    assert.match(stderr, /cannot (read|write) .*kubelet\.key: a part of the path is a file/);
  });

  test("a damaged request is shown up to the damage", async () => {
    const folder = freshFolder();
    await run(folder, "create --node n1 --print");
    const pem = readFileSync(join(folder, "kubelet.csr"), "utf8").split("\n");
    writeFileSync(join(folder, "cut.pem"), [...pem.slice(0, 3), "-----END CERTIFICATE REQUEST-----", ""].join("\n"));
    const { code, stdout, stderr } = await run(folder, "inspect cut.pem");
    assert.equal(code, 2);
    assert.match(stdout, /broken +asn1: syntax error: data truncated/);
    assert.match(stderr.replace(/\s+/g, " "), /cut\.pem is broken: asn1: syntax error/);

    // Without its END line, and as DER, it is still called what it is.
    writeFileSync(join(folder, "no-end.pem"), pem.slice(0, 3).join("\n"));
    writeFileSync(join(folder, "cut.der"), Buffer.from(pem.slice(1, 4).join(""), "base64"));
    for (const file of ["no-end.pem", "cut.der"]) {
      const cut = await run(folder, `inspect ${file}`);
      assert.equal(cut.code, 2);
      assert.match(cut.stdout, /a certificate signing request \(PKCS#10\)\n +broken/);
      assert.match(cut.stdout, /SEQUENCE/);
    }
  });

  test("inspect refuses flags that do not apply to the file it reads", async () => {
    const folder = freshFolder();
    const made = await run(folder, "create --node n1 --approve --wait");
    assert.equal(made.code, 0, made.stderr);
    for (const [line, said] of [
      ["inspect kubelet.csr --ca kubelet.pem", /--ca is for a certificate, but kubelet\.csr is a request/],
      ["inspect kubelet.pem --usages any", /--usages is for a request, but kubelet\.pem is a certificate/],
    ] as const) {
      const { code, stdout, stderr } = await run(folder, line);
      assert.match(stderr, said, line);
      assert.deepEqual([code, stdout], [2, ""], line);
    }
    const { code, stderr } = await run(folder, "inspect kubelet.csr --cluster c");
    assert.match(stderr.replaceAll(/\s+/g, " "), /kubelet\.csr is a local file: --cluster has no effect/);
    assert.equal(code, 0);
  });

  test("inspect - reads standard input", async () => {
    const folder = freshFolder();
    await run(folder, "create --node n1 --print");
    const stdin = readFileSync(join(folder, "kubelet.csr"));
    const { code, stdout, stderr } = await runInProcess(["csr", "inspect", "-"], { cwd: folder, stdin });
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^standard input: a certificate signing request/);
  });

  test("a group that admission refuses is warned of before anything is sent", async () => {
    const { stderr } = await run(freshFolder(), "create --cn root --org system:masters --print");
    assert.match(stderr.replace(/\s+/g, " "), /admission will refuse to create this object/);
  });
});

describe("subjects as openssl writes them", () => {
  for (const [text, commonName, organization] of [
    ["/O=system:nodes/CN=system:node:n1", "system:node:n1", ["system:nodes"]],
    ["/CN=jane/O=devs/O=ops", "jane", ["devs", "ops"]],
    ["/CN=a\\/b\\\\c", "a/b\\c", []],
    ["/O=x", "", ["x"]],
  ] as const) {
    test(text, () => assert.deepEqual(parseSubject(text), { commonName, organization }));
  }
});
