import assert from "node:assert/strict";
import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "vitest";
import { openCertificateStore } from "../../../src/kubelet/certificate/certificate-store.js";
import { movedTo, noteMove } from "../../../src/kubelet/certificate/node-kubeconfig.js";
import { loadKubeconfig } from "../../../src/staging/client-go/clientcmd/kubeconfig.js";
import { FakeClock } from "../../support/fake-clock.js";
import { makeAuthority, makeLeaf } from "../../support/https-server.js";
import { recordingTrace } from "../../support/trace.js";

describe("where the cluster is now", () => {
  const own = { server: "https://old:6443", caPem: "CA", tlsServerName: "old", clientCertificatePem: "CERT" };

  test("a new address: CA and identity stay the node's own, the name to expect goes with the address", () => {
    const cluster = { server: "https://new:6443", caPem: "another", token: "an administrator's" };
    assert.deepEqual(movedTo(own, cluster), {
      server: "https://new:6443",
      caPem: "CA",
      clientCertificatePem: "CERT",
    });
    assert.equal(movedTo(own, { ...cluster, tlsServerName: "new" })?.tlsServerName, "new");
  });

  for (const server of ["https://old:6443", "https://old:6443/"]) {
    test(`${server} is the old one`, () => assert.equal(movedTo(own, { server }), undefined));
  }
});

describe("the new address is written down", () => {
  async function node() {
    const folder = await mkdtemp(join(tmpdir(), "kubelab-moved-"));
    const { keyPem, certificatePem } = await makeLeaf(await makeAuthority());
    await writeFile(join(folder, "kubelet.key"), keyPem);
    await writeFile(join(folder, "kubelet.pem"), certificatePem);
    const store = await openCertificateStore(folder);
    const { trace } = recordingTrace(new FakeClock(0));
    return { store, trace, certificatePem, keyPem };
  }

  test("in a kubeconfig of this pair", async () => {
    const { store, trace, certificatePem, keyPem } = await node();
    const config = { server: "https://new:6443", clientCertificatePem: certificatePem, clientKeyPem: keyPem };
    await noteMove(store, trace, config);
    assert.deepEqual((await loadKubeconfig(store.kubeconfigPath)).config, config);
  });

  test("not in one with other credentials: it is not ours to write", async () => {
    const { store, trace } = await node();
    await writeFile(store.kubeconfigPath, "theirs");
    await noteMove(store, trace, { server: "https://new:6443", clientCertificatePem: "theirs" });
    assert.equal(await readFile(store.kubeconfigPath, "utf8"), "theirs");
  });
});
