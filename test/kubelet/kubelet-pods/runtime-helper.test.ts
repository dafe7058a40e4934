import assert from "node:assert/strict";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import type { DeviceRunContainerOptions } from "../../../src/kubelet/cm/devicemanager/pod-devices.js";
import type { CgroupDriver } from "../../../src/kubelet/cm/pod-container-manager.js";
import { KubeletRuntimeHelper } from "../../../src/kubelet/kubelet-pods/runtime-helper.js";
import { DnsConfigurer } from "../../../src/kubelet/network/dns.js";
import type { MountedVolume } from "../../../src/kubelet/volumes/set-up.js";
import type { V1Container, V1Pod } from "../../../src/staging/apimachinery/api/pod.js";
import { RecordedEvents } from "../../support/recorded-events.js";

const SIGNAL = new AbortController().signal;
const missing = { get: async () => ({ outcome: "not-found" as const, message: 'configmap "x" not found' }) };

class Lab {
  readonly rootDir = mkdtempSync(join(tmpdir(), "helper-"));
  readonly dataDir = join(this.rootDir, "data");
  readonly configDir = join(this.rootDir, "config");
  readonly helper: KubeletRuntimeHelper;
  /** what the container gets for its devices; default: it has none */
  devices: (() => DeviceRunContainerOptions) | undefined;

  constructor(cgroupDriver?: CgroupDriver) {
    mkdirSync(this.dataDir, { mode: 0o770 });
    mkdirSync(this.configDir);
    writeFileSync(join(this.configDir, "key"), "");
    const nodeHostsFile = join(this.rootDir, "hosts");
    writeFileSync(nodeHostsFile, "192.0.2.1\tnode\n");
    const volumes = new Map<string, MountedVolume>([
      ["data", { name: "data", hostPath: this.dataDir, readOnly: false }],
      ["config", { name: "config", hostPath: this.configDir, readOnly: true }],
    ]);
    const recorder = new RecordedEvents();
    const dns = { clusterDns: ["10.96.0.10"], clusterDomain: "cluster.local", resolverConfig: "", nodeIps: [] };
    this.helper = new KubeletRuntimeHelper(
      {
        recorder,
        configMaps: missing,
        secrets: missing,
        services: () => [],
        allocatable: () => ({}),
        hostIps: () => ["192.0.2.1"],
        volumes: { getMountedVolumes: () => volumes },
        deviceManager: { getDeviceRunContainerOptions: async () => this.devices?.() },
        dns: new DnsConfigurer({ recorder }, { ...dns, kubeVersion: "1.25" }),
      },
      { rootDir: this.rootDir, nodeHostsFile, cgroupDriver },
    );
  }

  generate(container: object, spec: object = {}, ips: readonly string[] = ["10.244.0.5"], uid = "u") {
    const named: V1Container = { name: "app", ...container };
    const metadata = { name: "web", namespace: "ns", uid };
    const pod: V1Pod = { apiVersion: "v1", kind: "Pod", metadata, spec: { containers: [named], ...spec }, status: {} };
    return this.helper.generateRunContainerOptions(pod, named, ips[0] ?? "", ips, SIGNAL);
  }

  async mounts(container: object, spec: object = {}, ips?: readonly string[]) {
    const result = await this.generate(container, spec, ips);
    assert.equal(result.outcome, "ok");
    return "options" in result ? result.options.mounts : [];
  }
}

const mount = (name: string, more: object = {}) => ({ volumeMounts: [{ name, mountPath: "/m", ...more }] });

test("mounts: a volume, and the hosts file after it", async () => {
  const lab = new Lab();
  const etcHosts = join(lab.rootDir, "pods/u/etc-hosts");
  assert.deepEqual(await lab.mounts(mount("data", { mountPropagation: "HostToContainer" })), [
    { name: "data", containerPath: "/m", hostPath: lab.dataDir, readOnly: false, propagation: "HostToContainer" },
    { name: "k8s-managed-etc-hosts", containerPath: "/etc/hosts", hostPath: etcHosts, readOnly: false },
  ]);
  assert.match(readFileSync(etcHosts, "utf8"), /^10\.244\.0\.5\tweb$/m);
});

