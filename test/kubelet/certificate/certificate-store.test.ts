import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, test } from "vitest";
import { CertificateStore, openCertificateStore } from "../../../src/kubelet/certificate/certificate-store.js";
import type { PendingKey } from "../../../src/staging/client-go/certificate/manager.js";
import type { CertificateAuthority } from "../../../src/staging/pki/issue.js";
import { makeAuthority, makeLeaf } from "../../support/https-server.js";

let ca: CertificateAuthority;
let old: { keyPem: string; certificatePem: string };
let fresh: { keyPem: string; certificatePem: string };
beforeAll(async () => {
  ca = await makeAuthority();
  old = await makeLeaf(ca, { commonName: "old" });
  fresh = await makeLeaf(ca, { commonName: "new" });
});

async function folderWith(files: Record<string, string>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "kubelab-store-"));
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  return folder;
}

describe("killed inside the exchange of a pair: the next run finds one that matches", () => {
  const table: readonly [string, () => Record<string, string>, "old" | "fresh"][] = [
    [
      "the new key alone",
      () => ({ "kubelet.key": old.keyPem, "kubelet.pem": old.certificatePem, "kubelet.key.next": fresh.keyPem }),
      "old",
    ],
    [
      "the new certificate was written: it is decided",
      () => ({
        "kubelet.key": old.keyPem,
        "kubelet.pem": old.certificatePem,
        "kubelet.key.next": fresh.keyPem,
        "kubelet.pem.next": fresh.certificatePem,
      }),
      "fresh",
    ],
    [
      "after the first of the two renames",
      () => ({
        "kubelet.key": fresh.keyPem,
        "kubelet.pem": old.certificatePem,
        "kubelet.pem.next": fresh.certificatePem,
      }),
      "fresh",
    ],
    [
      "a certificate of a key that is gone",
      () => ({
        "kubelet.key": old.keyPem,
        "kubelet.pem": old.certificatePem,
        "kubelet.pem.next": fresh.certificatePem,
      }),
      "old",
    ],
  ];
  for (const [what, files, want] of table) {
    test(`${what}: ${want}`, async () => {
      const store = await openCertificateStore(await folderWith(files()));
      const pair = await store.current();
      assert.equal(pair?.keyPem, (want === "old" ? old : fresh).keyPem);
      assert.ok(!(await readdir(store.folder)).includes("kubelet.pem.next"));
    });
  }
});

describe("the pending key", () => {
  test("is kubelet.key without a certificate, and the same one in the next run", async () => {
    const folder = await folderWith({});
    const first = await (await openCertificateStore(folder)).pendingKey();
    const second = await (await openCertificateStore(folder)).pendingKey();
    assert.deepEqual([first.isReused, second.isReused], [false, true]);
    assert.equal(second.keyPem, first.keyPem);
    assert.equal((await stat(join(folder, "kubelet.key"))).mode & 0o777, 0o600);
  });

  test("is stored next to the pair in use, which does not change", async () => {
    const folder = await folderWith({ "kubelet.key": old.keyPem, "kubelet.pem": old.certificatePem });
    const store = await openCertificateStore(folder);
    const pending = await store.pendingKey();
    assert.equal((await store.current())?.keyPem, old.keyPem);
    assert.equal(await readFile(join(folder, "kubelet.key.next"), "utf8"), pending.keyPem);
  });

  test("is replaced after forget(), or when the file is damaged", async () => {
    const folder = await folderWith({ "kubelet.key": "-----BEGIN EC PRIV" });
    const store = await openCertificateStore(folder);
    const made = await store.pendingKey();
    assert.equal(made.isReused, false);
    assert.notEqual((await store.pendingKey({ forget: true })).keyPem, made.keyPem);
  });

  test("a key that cannot be read is said to be so, with and without a certificate", async () => {
    for (const more of [{}, { "kubelet.pem": old.certificatePem }]) {
      const store = await openCertificateStore(await folderWith({ "kubelet.key": "garbage", ...more }));
      await assert.rejects(store.current(), { code: "BAD_FILE", message: /cannot be read as a private key/ });
    }
  });

  test("a folder is made with its first file, for its owner only", async () => {
    const top = join(await folderWith({}), "nodes");
    const store = await openCertificateStore(join(top, "n1"));
    await assert.rejects(stat(top), { code: "ENOENT" });
    await store.pendingKey();
    assert.equal((await stat(store.folder)).mode & 0o777, 0o700);
  });

  test("commit makes it the pair in use and leaves nothing else", async () => {
    const folder = await folderWith({
      "kubelet.key": old.keyPem,
      "kubelet.pem": old.certificatePem,
      "kubelet.key.next": fresh.keyPem,
    });
    const store = await openCertificateStore(folder);
    await store.commit(fresh);
    assert.deepEqual(
      await store.current(),
      fresh.keyPem === undefined ? undefined : { keyPem: fresh.keyPem, certificatePem: fresh.certificatePem },
    );
    assert.deepEqual((await readdir(folder)).sort(), ["kubelet.key", "kubelet.pem"]);
    assert.equal((await stat(join(folder, "kubelet.key"))).isFile(), true);
  });
});

