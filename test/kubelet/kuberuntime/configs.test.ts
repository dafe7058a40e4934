import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { MountPropagation, NamespaceMode, ProfileType } from "../../../src/cri/messages/enums.js";
import { generateContainerConfig } from "../../../src/kubelet/kuberuntime/container-config.js";
import {
  calculateSandboxResources,
  generateLinuxContainerResources,
  milliCpuToQuota,
  milliCpuToShares,
  oomScoreAdjust,
} from "../../../src/kubelet/kuberuntime/linux-resources.js";
import {
  buildContainerLogsPath,
  buildPodLogsDirectory,
  containerIdFromLegacyLogSymlink,
  legacyLogSymlink,
  parsePodUidFromLogsDirectory,
  restartCountByLogFiles,
} from "../../../src/kubelet/kuberuntime/log-paths.js";
import { generatePodSandboxConfig, makePortMappings } from "../../../src/kubelet/kuberuntime/sandbox-config.js";
import {
  containerSecurityContext,
  type ImageUser,
  sandboxSecurityContext,
  verifyRunAsNonRoot,
} from "../../../src/kubelet/kuberuntime/security-context.js";
import { fakeHelper, openLab, podOf, signal } from "./lab.js";

const GI = 2 ** 30;
/** A message in a message may be one that is encoded already: here none is. */
const fieldsOf = (message: unknown) => message as Readonly<Record<string, unknown>>;
const first = (pod: ReturnType<typeof podOf>) => (pod.spec.containers?.[0] ?? { name: "" }) as never;

describe("log paths", () => {
  const pod = { name: "web", namespace: "default", uid: "u-1" };
  const id = "a".repeat(64);
  test("of a pod and a container", () => {
    assert.equal(buildPodLogsDirectory("/var/log/pods", pod), "/var/log/pods/default_web_u-1");
    assert.equal(buildContainerLogsPath("app", 2), "app/2.log");
    assert.equal(parsePodUidFromLogsDirectory("default_web_u-1"), "u-1");
  });
  test("links have the container's ID, and fit into a file name", () => {
    const link = legacyLogSymlink("/links", id, "app", pod);
    assert.equal(link, `/links/web_default_app-${id}.log`);
    assert.equal(containerIdFromLegacyLogSymlink(link), id);
    const long = legacyLogSymlink("/links", id, "app", { ...pod, name: "n".repeat(253) });
    assert.equal(long.length, "/links/".length + 255);
    assert.equal(containerIdFromLegacyLogSymlink(long), id);
    assert.equal(containerIdFromLegacyLogSymlink("other.log"), undefined);
  });
  const counts = [
    [[], 0],
    [["0.log"], 1],
    [["0.log", "2.log", "1.log"], 3],
    [["4.log.20260101-000000.gz"], 5],
    [["notes.txt", "x.log", "1.logs"], 0],
  ] as const;
  for (const [names, want] of counts) {
    test(`restarts by logs [${names}]: ${want}`, () => assert.equal(restartCountByLogFiles(names), want));
  }
});