test("devices: what their plugins give comes before the container's own, and their error is the container's", async () => {
  const lab = new Lab();
  const library = { name: "/lib/gpu", containerPath: "/lib/gpu", hostPath: "/usr/lib/gpu", readOnly: true };
  const device = { pathOnHost: "/dev/gpu-0", pathInContainer: "/dev/gpu", permissions: "rw" };
  const annotations = { "example.com/used": "gpu-0" };
  const envs = [{ name: "GPU", value: "gpu-0" }];
  lab.devices = () => ({ envs, mounts: [library], devices: [device], annotations });
  const result = await lab.generate({ env: [{ name: "GPU", value: "mine" }], ...mount("data") });
  assert.equal(result.outcome, "ok");
  const options = "options" in result ? result.options : undefined;
  assert.deepEqual(
    options?.envs.filter(({ name }) => name === "GPU").map(({ value }) => value),
    ["gpu-0", "mine"],
  );
  assert.deepEqual(
    options?.mounts.map(({ name }) => name),
    ["/lib/gpu", "data", "k8s-managed-etc-hosts"],
  );
  assert.deepEqual([options?.devices, options?.annotations], [[device], annotations]);
  lab.devices = () => {
    throw new Error("device plugin PreStartContainer rpc failed");
  };
  assert.deepEqual(await lab.generate({}), {
    outcome: "failed",
    message: "device plugin PreStartContainer rpc failed",
  });
});

test("mounts: read-only if the mount or the volume is; a relative path starts at the root", async () => {
  const lab = new Lab();
  const [data] = await lab.mounts(mount("data", { readOnly: true, mountPath: "m" }));
  assert.deepEqual([data?.readOnly, data?.containerPath], [true, "/m"]);
  const [config] = await lab.mounts(mount("config"));
  assert.equal(config?.readOnly, true);
});

test("mounts: no hosts file if the container mounts its own, or without an address", async () => {
  const lab = new Lab();
  const paths = async (...args: Parameters<Lab["mounts"]>) =>
    (await lab.mounts(...args)).map((one) => one.containerPath);
  assert.deepEqual(await paths(mount("config", { mountPath: "/etc/hosts", subPath: "key" })), ["/etc/hosts"]);
  assert.deepEqual(await paths({}, {}, []), []);
  assert.deepEqual(await paths({}, { hostNetwork: true }, []), ["/etc/hosts"]);
});

test("mounts: subPath is a folder with the volume's mode, an existing file, or an expression's value", async () => {
  const lab = new Lab();
  const pathOf = async (container: object) => (await lab.mounts(container))[0]?.hostPath;
  assert.equal(await pathOf(mount("data", { subPath: "a/b" })), join(lab.dataDir, "a/b"));
  assert.equal(statSync(join(lab.dataDir, "a/b")).mode, statSync(lab.dataDir).mode);
  chmodSync(lab.dataDir, 0o2777); // the kubelet's umask does not matter, and the setgid bit is passed on
  await pathOf(mount("data", { subPath: "shared" }));
  assert.equal(statSync(join(lab.dataDir, "shared")).mode & 0o7777, 0o2777);
  const bound = join(lab.rootDir, "pods/u/volume-subpaths/config/app/0");
  assert.equal(await pathOf(mount("config", { subPath: "key" })), bound);
  const env = [{ name: "POD", value: "web" }];
  assert.equal(await pathOf({ env, ...mount("data", { subPathExpr: "$(POD)/x" }) }), join(lab.dataDir, "web/x"));
});

test("mounts: a file by its subPath stays what it was until the container is started again", async () => {
  const lab = new Lab();
  const read = async () => {
    const [config] = await lab.mounts(mount("config", { subPath: "key" }));
    return () => readFileSync(config?.hostPath ?? "", "utf8");
  };
  const first = await read();
  const before = first();
  rmSync(join(lab.configDir, "key"));
  writeFileSync(join(lab.configDir, "key"), "changed");
  assert.equal(first(), before);
  assert.equal((await read())(), "changed");
});

