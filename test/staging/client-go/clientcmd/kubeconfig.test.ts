import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { beforeAll, describe, test } from "vitest";
import { parse } from "yaml";
import { loadKubeconfig, loadRealKubeconfig } from "../../../../src/staging/client-go/clientcmd/kubeconfig.js";
import { kubeconfigText } from "../../../../src/staging/client-go/clientcmd/kubeconfig-text.js";
import type { AskingHeaders, RestConfig } from "../../../../src/staging/client-go/rest/client.js";
import { identityInWords } from "../../../../src/staging/client-go/rest/identity.js";
import type { LabError } from "../../../../src/util/errors.js";
import { makeAuthority, makeLeaf } from "../../../support/https-server.js";

let folder: string;
let caPem: string;
let pair: { keyPem: string; certificatePem: string };
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "kubelab-kubeconfig-"));
  const ca = await makeAuthority();
  caPem = ca.certificatePem;
  pair = await makeLeaf(ca);
  await writeFile(join(folder, "node.pem"), pair.certificatePem);
  await writeFile(join(folder, "node.key"), pair.keyPem);
});

async function file(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

const NAMES = { cluster: "c", user: "u", context: "x" };
const b64 = (text: string) => Buffer.from(text).toString("base64");

function entry(name: string, server: string, user = "token: t"): string {
  return `apiVersion: v1\nkind: Config\nclusters:\n- name: ${name}\n  cluster: {server: "${server}"}\nusers:\n- name: ${name}\n  user: {${user}}\ncontexts:\n- name: ${name}\n  context: {cluster: ${name}, user: ${name}}\ncurrent-context: ${name}\n`;
}

describe("a kubeconfig that was written can be read", () => {
  for (const [what, config] of [
    ["a token", () => ({ server: "https://h:6443", caPem, token: "abcdef.0123456789abcdef" })],
    [
      "certificates inside",
      () => ({ server: "https://h:1", caPem, clientCertificatePem: pair.certificatePem, clientKeyPem: pair.keyPem }),
    ],
    ["no verification", () => ({ server: "https://[::1]:1", insecureSkipTlsVerify: true, token: "t" })],
    ["a server name", () => ({ server: "https://h", caPem, tlsServerName: "kubernetes" })],
  ] as const) {
    test(what, async () => {
      const path = await file("written.config", kubeconfigText(config(), NAMES));
      assert.deepEqual(await loadKubeconfig(path), { config: config(), contextName: "x" });
    });
  }

  test("credential files in the same folder, by relative names", async () => {
    const config = { server: "https://h", caPem, clientCertificatePem: "not used", clientKeyPem: "not used" };
    const files = { clientCertificate: "node.pem", clientKey: "node.key" };
    const text = kubeconfigText(config, NAMES, files);
    assert.doesNotMatch(text, /not used|PRIVATE/);
    const { config: read } = await loadKubeconfig(await file("files.config", text));
    assert.equal(read.clientKeyPem, pair.keyPem);
    assert.equal(read.clientCertificatePem, pair.certificatePem);
  });

  test("names that YAML could misread are quoted", () => {
    for (const name of ["true", "null", "1", "a: b", "- x", "on", "@y", "kind-kind"]) {
      const text = kubeconfigText({ server: "https://h" }, { cluster: name, user: name, context: name });
      const document = parse(text) as { "current-context": unknown; contexts: { context: { cluster: unknown } }[] };
      assert.equal(document["current-context"], name);
      assert.equal(document.contexts[0]?.context.cluster, name);
    }
  });
});

describe("unusable files give an error before any request", () => {
  const table: readonly [string, () => string, RegExp][] = [
    ["empty", () => "", /is empty/],
    ["cut off inside a string", () => 'clusters: [{name: "a', /not readable YAML/],
    ["cut off JSON", () => '{"clusters": [', /not readable YAML/],
    ["something else", () => "hello", /is not a kubeconfig/],
    ["no kubeconfig", () => "a: 1", /is not a kubeconfig/],
    ["cut off before the contexts", () => entry("a", "https://h").split("contexts:")[0] ?? "", /no current-context/],
    [
      "an unknown current-context",
      () => entry("a", "https://h").replace("current-context: a", "current-context: b"),
      /has no context "b" \(it has: a\)/,
    ],
    ["a missing cluster", () => entry("a", "https://h").replace("{cluster: a", "{cluster: b"), /has no cluster "b"/],
    ["a missing user", () => entry("a", "https://h").replace("user: a}", "user: b}"), /has no user "b"/],
    ["no server", () => entry("a", "https://h").replace('{server: "https://h"}', "{}"), /has no server/],
    ["clusters that are not a list", () => "clusters: x\ncontexts: []", /has no list of clusters/],
    [
      "half a certificate",
      () =>
        entry(
          "a",
          "https://h",
          `client-certificate-data: ${b64("-----BEGIN CERTIFICATE-----\nMII")}, client-key-data: ${b64("x")}`,
        ),
      /client-certificate-data that is cut off/,
    ],
    [
      "a key without certificate",
      () => entry("a", "https://h", "client-key: node.key"),
      /only one of client-certificate and client-key/,
    ],
    [
      "a missing file",
      () => entry("a", "https://h", "client-certificate: gone.pem, client-key: node.key"),
      /gone\.pem .* does not exist/,
    ],
    [
      "groups without a user",
      () => entry("a", "https://h", "token: t, as-groups: [g]"),
      /with as-groups, as-uid or as-user-extra but without as/,
    ],
    [
      "a proxy of another kind",
      () => entry("a", "https://h").replace("{server:", '{proxy-url: "ftp://me:secret@p", server:'),
      /proxy-url in cluster "a" that is not an http, https or socks5 URL$/,
    ],
    [
      "an auth-provider that client-node does not know",
      () => entry("a", "https://h", "auth-provider: {name: openstack}"),
      /user "a" with the auth-provider "openstack", which is not supported/,
    ],
    [
      "an auth-provider with an expired token",
      () => entry("a", "https://h", "auth-provider: {name: gcp, config: {access-token: secret, expiry: 2020-01-01}}"),
      /user "a" with the auth-provider "gcp", which failed: Token is expired!/,
    ],
    [
      "an auth-provider without a token",
      () => entry("a", "https://h", "auth-provider: {name: oidc, config: {client-id: c}}"),
      /auth-provider "oidc", which returned neither a token/,
    ],
  ];
  for (const [what, text, sentence] of table) {
    test(`${what}: ${sentence.source}`, async () => {
      const path = await file("bad.config", text());
      await assert.rejects(loadKubeconfig(path), { name: "LabError", code: "BAD_FILE", message: sentence });
    });
  }

  test("a key of another certificate: the error names the file and the user, and the hint is not about a node", async () => {
    const other = await makeLeaf(await makeAuthority());
    const user = `client-certificate: node.pem, client-key-data: ${b64(other.keyPem)}`;
    const path = await file("mixed.config", entry("a", "https://h", user));
    await assert.rejects(loadKubeconfig(path), (error: LabError) => {
      assert.equal(error.code, "BAD_FILE");
      assert.match(error.message, /client key of user "a" in kubeconfig \S*mixed\.config does not belong/);
      assert.doesNotMatch(error.hint, /bootstrap/);
      return true;
    });
  });

  test("an unknown context: the error lists the contexts, and its hint does not suspect an incomplete file", async () => {
    const path = await file("whole.config", entry("a", "https://h"));
    await assert.rejects(loadKubeconfig(path, { context: "nope" }), (error: LabError) => {
      assert.match(error.message, /has no context "nope" \(it has: a\)/);
      assert.doesNotMatch(error.hint, /cut off/);
      return true;
    });
  });

  test("a missing file, and a folder", async () => {
    await assert.rejects(loadKubeconfig(join(folder, "none")), { code: "BAD_FILE", message: /does not exist/ });
    await assert.rejects(loadKubeconfig(folder), { code: "BAD_FILE", message: /is a folder/ });
  });
});

describe("the cluster that kubectl would use", () => {
  test("of several files, the first definition of a name wins, and missing files are skipped", async () => {
    const one = await file("one", entry("a", "https://a1"));
    const two = await file("two", `${entry("b", "https://b2")}`);
    const env = { KUBECONFIG: `${join(folder, "none")}:${one}:${two}` };
    assert.equal((await loadRealKubeconfig(env, {})).config.server, "https://a1");
    assert.equal((await loadRealKubeconfig(env, { context: "b" })).config.server, "https://b2");
    assert.equal((await loadRealKubeconfig(env, { kubeconfig: two })).contextName, "b");
  });

  test("without any file: the error lists the paths", async () => {
    const env = { HOME: join(folder, "home") };
    await assert.rejects(loadRealKubeconfig(env, {}), {
      code: "BAD_FILE",
      message: /home\/\.kube\/config does not exist/,
    });
  });

  test("basic authentication becomes a header", async () => {
    const path = await file("basic", entry("a", "https://h", "username: me, password: pw"));
    const { config } = await loadKubeconfig(path);
    const headers: Record<string, string> = {};
    await config.authorize?.(headers);
    assert.equal(headers["Authorization"], `Basic ${b64("me:pw")}`);
  });

  test("contexts and credentials may be in different files", async () => {
    const whole = entry("a", "https://a1");
    const users = await file("users", `users:${whole.split("users:")[1]?.split("contexts:")[0]}`);
    const rest = await file("rest", `${whole.split("users:")[0]}contexts:${whole.split("contexts:")[1]}`);
    const { config } = await loadRealKubeconfig({ KUBECONFIG: `${rest}:${users}` }, {});
    assert.deepEqual(config, { server: "https://a1", token: "t" });
  });

  test("paths are relative to the file that holds them", async () => {
    const sub = join(folder, "sub");
    await mkdir(sub);
    await writeFile(join(sub, "token"), "from-file\n");
    await writeFile(join(sub, "ca.pem"), caPem);
    const here = await file("here", entry("a", "https://a1"));
    const text = entry("b", "https://b2", "token: not-this, tokenFile: token");
    const there = join(sub, "there");
    await writeFile(there, text.replace("{server:", "{certificate-authority: ca.pem, server:"));
    const { config } = await loadRealKubeconfig({ KUBECONFIG: `${here}:${there}` }, { context: "b" });
    assert.deepEqual(config, { server: "https://b2", caPem, token: "from-file" });
  });

  test("an incomplete cluster matters only to its own context", async () => {
    const path = await file("partly", entry("a", "https://a1").replace("users:", "- name: z\n  cluster: {}\nusers:"));
    assert.equal((await loadKubeconfig(path)).config.server, "https://a1");
  });
});

const authorization = async (config: RestConfig): Promise<unknown> => {
  const headers: AskingHeaders = {};
  await config.authorize?.(headers);
  return headers["Authorization"];
};

describe("auth providers", () => {
  test("the token of the provider goes into each request", async () => {
    const provider = "auth-provider: {name: azure, config: {access-token: from-provider}}";
    const { config } = await loadKubeconfig(await file("azure", entry("a", "https://h", provider)));
    assert.equal(await authorization(config), "Bearer from-provider");
    assert.equal(identityInWords(config), "login provider of the kubeconfig");
  });
});

describe("exec plugins", () => {
  /** A kubeconfig whose plugin is this shell script. */
  async function withPlugin(script: string, more = "interactiveMode: IfAvailable"): Promise<string> {
    await writeFile(join(folder, "plugin.sh"), `#!/bin/sh\n${script}\n`);
    await chmod(join(folder, "plugin.sh"), 0o755);
    const exec = `exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plugin.sh, ${more}}`;
    return file(
      "exec",
      entry("a", "https://h", exec).replace("{server:", `{certificate-authority-data: ${b64(caPem)}, server:`),
    );
  }
  const credential = (status: object) =>
    `cat <<'EOF'\n${JSON.stringify({ apiVersion: "client.authentication.k8s.io/v1", kind: "ExecCredential", status })}\nEOF`;

  test("its token is used; a command with a slash is relative to the kubeconfig", async () => {
    const { config } = await loadKubeconfig(await withPlugin(credential({ token: "from-plugin" })));
    assert.equal(await authorization(config), "Bearer from-plugin");
  });

  test("its client certificate is used", async () => {
    const status = { clientCertificateData: pair.certificatePem, clientKeyData: pair.keyPem };
    const { config } = await loadKubeconfig(await withPlugin(credential(status)));
    assert.equal(config.clientCertificatePem, pair.certificatePem);
    assert.equal(config.clientKeyPem, pair.keyPem);
    assert.equal(config.authorize, undefined);
  });

  for (const [what, more, cluster] of [
    ["without cluster info", "interactiveMode: Never", undefined],
    ["with cluster info", "provideClusterInfo: true, env: [{name: A, value: b}]", { server: "https://h" }],
  ] as const) {
    test(`the plugin gets KUBERNETES_EXEC_INFO ${what}, without a terminal`, async () => {
      const save = `printf %s "$KUBERNETES_EXEC_INFO" > ${join(folder, "info")}; printf %s "$A" > ${join(folder, "env")}`;
      await loadKubeconfig(await withPlugin(`${save}\n${credential({ token: "t" })}`, more));
      const info = JSON.parse(await readFile(join(folder, "info"), "utf8"));
      assert.deepEqual(info, {
        apiVersion: "client.authentication.k8s.io/v1",
        kind: "ExecCredential",
        spec: {
          interactive: false,
          ...(cluster && {
            cluster: { ...cluster, "certificate-authority-data": b64(caPem) },
          }),
        },
      });
      assert.equal(await readFile(join(folder, "env"), "utf8"), cluster ? "b" : "");
    });
  }

  const plugin = `kubeconfig \\S*exec has user "a" with the exec plugin "\\S*plugin.sh", which`;
  for (const [what, script, more, why] of [
    ["fails", "echo first >&2; echo no session >&2; exit 1", "", "failed: no session$"],
    ["reads its standard input, which is empty", "cat >&2; exit 1", "", "failed: no error message$"],
    ["fails silently", "exit 1", "", "failed: no error message$"],
    ["shows a token in its error", "echo Bearer abcdefgh >&2; exit 1", "", "failed: Bearer \\*{4}$"],
    ["prints something else", "echo super-secret-token", "", "printed no ExecCredential$"],
    ["prints no status", 'echo \'{"token": "super-secret-token"}\'', "", "printed no ExecCredential$"],
    ["prints no credential", credential({}), "", "returned neither a token nor a client certificate$"],
    ["needs a terminal", "exit 1", "interactiveMode: Always", "needs a terminal \\(interactiveMode: Always\\)"],
  ] as const) {
    test(`a plugin that ${what}`, async () => {
      const path = await withPlugin(script, more || undefined);
      await assert.rejects(loadKubeconfig(path), (error: LabError) => {
        assert.equal(error.code, "BAD_FILE");
        assert.match(error.message, new RegExp(`${plugin} ${why}`));
        assert.doesNotMatch(inspect(error), /secret|abcdefgh/);
        return true;
      });
    });
  }

  test("a plugin that is not installed: its hint is shown", async () => {
    const exec = "exec: {apiVersion: v1, command: no-such-plugin, installHint: get it from there}";
    const path = await file("exec-bad", entry("a", "https://h", exec));
    await assert.rejects(loadKubeconfig(path), {
      code: "BAD_FILE",
      message: /exec plugin "no-such-plugin", which was not found$/,
      hint: "get it from there",
    });
  });
});

test("a file that is not YAML: no error quotes its text", async () => {
  const path = await file("bad-yaml", 'users:\n- name: a\n  user: {token: "super-secret\n');
  await assert.rejects(loadKubeconfig(path), (error: LabError) => {
    assert.match(error.message, /is not readable YAML \(line \d+\)$/);
    assert.doesNotMatch(inspect(error), /super-secret/);
    return true;
  });
});

test("impersonation: the headers of each request, and an identity that names both users", async () => {
  const extra = "as-user-extra: {scopes: [a, b], example.org/x: [c]}";
  const user = `token: t, as: jane, as-uid: "7", as-groups: [g, h], ${extra}`;
  const { config } = await loadKubeconfig(await file("as.config", entry("a", "https://h", user)));
  const headers = {};
  await config.authorize?.(headers);
  assert.deepEqual(headers, {
    "Impersonate-User": "jane",
    "Impersonate-Uid": "7",
    "Impersonate-Group": ["g", "h"],
    "Impersonate-Extra-scopes": ["a", "b"],
    "Impersonate-Extra-example.org%2Fx": ["c"],
  });
  assert.equal(config.token, "t");
  assert.equal(identityInWords(config), "jane, by bearer token");
});