describe("several commands at once", () => {
  const COMMANDS = Array.from({ length: 8 });

  for (const before of ["no pair", "a pair"]) {
    test(`share the pending key, and leave one pair, where there was ${before}`, async () => {
      const folder = await folderWith({});
      if (before === "a pair") await (await openCertificateStore(folder)).commit(old);
      const stores = await Promise.all(COMMANDS.map(() => openCertificateStore(folder)));
      const keys = await Promise.all(stores.map((store) => store.pendingKey()));
      assert.equal(new Set(keys.map(({ keyPem }) => keyPem)).size, 1);
      assert.equal(keys.filter(({ isReused }) => !isReused).length, 1);
      await Promise.all(
        stores.map(async (store, index) => {
          const { key, keyPem } = keys[index] as PendingKey;
          const { certificatePem } = await makeLeaf(ca, { commonName: `n${index}`, key });
          await store.commit({ keyPem, certificatePem });
          assert.equal((await (await openCertificateStore(folder)).current())?.keyPem, keyPem);
        }),
      );
      assert.deepEqual((await readdir(folder)).sort(), ["kubelet.key", "kubelet.pem"]);
    });
  }

  test("a reader between the two files of an exchange finds the new pair", async () => {
    const folder = await folderWith({ "kubelet.key": old.keyPem, "kubelet.pem": old.certificatePem });
    const reader = await openCertificateStore(folder);
    await writeFile(join(folder, "kubelet.pem.next"), fresh.certificatePem);
    await writeFile(join(folder, "kubelet.key"), fresh.keyPem);
    assert.equal((await reader.current())?.keyPem, fresh.keyPem);
  });

  test("with keys of their own, leave a key and a certificate that match", async () => {
    const folder = await folderWith({ "kubelet.key": old.keyPem, "kubelet.pem": old.certificatePem });
    const pairs = await Promise.all(COMMANDS.map((_, index) => makeLeaf(ca, { commonName: `n${index}` })));
    await Promise.all(pairs.map((pair) => new CertificateStore(folder).commit(pair)));
    assert.ok(await (await openCertificateStore(folder)).current());
  });
});

describe("what cannot be used", () => {
  test("a key of another certificate: named, exit 2", async () => {
    const folder = await folderWith({ "kubelet.key": old.keyPem, "kubelet.pem": fresh.certificatePem });
    const store = await openCertificateStore(folder);
    await assert.rejects(store.current(), {
      code: "BAD_FILE",
      exitCode: 2,
      message: /does not belong to the certificate/,
    });
  });

  test("a folder below a file: named, before anything else", async () => {
    const folder = await folderWith({ file: "x" });
    await assert.rejects(openCertificateStore(join(folder, "file", "sub")), {
      code: "BAD_FILE",
      message: /cannot be written to/,
    });
  });

  test("what a killed run left half-written is cleared away, and nothing else", async () => {
    const folder = await folderWith({
      ".kubelet.pem.4194305.0a1b2c3d.tmp": "half",
      ".kubelet.key.next.4194305.0a1b2c3d.tmp": "half",
      [`.kubelet.config.${process.pid}.0a1b2c3d.tmp`]: "half",
      ".mine.tmp": "x",
      notes: "x",
    });
    // A process that runs may be writing it.
    const running = `.kubelet.pem.${process.ppid}.0a1b2c3d.tmp`;
    await writeFile(join(folder, running), "half");
    await openCertificateStore(folder);
    assert.deepEqual((await readdir(folder)).sort(), [running, ".mine.tmp", "notes"].sort());
  });
});