const failures: readonly (readonly [string, object, string, object?])[] = [
  ["no such volume", mount("none"), 'cannot find volume "none" to mount into container "app"'],
  ["an absolute subPath", mount("data", { subPath: "/x" }), "error SubPath `/x` must not be an absolute path"],
  [
    "a subPath that leads up",
    mount("data", { subPath: "a/../../x" }),
    "unable to provision SubPath `a/../../x`: must not contain '..'",
  ],
  [
    "a link that leads out",
    mount("data", { subPath: "out/x" }),
    'failed to prepare subPath for volumeMount "data" of container "app"',
  ],
  [
    "a file where a folder should be",
    mount("data", { subPath: "file/x" }),
    'failed to create subPath directory for volumeMount "data" of container "app"',
  ],
  ["an expression without a value", mount("data", { subPathExpr: "$(NO)" }), 'missing value for "$(NO)"'],
  ["an environment that cannot be made", { envFrom: [{ configMapRef: { name: "x" } }] }, 'configmap "x" not found'],
  [
    "a name that is too long",
    {},
    `failed to construct FQDN from pod hostname and cluster domain, FQDN web.${"s".repeat(40)}.ns.svc.cluster.local is too long (64 characters is the max, 65 characters requested)`,
    { setHostnameAsFQDN: true, subdomain: "s".repeat(40) },
  ],
];
for (const [name, container, message, spec] of failures) {
  test(`run options: ${name}`, async () => {
    const lab = new Lab();
    const outside = mkdtempSync(join(tmpdir(), "outside-"));
    symlinkSync(outside, join(lab.dataDir, "out"));
    writeFileSync(join(lab.dataDir, "file"), "");
    assert.deepEqual(await lab.generate(container, spec), { outcome: "failed", message });
    assert.deepEqual(readdirSync(outside), []);
  });
}

test("run options: hostname, environment, and a folder for the termination log of containers that want one", async () => {
  const lab = new Lab();
  const env = [{ name: "A", value: "1" }];
  const result = await lab.generate({ env, terminationMessagePath: "/dev/termination-log" }, { subdomain: "sub" });
  assert.ok(result.outcome === "ok");
  assert.deepEqual(result.options.envs, env);
  assert.equal(result.options.hostname, "web");
  assert.equal(result.options.podContainerDir, join(lab.rootDir, "pods/u/containers/app"));
  assert.ok(statSync(result.options.podContainerDir).isDirectory());
  const without = await lab.generate({});
  assert.ok(without.outcome === "ok" && without.options.podContainerDir === undefined);
});

test("run options: a uid that leads out of the folder of pods is refused", async () => {
  const lab = new Lab();
  const result = await lab.generate({}, {}, [], "../../x");
  assert.match(result.outcome === "failed" ? result.message : "", /is not a valid uid of a pod/);
  assert.throws(() => lab.helper.getPodDir(".."), /is not a valid uid of a pod/);
});

test("runtime helper: names and DNS", async () => {
  const { helper } = new Lab();
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", namespace: "ns", uid: "u" },
    spec: { containers: [], dnsPolicy: "ClusterFirst" },
    status: {},
  };
  assert.deepEqual(helper.generatePodHostNameAndDomain(pod), { outcome: "ok", hostname: "web", domain: "" });
  const searches = ["ns.svc.cluster.local", "svc.cluster.local", "cluster.local"];
  assert.deepEqual(await helper.getPodDNS(pod), {
    outcome: "ok",
    dns: { servers: ["10.96.0.10"], searches, options: ["ndots:5"] },
  });
});

test("a pod has a cgroup of its own, unless the node's cgroups are not the kubelet's", () => {
  const metadata = { name: "web", namespace: "ns", uid: "u" };
  const pod: V1Pod = { apiVersion: "v1", kind: "Pod", metadata, spec: { containers: [{ name: "app" }] }, status: {} };
  assert.equal(new Lab("cgroupfs").helper.getPodCgroupParent(pod), "/kubepods/besteffort/podu");
  assert.equal(new Lab().helper.getPodCgroupParent(pod), "");
});
