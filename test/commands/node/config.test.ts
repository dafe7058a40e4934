import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { defaultsResult, fileResult } from "../../../src/commands/node/config.js";
import { readConfiguration, readNode } from "../../../src/commands/node/configuration.js";
import type { NodeCommandOptions } from "../../../src/commands/node/options.js";
import { loadConfigFile } from "../../../src/kubelet/apis/config/load.js";

const cwd = mkdtempSync(join(tmpdir(), "kubelab-node-config-"));
const path = join(cwd, "kubelet.yaml");
const HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
const FLAGS: NodeCommandOptions = { node: "n1", cpu: "4", memory: "8Gi" };

function file(text: string): string {
  writeFileSync(path, HEAD + text);
  return path;
}

describe("kubelab node config", () => {
  test("prints a release's defaults, which --config reads back without a difference", async () => {
    const { text } = defaultsResult("1.25");
    expect(text).toContain("syncFrequency: 1m0s\n");
    expect(text).toContain("kubeAPIQPS: 5\n");
    expect(defaultsResult("1.27").text).toContain("kubeAPIQPS: 50\n");
    writeFileSync(path, text);
    const { json, text: checked } = await fileResult(path, "1.25");
    expect(checked).toMatch(/ is valid, and has the defaults of v1\.25\.$/m);
    expect(json).toMatchObject({ differences: [], warning: null });
    expect((await loadConfigFile(path, "1.25")).warning).toBeUndefined();
  });

  test("prints how a file differs, and what of it has no effect", async () => {
    const { text, json } = await fileResult(
      file(
        "maxPods: 20\nhairpinMode: none\nsyncFrequency: 60s\nevictionHard: {memory.available: 5%}\nauthentication: {webhook: {cacheTTL: 1m}}\n",
      ),
      "1.25",
    );
    expect(text.split("\n")).toEqual([
      'authentication.webhook.cacheTTL: "1m0s" (default: "2m0s")',
      'hairpinMode: "none" (default: "promiscuous-bridge")',
      "maxPods: 20 (default: 110)",
      'evictionHard.memory.available: "5%" (default: "100Mi")',
      'evictionHard.nodefs.available: none (default: "10%")',
      'evictionHard.nodefs.inodesFree: none (default: "5%")',
      'evictionHard.imagefs.available: none (default: "15%")',
      "Without an effect in this kubelet: hairpinMode",
    ]);
    expect(json).toMatchObject({ withoutEffect: ["hairpinMode"] });
  });

  test("of the feature gates, those without an effect are listed by name", async () => {
    const gates = "featureGates: {GracefulNodeShutdown: false, NodeSwap: true, WinDSR: true}\n";
    const { json } = await fileResult(file(gates), "1.25");
    expect(json).toMatchObject({ withoutEffect: ["featureGates.NodeSwap", "featureGates.WinDSR"] });
    await expect(fileResult(file("featureGates: {NoSuchGate: true}\n"), "1.25")).rejects.toThrow(
      `failed to validate kubelet configuration, error: unrecognized feature gate: NoSuchGate, path: ${path}`,
    );
  });

  test("all that is wrong with a file is one error", async () => {
    await expect(fileResult(file("maxPods: -1\nport: 70000\n"), "1.25")).rejects.toThrow(
      `failed to validate kubelet configuration, error: [invalid configuration: maxPods (--max-pods) -1 must not be a negative number, invalid configuration: port (--port) 70000 must be between 1 and 65535, inclusive], path: ${path}`,
    );
  });
});

describe("the configuration of kubelab node", () => {
  const read = (text: string | undefined, flags: Partial<NodeCommandOptions> = {}) =>
    readConfiguration({ cwd }, { ...FLAGS, ...flags, ...(text === undefined ? {} : { config: file(text) }) }, "1.25");

  test("without a file it is kubelab's own: the cluster's DNS, a certificate that is renewed", async () => {
    const { config, fixedPorts } = await read(undefined);
    expect(config).toMatchObject({
      clusterDNS: ["10.96.0.10"],
      clusterDomain: "cluster.local",
      rotateCertificates: true,
    });
    expect(fixedPorts).toEqual([]);
  });

  test("a file wins over that, also with nothing", async () => {
    const { config } = await read("clusterDNS: []\nrotateCertificates: false\n");
    expect(config.clusterDNS).toBeUndefined();
    expect(config.rotateCertificates).toBeUndefined();
    expect(config.clusterDomain).toBe("cluster.local");
  });

  test("flags win over the file", async () => {
    const text = "clusterDomain: a.b\nmaxPods: 20\nport: 10300\nstaticPodPath: m\nregisterNode: true\n";
    const given = { clusterDomain: "c.d", pods: "7", port: 10_400, manifestDir: "n", registerNode: false };
    const { config, fixedPorts } = await read(text, given);
    expect(config).toMatchObject({
      clusterDomain: "c.d",
      maxPods: 7,
      port: 10_400,
      staticPodPath: join(cwd, "n"),
      registerNode: false,
    });
    expect(fixedPorts).toEqual(["port"]);
    expect((await read(text)).config.staticPodPath).toBe(join(cwd, "m"));
  });

  const late = [
    ["containerLogMaxFiles: 1", "failed to initialize container log manager: invalid MaxFiles 1, must be > 1"],
    ["evictionSoft: {memory.available: 1Gi}", "grace period must be specified for the soft eviction threshold"],
    ["evictionHard: {memory.available: 120%}", "eviction percentage threshold memory.available must be <= 100%: 120%"],
    ["evictionHard: {memory.available: 10Qux}", "quantities must match the regular expression"],
    ["evictionHard: {memory.available: 100Mib}", `${path}: evictionHard memory.available "100Mib": quantities must`],
    ["evictionSoftGracePeriod: {memory.available: 1}", "evictionSoftGracePeriod"],
    ["evictionHard: {memorie.available: 1Gi}", "unsupported eviction signal memorie.available"],
    ["syncFrequency: 10parsecs", 'time: unknown unit "parsecs" in duration "10parsecs"'],
    ["maxPods: many", "cannot unmarshal string into Go struct field KubeletConfiguration.maxPods of type int32"],
  ] as const;
  for (const [text, message] of late) {
    test(`${text} is refused before the node joins`, async () => {
      await expect(read(`${text}\n`)).rejects.toThrow(message);
      await expect(fileResult(file(`${text}\n`), "1.25")).rejects.toThrow(message);
    });
  }

  const refused = [
    ["kubeReserved: {cpu: '200'}", "invalid Node Allocatable configuration"],
    ["maxPods: 1000000", '--pods "1000000" cannot be a node\'s capacity'],
    ["authentication: {x509: {clientCAFile: none.pem}}", `unable to load client CA file ${join(cwd, "none.pem")}`],
    ["tlsCertFile: none.pem\ntlsPrivateKeyFile: none.key", "cannot read the serving certificate"],
  ] as const;
  for (const [text, message] of refused) {
    test(`${text.split("\n")[0]}: \`node config FILE\` refuses what \`node --config FILE\` does`, async () => {
      const place = { home: cwd, cwd, canAsk: false };
      const config = file(`${text}\n`);
      await expect(readNode({ node: "n1", cpu: "100", memory: "32Gi", config }, place, "1.25")).rejects.toThrow(
        message,
      );
      await expect(fileResult(config, "1.25")).rejects.toThrow(message);
    });
  }

  test("what flags set is checked with the file", async () => {
    await expect(read("maxPods: 5\n", { port: 70_000 })).rejects.toThrow("port (--port) 70000 must be between");
  });
});
