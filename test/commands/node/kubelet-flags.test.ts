import { Command } from "commander";
import { describe, expect, test } from "vitest";
import { readConfiguration } from "../../../src/commands/node/configuration.js";
import { kubeletFields } from "../../../src/commands/node/kubelet-flags.js";
import type { NodeCommandOptions } from "../../../src/commands/node/options.js";
import { fieldType } from "../../../src/kubelet/apis/config/fields.js";
import { CONFIG_FLAGS } from "../../../src/kubelet/apis/config/flags.js";
import { LabError } from "../../../src/util/errors.js";
import { allCommands } from "../../support/all-commands.js";

/** Every flag of kubelet v1.25, as it logs them at -v 1; but --help and --version. */
const UPSTREAM = `
  add-dir-header address allowed-unsafe-sysctls alsologtostderr anonymous-auth application-metrics-count-limit
  authentication-token-webhook authentication-token-webhook-cache-ttl authorization-mode
  authorization-webhook-cache-authorized-ttl authorization-webhook-cache-unauthorized-ttl azure-container-registry-config
  boot-id-file bootstrap-kubeconfig cert-dir cgroup-driver cgroup-root cgroups-per-qos client-ca-file cloud-config
  cloud-provider cluster-dns cluster-domain config container-hints container-log-max-files container-log-max-size
  container-runtime container-runtime-endpoint containerd containerd-namespace contention-profiling cpu-cfs-quota
  cpu-cfs-quota-period cpu-manager-policy cpu-manager-policy-options cpu-manager-reconcile-period
  enable-controller-attach-detach enable-debugging-handlers enable-load-reader enable-server enforce-node-allocatable
  event-burst event-qps event-storage-age-limit event-storage-event-limit eviction-hard eviction-max-pod-grace-period
  eviction-minimum-reclaim eviction-pressure-transition-period eviction-soft eviction-soft-grace-period
  exit-on-lock-contention experimental-allocatable-ignore-eviction experimental-mounter-path fail-swap-on feature-gates
  file-check-frequency global-housekeeping-interval hairpin-mode healthz-bind-address healthz-port hostname-override
  housekeeping-interval http-check-frequency image-credential-provider-bin-dir image-credential-provider-config
  image-gc-high-threshold image-gc-low-threshold image-service-endpoint iptables-drop-bit iptables-masquerade-bit
  keep-terminated-pod-volumes kernel-memcg-notification kube-api-burst kube-api-content-type kube-api-qps kube-reserved
  kube-reserved-cgroup kubeconfig kubelet-cgroups local-storage-capacity-isolation lock-file log-backtrace-at
  log-cadvisor-usage log-dir log-file log-file-max-size log-flush-frequency log-json-info-buffer-size log-json-split-stream
  logging-format logtostderr machine-id-file make-iptables-util-chains manifest-url manifest-url-header
  master-service-namespace max-open-files max-pods maximum-dead-containers maximum-dead-containers-per-container
  memory-manager-policy minimum-container-ttl-duration minimum-image-ttl-duration node-ip node-labels
  node-status-max-images node-status-update-frequency one-output oom-score-adj pod-cidr pod-infra-container-image
  pod-manifest-path pod-max-pids pods-per-core port protect-kernel-defaults provider-id qos-reserved read-only-port
  register-node register-schedulable register-with-taints registry-burst registry-qps reserved-cpus reserved-memory
  resolv-conf root-dir rotate-certificates rotate-server-certificates runonce runtime-cgroups runtime-request-timeout
  seccomp-default serialize-image-pulls skip-headers skip-log-headers stderrthreshold storage-driver-buffer-duration
  storage-driver-db storage-driver-host storage-driver-password storage-driver-secure storage-driver-table
  storage-driver-user streaming-connection-idle-timeout sync-frequency system-cgroups system-reserved
  system-reserved-cgroup tls-cert-file tls-cipher-suites tls-min-version tls-private-key-file topology-manager-policy
  topology-manager-scope v vmodule volume-plugin-dir volume-stats-agg-period
`
  .trim()
  .split(/\s+/);

/** The options that a line of `kubelab node` has; what the line is answered with instead. */
async function nodeOptions(line: string): Promise<NodeCommandOptions> {
  const { command } = (await allCommands()).find(({ words }) => words === "node") ?? { command: new Command() };
  command.action(() => undefined).configureOutput({ writeErr: () => undefined });
  command.exitOverride().parse(line.split(" ").filter(Boolean), { from: "user" });
  return command.opts<NodeCommandOptions>();
}

const cwd = "/here";
const configured = async (line: string) => readConfiguration({ cwd }, await nodeOptions(line), "1.25");

describe("each flag of kubelet v1.25", async () => {
  const { command } = (await allCommands()).find(({ words }) => words === "node") ?? { command: new Command() };
  for (const flag of UPSTREAM) {
    test(`--${flag} is a flag of kubelab node`, () => {
      const option = command.options.find(({ long }) => long === `--${flag}`);
      expect(option).toBeDefined();
    });
  }

  test("a flag of the configuration names a field that exists", () => {
    const unknown = [...CONFIG_FLAGS].filter(([, path]) => fieldType(path) === "");
    expect(unknown).toEqual([]);
    expect([...CONFIG_FLAGS.keys()].filter((flag) => !UPSTREAM.includes(flag))).toEqual([]);
  });
});