describe("resources", () => {
  const shares = [
    [0, 2],
    [1, 2],
    [2, 2],
    [100, 102],
    [1000, 1024],
    [1_000_000, 262_144],
  ] as const;
  for (const [milli, want] of shares) {
    test(`${milli}m are ${want} shares`, () => assert.equal(milliCpuToShares(milli), want));
  }
  const quotas = [
    [0, 0],
    [1, 1000],
    [10, 1000],
    [100, 10_000],
    [1500, 150_000],
  ] as const;
  for (const [milli, want] of quotas) {
    test(`${milli}m are a quota of ${want}`, () => assert.equal(milliCpuToQuota(milli), want));
  }
  const options = { cpuCfsQuota: true, memoryCapacityBytes: 4 * GI };
  const table = [
    [{}, { cpuShares: 2, cpuQuota: 0, cpuPeriod: 100_000, oomScoreAdj: 1000 }],
    [
      { requests: { cpu: "500m", memory: "1Gi" } },
      { cpuShares: 512, cpuQuota: 0, cpuPeriod: 100_000, oomScoreAdj: 750 },
    ],
    [
      { limits: { cpu: "2", memory: "1Gi" }, requests: { cpu: "2", memory: "1Gi" } },
      { cpuShares: 2048, memoryLimitInBytes: GI, cpuQuota: 200_000, cpuPeriod: 100_000, oomScoreAdj: -997 },
    ],
    [{ limits: { cpu: "1" } }, { cpuShares: 1024, cpuQuota: 100_000, cpuPeriod: 100_000, oomScoreAdj: 999 }],
  ] as const;
  for (const [resources, want] of table) {
    test(`of ${JSON.stringify(resources)}`, () => {
      const pod = podOf([{ resources }]);
      assert.deepEqual(generateLinuxContainerResources(pod, first(pod), options), want);
    });
  }
  test("without quotas limits of cpu are shares only", () => {
    const pod = podOf([{ resources: { limits: { cpu: "1" } } }]);
    const made = generateLinuxContainerResources(pod, first(pod), { ...options, cpuCfsQuota: false });
    assert.deepEqual(made, { cpuShares: 1024, oomScoreAdj: 999 });
  });
  test("a pod gets its containers' sum, or what the greatest init container needs", () => {
    const of = (cpu: string, memory: string) => ({ resources: { requests: { cpu, memory }, limits: { cpu, memory } } });
    const pod = podOf([of("1", "1Gi"), of("1", "1Gi")], { initContainers: [of("500m", "3Gi")] });
    assert.deepEqual(calculateSandboxResources(pod, true), {
      cpuShares: 2048,
      memoryLimitInBytes: 3 * GI,
      cpuQuota: 200_000,
      cpuPeriod: 100_000,
    });
  });
  const scores = [
    [{ requests: { memory: "64Gi" } }, {}, 3],
    [{ requests: { memory: "1" } }, {}, 999],
    [{}, { priorityClassName: "system-node-critical", priority: 2_000_001_000 }, -997],
    [{}, { priorityClassName: "system-cluster-critical", priority: 2_000_000_000 }, 1000],
  ] as const;
  for (const [resources, spec, want] of scores) {
    test(`oom score of ${JSON.stringify({ ...resources, ...spec })}: ${want}`, () => {
      const pod = podOf([{ resources }], spec);
      assert.equal(oomScoreAdjust(pod, first(pod), 4 * GI), want);
    });
  }
});

