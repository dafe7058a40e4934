import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, test } from "vitest";
import { needsBootstrap } from "../../../src/kubelet/certificate/needs-bootstrap.js";
import { kubeconfigText } from "../../../src/staging/client-go/clientcmd/kubeconfig-text.js";
import type { CertificateAuthority } from "../../../src/staging/pki/issue.js";
import { SystemClock } from "../../../src/util/clock.js";
import { makeAuthority, makeLeaf } from "../../support/https-server.js";

const NAMES = { cluster: "default-cluster", user: "default-auth", context: "default-context" };
const NOW = new SystemClock().now();
let ca: CertificateAuthority;
let other: CertificateAuthority;
let path: string;
beforeAll(async () => {
  ca = await makeAuthority();
  other = await makeAuthority();
  path = join(await mkdtemp(join(tmpdir(), "kubelab-needs-")), "kubelet.config");
});

type Leaf = { keyPem: string; certificatePem: string };
const config = (leaf: Leaf, more: object = {}) =>
  kubeconfigText(
    {
      server: "https://h:1",
      caPem: ca.certificatePem,
      clientCertificatePem: leaf.certificatePem,
      clientKeyPem: leaf.keyPem,
      ...more,
    },
    NAMES,
  );

describe("does the node need to bootstrap?", () => {
  const table: readonly [string, () => Promise<string | undefined>, object, boolean, RegExp][] = [
    ["no kubeconfig", async () => undefined, {}, true, /does not exist/],
    ["a valid one", async () => config(await makeLeaf(ca)), {}, false, /is valid, its certificate expires/],
    ["a valid one of this cluster", async () => config(await makeLeaf(ca)), { same: true }, false, /is valid/],
    ["--force", async () => config(await makeLeaf(ca)), { force: true }, true, /--force/],
    ["expired", async () => config(await makeLeaf(ca, { from: -2, to: -1 })), {}, true, /expired/],
    [
      "one of two certificates expired",
      async () => {
        const good = await makeLeaf(ca);
        const late = await makeLeaf(ca, { from: -2, to: -1 });
        return config({ keyPem: good.keyPem, certificatePem: good.certificatePem + late.certificatePem });
      },
      {},
      true,
      /expired/,
    ],
    [
      "half-written",
      async () => config(await makeLeaf(ca)).slice(0, 120),
      {},
      true,
      /no current-context|not readable|no server|cut off/,
    ],
    ["empty", async () => "", {}, true, /is empty/],
    [
      "a token instead",
      async () => kubeconfigText({ server: "https://h", token: "t" }, NAMES),
      {},
      true,
      /no readable client certificate/,
    ],
    [
      "of another cluster",
      async () => config(await makeLeaf(ca)),
      { other: true },
      true,
      /another cluster: it trusts another CA/,
    ],
    [
      "for another server",
      async () => config(await makeLeaf(ca)),
      { server: "https://h:2" },
      true,
      /another server: https:\/\/h:1/,
    ],
    ["for the same server", async () => config(await makeLeaf(ca)), { server: "https://h:1" }, false, /is valid/],
  ];
  for (const [what, text, options, needed, why] of table) {
    test(`${what}: ${needed ? "yes" : "no"}`, async () => {
      await rm(path, { force: true });
      const content = await text();
      if (content !== undefined) await writeFile(path, content);
      const { same, other: isOther, ...rest } = options as { same?: boolean; other?: boolean };
      const caPem = same === true ? ca.certificatePem : isOther === true ? other.certificatePem : undefined;
      const decision = await needsBootstrap({
        kubeconfigPath: path,
        nowMs: NOW,
        ...(caPem === undefined ? {} : { caPem }),
        ...rest,
      });
      assert.equal(decision.needed, needed, decision.why);
      assert.match(decision.why, why);
    });
  }
});