const FIELDS = [
  ["--max-pods 20", { maxPods: 20 }],
  ["--max-pods=20 --hairpin-mode=none", { maxPods: 20, hairpinMode: "none" }],
  ["--healthz-port=0 --read-only-port 10255", { healthzPort: 0, readOnlyPort: 10_255 }],
  ["--fail-swap-on=false --serialize-image-pulls", { failSwapOn: false, serializeImagePulls: true }],
  ["--sync-frequency 90s", { syncFrequency: "1m30s" }],
  ["--kube-api-qps 50", { kubeAPIQPS: 50 }],
  [
    "--anonymous-auth --authorization-mode AlwaysAllow",
    { authentication: { anonymous: { enabled: true } }, authorization: { mode: "AlwaysAllow" } },
  ],
  ["--feature-gates A=true,B=false --feature-gates C=t", { featureGates: { A: true, B: false, C: true } }],
  ["--kube-reserved cpu=100m,memory=1Gi", { kubeReserved: { cpu: "100m", memory: "1Gi" } }],
  ["--enforce-node-allocatable pods,kube-reserved", { enforceNodeAllocatable: ["pods", "kube-reserved"] }],
  ["--manifest-url-header a:b,a:c", { staticPodURLHeader: { a: ["b", "c"] } }],
] as const;
test.each(FIELDS)("%s sets the field of the same name", async (line, fields) => {
  expect(kubeletFields(await nodeOptions(line))).toEqual(fields);
});

test("a flag wins over the file, of a map of gates each gate", async () => {
  const { mkdtempSync, writeFileSync } = await import("node:fs");
  const { tmpdir } = await import("node:os");
  const { join } = await import("node:path");
  const file = join(mkdtempSync(join(tmpdir(), "kubelab-flags-")), "kubelet.yaml");
  const head = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
  const gates = "featureGates: {NodeSwap: true, GracefulNodeShutdown: true}\n";
  writeFileSync(file, `${head}maxPods: 5\nreadOnlyPort: 10255\npodsPerCore: 3\n${gates}`);
  const { config } = await configured(
    `--config ${file} --max-pods 20 --read-only-port=0 --feature-gates GracefulNodeShutdown=false --client-ca-file ca.pem`,
  );
  expect(config).toMatchObject({
    maxPods: 20,
    readOnlyPort: 0,
    podsPerCore: 3,
    featureGates: { NodeSwap: true, GracefulNodeShutdown: false },
    authentication: { x509: { clientCAFile: "/here/ca.pem" }, webhook: { enabled: true } },
  });
});

const ALIASES = [
  ["--hostname-override=n2", { node: "n2" }],
  ["--name n2", { node: "n2" }],
  ["--node n2", { node: "n2" }],
  ["--container-runtime-endpoint unix:///run/c.sock", { cri: "unix:///run/c.sock" }],
  ["--pod-manifest-path=/etc/kubernetes/manifests", { manifestDir: "/etc/kubernetes/manifests" }],
  ["--v=2", { verbosity: 2 }],
  ["--v 3", { verbosity: 3 }],
  ["-v=2", { verbosity: 2 }],
  ["-v 2", { verbosity: 2 }],
  ["--v=8", { verbosity: 4 }],
  ["--register-node=false", { registerNode: false }],
  ["--register-node", { registerNode: true }],
  ["--rotate-server-certificates=true", { rotateServerCertificates: true }],
] as const;
test.each(ALIASES)("%s is understood", async (line, options) => {
  expect(await nodeOptions(line)).toMatchObject(options);
});

const ANSWERS = [
  ["--cloud-provider=external", /kubelab has no --cloud-provider/, /No cloud provider/],
  ["--logtostderr", /no --logtostderr/, /--trace FILE/],
  ["--reserved-memory 0:memory=1Gi", /no --reserved-memory/, /reservedMemory in a file: --config/],
  ["--register-schedulable=false", /no --register-schedulable/, /--register-with-taints/],
] as const;
test.each(ANSWERS)("%s is answered with what to use instead", async (line, message, hint) => {
  const error = await nodeOptions(line).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(LabError);
  const { code, message: said, hint: instead } = error as LabError;
  expect(code).toBe("USAGE");
  expect(said).toMatch(message);
  expect(instead).toMatch(hint);
});

test("wrong values are refused, and what the flags set is validated as the file is", async () => {
  await expect(nodeOptions("--max-pods many")).rejects.toThrow(/expected a whole number/);
  await expect(nodeOptions("--fail-swap-on=maybe")).rejects.toThrow(/expected true or false/);
  await expect(nodeOptions("--kube-reserved cpu")).rejects.toThrow(/expected key=value/);
  await expect(configured("--image-gc-high-threshold 101")).rejects.toThrow(/imageGCHighThresholdPercent/);
  await expect(configured("--max-pods=-1")).rejects.toThrow(/maxPods \(--max-pods\) -1 must not be a negative number$/);
});

test("-v=2 and --v=2 work on every command that has -v", async () => {
  const without = (await allCommands()).filter(
    ({ command: { options } }) =>
      options.some(({ short }) => short === "-v") && !options.some(({ long }) => long === "--v"),
  );
  expect(without.map(({ words }) => words)).toEqual([]);
});

test("a node's name is --node everywhere", async () => {
  const others = (await allCommands()).flatMap(({ words, command }) =>
    command.options
      .filter(({ long, hidden, description }) => long !== "--node" && !hidden && /^name of the node/.test(description))
      .map(({ long }) => `${words} ${long}`),
  );
  expect(others).toEqual([]);
});
