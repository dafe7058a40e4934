import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { generateContainerConfig } from "../../../src/kubelet/kuberuntime/container-config.js";
import {
  buildContainerLogsPath,
  buildPodLogsDirectory,
  containerIdFromLegacyLogSymlink,
  legacyLogSymlink,
  parsePodUidFromLogsDirectory,
  restartCountByLogFiles,
} from "../../../src/kubelet/kuberuntime/logs/log-paths.js";
import { generatePodSandboxConfig, makePortMappings } from "../../../src/kubelet/kuberuntime/sandbox-config.js";
import { MountPropagation } from "../../../src/staging/cri/messages/enums.js";
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

test("containers: the CRI configuration", async () => {
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