describe("security", () => {
  const where = (pod: ReturnType<typeof podOf>) =>
    `(pod: "${pod.metadata.name}_default(${pod.metadata.uid})", container: c0)`;
  const root: ImageUser = { uid: 0, username: "" };
  const table: readonly [string, object, object, ImageUser, string | undefined][] = [
    ["nothing asked", {}, {}, root, undefined],
    ["root may be", {}, { runAsNonRoot: false }, root, undefined],
    ["the image is root", {}, { runAsNonRoot: true }, root, "container has runAsNonRoot and image will run as root"],
    ["... says the pod", { runAsNonRoot: true }, {}, root, "container has runAsNonRoot and image will run as root"],
    ["... and the container says otherwise", { runAsNonRoot: true }, { runAsNonRoot: false }, root, undefined],
    ["a user is given", { runAsUser: 5 }, { runAsNonRoot: true }, root, undefined],
    ["root is given", { runAsUser: 0 }, { runAsNonRoot: true }, root, "container's runAsUser breaks non-root policy"],
    ["the image has a number", {}, { runAsNonRoot: true }, { uid: 7, username: "" }, undefined],
    [
      "the image has a name",
      {},
      { runAsNonRoot: true },
      { username: "app" },
      "container has runAsNonRoot and image has non-numeric user (app), cannot verify user is non-root",
    ],
  ];
  for (const [name, podContext, securityContext, image, want] of table) {
    test(`non-root: ${name}`, () => {
      const pod = podOf([{ securityContext }], { securityContext: podContext });
      assert.equal(
        verifyRunAsNonRoot(pod, first(pod), image),
        want === undefined ? undefined : `${want} ${where(pod)}`,
      );
    });
  }

  test("a container's own settings go before the pod's", () => {
    const pod = podOf(
      [
        {
          securityContext: {
            runAsUser: 1,
            privileged: true,
            readOnlyRootFilesystem: true,
            allowPrivilegeEscalation: false,
            capabilities: { add: ["NET_ADMIN"], drop: ["ALL"] },
            seccompProfile: { type: "Localhost", localhostProfile: "p.json" },
          },
        },
      ],
      {
        hostPID: true,
        securityContext: {
          runAsUser: 2,
          runAsGroup: 3,
          fsGroup: 4,
          supplementalGroups: [5],
          seccompProfile: { type: "RuntimeDefault" },
        },
      },
    );
    const options = { seccompProfileRoot: "/root/seccomp", extraGroups: [6], targetId: "target" };
    const { maskedPaths, readonlyPaths, ...made } = containerSecurityContext(pod, first(pod), root, options);
    assert.deepEqual(made, {
      capabilities: { addCapabilities: ["NET_ADMIN"], dropCapabilities: ["ALL"] },
      privileged: true,
      namespaceOptions: {
        network: NamespaceMode.POD,
        ipc: NamespaceMode.POD,
        pid: NamespaceMode.TARGET,
        targetId: "target",
      },
      runAsUser: { value: 1 },
      runAsGroup: { value: 3 },
      readonlyRootfs: true,
      supplementalGroups: [4, 5, 6],
      noNewPrivs: true,
      seccomp: { profileType: ProfileType.Localhost, localhostRef: "/root/seccomp/p.json" },
    });
    assert.ok(maskedPaths?.includes("/proc/kcore") && readonlyPaths?.includes("/proc/sys"));
    assert.equal(sandboxSecurityContext(pod, []).privileged, true);
    assert.equal(fieldsOf(sandboxSecurityContext(pod, []).namespaceOptions)["pid"], NamespaceMode.NODE);
  });

  test("without any, the image says who it runs as, and nothing is confined", () => {
    const pod = podOf([{}]);
    const made = containerSecurityContext(
      pod,
      first(pod),
      { username: "app" },
      { seccompProfileRoot: "/", extraGroups: [] },
    );
    assert.deepEqual(
      [made.runAsUser, made.runAsUsername, made.noNewPrivs, made.privileged, made.seccomp],
      [undefined, "app", false, false, { profileType: ProfileType.Unconfined }],
    );
    assert.equal(fieldsOf(made.namespaceOptions)["pid"], NamespaceMode.CONTAINER);
    const open = podOf([{ securityContext: { procMount: "Unmasked" } }], { shareProcessNamespace: true });
    const unmasked = containerSecurityContext(open, first(open), root, { seccompProfileRoot: "/", extraGroups: [] });
    assert.deepEqual([unmasked.maskedPaths, fieldsOf(unmasked.namespaceOptions)["pid"]], [[], NamespaceMode.POD]);
  });
});

describe("sandboxes", () => {
  const options = { podLogsDirectory: "/logs", cpuCfsQuota: true };
  const make = (pod: ReturnType<typeof podOf>, helper = {}) =>
    generatePodSandboxConfig(pod, 3, fakeHelper("/f", helper), options, signal);

  test("have a name, labels, DNS, a log folder, ports and sysctls", async () => {
    const ports = [{ containerPort: 80, hostPort: 8080, protocol: "UDP", hostIP: "127.0.0.1" }];
    const sysctls = [
      { name: "net/ipv4/ip_forward", value: "1" },
      { name: "kernel.shmmax", value: "2" },
    ];
    const pod = podOf(
      [{ ports }],
      { securityContext: { sysctls } },
      { name: "web", uid: "u", labels: { app: "x" }, annotations: { note: "n" } },
    );
    const made = await make(pod);
    assert.ok(made.outcome === "ok");
    const { linux, ...config } = made.config;
    assert.deepEqual(config, {
      metadata: { name: "web", namespace: "default", uid: "u", attempt: 3 },
      labels: {
        app: "x",
        "io.kubernetes.pod.name": "web",
        "io.kubernetes.pod.namespace": "default",
        "io.kubernetes.pod.uid": "u",
      },
      annotations: { note: "n" },
      dnsConfig: { servers: ["10.96.0.10"], searches: [], options: [] },
      hostname: "web",
      logDirectory: "/logs/default_web_u",
      portMappings: [{ hostIp: "127.0.0.1", hostPort: 8080, containerPort: 80, protocol: 1 }],
    });
    assert.deepEqual(fieldsOf(linux)["sysctls"], { "net.ipv4.ip_forward": "1", "kernel.shmmax": "2" });
  });

  const names = [
    [{ hostNetwork: true }, "", ""],
    [{ setHostnameAsFQDN: true }, "ns.svc", "web.ns.svc"],
    [{}, "ns.svc", "web"],
  ] as const;
  for (const [spec, domain, want] of names) {
    test(`are called "${want}" with ${JSON.stringify(spec)}`, async () => {
      const pod = podOf([{}], spec, { name: "web" });
      const made = await make(pod, {
        generatePodHostNameAndDomain: () => ({ outcome: "ok", hostname: "web", domain }),
      });
      assert.equal(made.outcome === "ok" ? made.config.hostname : made.message, want);
    });
  }

  test("whose full name is too long are refused", async () => {
    const pod = podOf([{}], { setHostnameAsFQDN: true });
    const domain = "d".repeat(61);
    const made = await make(pod, { generatePodHostNameAndDomain: () => ({ outcome: "ok", hostname: "web", domain }) });
    assert.match(made.outcome === "ok" ? "" : made.message, /is too long/);
  });

  test("a port that is named, or written, twice counts once", () => {
    const ports = [
      { name: "a", containerPort: 1 },
      { name: "a", containerPort: 2 },
      { containerPort: 3 },
      { containerPort: 3 },
      { containerPort: 3, hostIP: "::1" },
    ];
    assert.deepEqual(
      makePortMappings(ports).map(({ containerPort, hostIp }) => [containerPort, hostIp]),
      [
        [1, ""],
        [3, ""],
        [3, "::1"],
      ],
    );
  });
});

test("containers: what the runtime is told", async () => {
  const asked: unknown[] = [];
  await using lab = await openLab({
    helper: {
      generateRunContainerOptions: async (_pod, _container, podIp, podIps) => {
        asked.push([podIp, podIps]);
        return {
          outcome: "ok",
          options: {
            envs: [{ name: "WHO", value: "me" }],
            mounts: [
              { name: "v", hostPath: "/h", containerPath: "/c", readOnly: true, propagation: "HostToContainer" },
            ],
            devices: [{ pathOnHost: "/dev/a", pathInContainer: "/dev/b", permissions: "r" }],
            annotations: { device: "x" },
          },
        };
      },
    },
  });
  const pod = podOf([
    {
      name: "app",
      command: ["say", "$(WHO)", "$$(WHO)"],
      args: ["$(NOBODY)"],
      workingDir: "/w",
      stdin: true,
      tty: true,
    },
  ]);
  const request = { pod, container: first(pod), restartCount: 2, podIps: ["10.0.0.1", "::1"], imageRef: "sha256:x" };
  const context = {
    runtimeHelper: lab.lab.helper,
    imageService: lab.lab.client.images,
    random: { bytes: () => Buffer.alloc(4) },
    options: {
      kubeVersion: "1.25",
      podLogsDirectory: `${lab.folder}/logs`,
      seccompProfileRoot: "/",
      memoryCapacityBytes: GI,
    },
  };
  const made = await generateContainerConfig(context as never, request, signal);
  assert.ok(made.outcome === "ok");
  const { config } = made;
  assert.deepEqual(asked, [["10.0.0.1", ["10.0.0.1", "::1"]]]);
  assert.deepEqual([config.command, config.args], [["say", "me", "$(WHO)"], ["$(NOBODY)"]]);
  assert.deepEqual(
    [config.metadata, config.image, config.workingDir, config.logPath, config.stdin, config.tty],
    [{ name: "app", attempt: 2 }, { image: "sha256:x", userSpecifiedImage: "busybox" }, "/w", "app/2.log", true, true],
  );
  assert.deepEqual(config.mounts, [
    {
      hostPath: "/h",
      containerPath: "/c",
      readonly: true,
      selinuxRelabel: false,
      propagation: MountPropagation.PROPAGATION_HOST_TO_CONTAINER,
    },
  ]);
  assert.deepEqual(config.devices, [{ hostPath: "/dev/a", containerPath: "/dev/b", permissions: "r" }]);
  assert.equal(config.annotations?.["device"], "x");
  assert.equal(config.annotations?.["io.kubernetes.container.restartCount"], "2");
});
