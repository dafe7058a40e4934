import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { V1Volume } from "@kubernetes/client-node";
import { test } from "vitest";
import type { ObjectResult } from "../../../src/kubelet/util/manager/object-cache.js";
import type { HostPaths } from "../../../src/kubelet/volumes/host-path.js";
import { removeAbandonedMemoryMedia, setUpMemoryMedium } from "../../../src/kubelet/volumes/memory-medium.js";
import {
  POD_ATTACH_AND_MOUNT_TIMEOUT_MS,
  VolumeManager,
  VolumesError,
} from "../../../src/kubelet/volumes/volume-manager.js";
import type { V1Pod } from "../../../src/staging/apimachinery/api/pod.js";
import type { Wire } from "../../../src/staging/apimachinery/wire.js";
import { sizeOfMemoryFolder } from "../../../src/util/os/memory-folder.js";
import { CountedMetrics } from "../../support/counted.js";
import { FakeClock, FakeRandom, settle, untilTrue } from "../../support/fake-clock.js";
import { RecordedEvents } from "../../support/recorded-events.js";
import { recordingTrace } from "../../support/trace.js";

const SIGNAL = new AbortController().signal;
const base64 = (text: string) => Buffer.from(text).toString("base64");

/** The pod mounts each of its volumes. */
function podOf(volumes: readonly Wire<V1Volume>[], spec: object = {}): V1Pod {
  const volumeMounts = volumes.map((volume) => ({ name: volume.name, mountPath: "/m" }));
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", namespace: "ns", uid: "u", labels: { app: "web" } },
    spec: { containers: [{ name: "c", volumeMounts, resources: { limits: { cpu: "2" } } }], volumes, ...spec },
    status: {},
  };
}

class Lab {
  readonly rootDir = mkdtempSync(join(tmpdir(), "volumes-"));
  readonly clock = new FakeClock();
  readonly metrics = new CountedMetrics();
  readonly recorder = new RecordedEvents();
  readonly configMaps = new Map<string, Record<string, string>>();
  readonly secrets = new Map<string, Record<string, string>>([["keys", { password: base64("s3cret") }]]);
  token = { outcome: "ok", token: "a-token" } as
    | { outcome: "ok"; token: string }
    | { outcome: "failed"; message: string };
  readonly manager: VolumeManager;

  constructor(hostPaths: HostPaths = { kind: "refuse" }) {
    const get =
      (kind: string, all: Map<string, Record<string, string>>) =>
      async (_: string, name: string): Promise<ObjectResult> => {
        const data = all.get(name);
        if (data === undefined) return { outcome: "not-found", message: `${kind} "${name}" not found` };
        return {
          outcome: "ok",
          object: { apiVersion: "v1", kind: kind === "secret" ? "Secret" : "ConfigMap", metadata: {}, data },
        };
      };
    const { clock, recorder } = this;
    this.manager = new VolumeManager(
      {
        clock,
        recorder,
        metrics: this.metrics,
        random: new FakeRandom(),
        trace: recordingTrace(clock).trace,
        configMaps: { get: get("configmap", this.configMaps) },
        secrets: { get: get("secret", this.secrets) },
        tokens: { getServiceAccountToken: async () => this.token },
        allocatable: () => ({ cpu: "4", memory: "8Gi" }),
      },
      { rootDir: this.rootDir, hostPaths },
    );
    this.configMaps.set("settings", { colour: "red", shape: "round" });
  }

  async mount(pod: V1Pod) {
    await this.manager.waitForAttachAndMount(pod, SIGNAL);
    return this.manager.getMountedVolumes("u");
  }

  /** What a container sees: `{ file: content }`. */
  files(dir: string): Record<string, string> {
    const visible = readdirSync(dir, { recursive: true, withFileTypes: true });
    const names = visible.filter((one) => !one.name.startsWith("..") && one.parentPath === dir).map(({ name }) => name);
    return Object.fromEntries(names.sort().map((name) => [name, readFileSync(join(dir, name), "utf8")]));
  }
}

const kinds: readonly (readonly [string, object, string, Record<string, string>])[] = [
  ["configMap", { configMap: { name: "settings" } }, "configmap", { colour: "red", shape: "round" }],
  [
    "configMap with items",
    { configMap: { name: "settings", items: [{ key: "shape", path: "form" }] } },
    "configmap",
    { form: "round" },
  ],
  ["configMap that need not be there", { configMap: { name: "none", optional: true } }, "configmap", {}],
  ["secret", { secret: { secretName: "keys" } }, "secret", { password: "s3cret" }],
  [
    "downwardAPI",
    {
      downwardAPI: {
        items: [
          { path: "labels", fieldRef: { fieldPath: "metadata.labels" } },
          { path: "cpu", resourceFieldRef: { containerName: "c", resource: "limits.cpu", divisor: "1m" } },
        ],
      },
    },
    "downward-api",
    { cpu: "2000", labels: 'app="web"' },
  ],
  [
    "projected",
    {
      projected: {
        sources: [
          { serviceAccountToken: { path: "token", expirationSeconds: 3607 } },
          { configMap: { name: "settings", items: [{ key: "colour", path: "ca.crt" }] } },
          { downwardAPI: { items: [{ path: "namespace", fieldRef: { fieldPath: "metadata.namespace" } }] } },
          { secret: { name: "keys" } },
        ],
      },
    },
    "projected",
    { token: "a-token", "ca.crt": "red", namespace: "ns", password: "s3cret" },
  ],
];
for (const [name, source, plugin, want] of kinds) {
  test(`volumes: ${name}`, async () => {
    const lab = new Lab();
    const volume = (await lab.mount(podOf([{ name: "v", ...source }]))).get("v");
    assert.equal(volume?.hostPath, join(lab.rootDir, `pods/u/volumes/kubernetes.io~${plugin}/v`));
    assert.equal(volume.readOnly, true);
    assert.deepEqual(lab.files(volume.hostPath), Object.fromEntries(Object.entries(want).sort()));
  });
}

test("volumes: modes are the item's, else the volume's, else 0644; a token of a pod with fsGroup is its owner's", async () => {
  const lab = new Lab();
  const items = [
    { key: "colour", path: "a", mode: 0o400 },
    { key: "shape", path: "b" },
  ];
  const sources = [{ serviceAccountToken: { path: "token" } }];
  const volumes = [
    { name: "v", configMap: { name: "settings", items, defaultMode: 0o600 } },
    { name: "w", secret: { secretName: "keys" } },
    { name: "t", projected: { sources } },
  ];
  const mounted = await lab.mount(podOf(volumes));
  const mode = (volume: string, file: string) =>
    (statSync(join(mounted.get(volume)?.hostPath ?? "", file)).mode & 0o777).toString(8);
  assert.deepEqual(
    [mode("v", "a"), mode("v", "b"), mode("w", "password"), mode("t", "token")],
    ["400", "600", "644", "644"],
  );
});

const mounting = { name: "c", volumeMounts: [{ name: "t", mountPath: "/m" }] };
const user = (uid: number) => ({ securityContext: { runAsUser: uid } });
const TOKENS: readonly (readonly [what: string, spec: object, mode: string, uid: number | undefined])[] = [
  ["the pod's user", user(1000), "600", 1000],
  [
    "the containers' common user",
    {
      containers: [
        { ...mounting, ...user(7) },
        { name: "d", ...user(7) },
      ],
    },
    "600",
    7,
  ],
  [
    "different users",
    {
      containers: [
        { ...mounting, ...user(7) },
        { name: "d", ...user(8) },
      ],
    },
    "644",
    undefined,
  ],
  ["a container without one", { containers: [{ ...mounting, ...user(7) }, { name: "d" }] }, "644", undefined],
  [
    "an init container without one",
    { initContainers: [{ name: "i" }], containers: [{ ...mounting, ...user(7) }] },
    "644",
    undefined,
  ],
  ["none", {}, "644", undefined],
];
for (const [what, spec, mode, uid] of TOKENS) {
  test(`volumes: a token's owner: ${what}`, async () => {
    const lab = new Lab();
    const pod = podOf([{ name: "t", projected: { sources: [{ serviceAccountToken: { path: "token" } }] } }], spec);
    const stat = statSync(join((await lab.mount(pod)).get("t")?.hostPath ?? "", "token"));
    assert.equal((stat.mode & 0o777).toString(8), mode);
    const own = process.getuid?.();
    assert.equal(stat.uid, own === 0 ? (uid ?? 0) : own);
    // Another user than root only marks it.
    assert.equal((stat.mode & 0o4000) !== 0, own !== 0 && uid !== undefined);
  });
}

test("volumes: emptyDir is there, writable for all, and keeps what is in it", async () => {
  const lab = new Lab();
  const pod = podOf([{ name: "v", emptyDir: {} }]);
  const volume = (await lab.mount(pod)).get("v");
  const dir = volume?.hostPath ?? "";
  assert.equal(dir, join(lab.rootDir, "pods/u/volumes/kubernetes.io~empty-dir/v"));
  assert.equal(volume?.readOnly, false);
  assert.equal(statSync(dir).mode & 0o777, 0o777);
  writeFileSync(join(dir, "kept"), "x");
  await lab.mount(pod);
  assert.deepEqual(readdirSync(dir), ["kept"]);
});

const hasSharedMemory = existsSync("/dev/shm") && statfsSync("/dev/shm").type === 0x01021994;

test.runIf(hasSharedMemory)(
  "volumes: an emptyDir of medium Memory is on a tmpfs, outlives its kubelet, and goes with its pod",
  async () => {
    const lab = new Lab();
    const pod = podOf([{ name: "v", emptyDir: { medium: "Memory" } }]);
    const dir = (await lab.mount(pod)).get("v")?.hostPath ?? "";
    assert.equal(statfsSync(dir).type, 0x01021994);
    assert.equal(statSync(dir).mode & 0o777, 0o777);
    writeFileSync(join(dir, "kept"), "x");
    const link = join(lab.rootDir, "pods/u/volumes/kubernetes.io~empty-dir/v");
    assert.equal(await setUpMemoryMedium(link, 1), dir);
    assert.deepEqual(readdirSync(dir), ["kept"]);
    await lab.manager.waitForUnmount(pod, SIGNAL);
    assert.equal(existsSync(dirname(dir)), false);
  },
);

test.runIf(hasSharedMemory)("volumes: an emptyDir of medium Memory goes with its kubelet's folder", async () => {
  const lab = new Lab();
  const dir = (await lab.mount(podOf([{ name: "v", emptyDir: { medium: "Memory" } }]))).get("v")?.hostPath ?? "";
  await removeAbandonedMemoryMedia();
  assert.equal(existsSync(dir), true);
  rmSync(lab.rootDir, { recursive: true });
  await removeAbandonedMemoryMedia();
  assert.equal(existsSync(dirname(dir)), false);
});

const sizes: readonly (readonly [limit: string | undefined, sizeLimit: string | undefined, bytes: number])[] = [
  [undefined, undefined, 8 * 1024 ** 3],
  ["64Mi", undefined, 64 * 1024 ** 2],
  ["64Mi", "16Mi", 16 * 1024 ** 2],
  ["64Mi", "1Gi", 64 * 1024 ** 2],
];
for (const [limit, sizeLimit, bytes] of sizes) {
  test.runIf(hasSharedMemory)(
    `volumes: medium Memory, limit ${limit}, sizeLimit ${sizeLimit}: ${bytes} bytes`,
    async () => {
      const lab = new Lab();
      const resources = limit === undefined ? {} : { limits: { memory: limit } };
      const pod = podOf([
        { name: "v", emptyDir: { medium: "Memory", ...(sizeLimit === undefined ? {} : { sizeLimit }) } },
      ]);
      const [container] = pod.spec.containers ?? [];
      const limited = { ...pod, spec: { ...pod.spec, containers: [{ ...container, resources }] } } as typeof pod;
      const dir = (await lab.mount(limited)).get("v")?.hostPath ?? "";
      assert.equal(sizeOfMemoryFolder(dir), bytes);
      await lab.manager.waitForUnmount(limited, SIGNAL);
    },
  );
}

const isRoot = process.getuid?.() === 0;

test.runIf(isRoot)(
  "volumes: fsGroup may read secrets, config maps and projections, and write to an emptyDir",
  async () => {
    const lab = new Lab();
    const volumes = [
      { name: "s", secret: { secretName: "keys", defaultMode: 0o400 } },
      { name: "c", configMap: { name: "settings" } },
      { name: "p", projected: { sources: [{ secret: { name: "keys" } }], defaultMode: 0o440 } },
      { name: "e", emptyDir: {} },
    ];
    const mounted = await lab.mount(podOf(volumes, { securityContext: { fsGroup: 1001 } }));
    const seen = (volume: string, file = "") => {
      const { mode, gid } = statSync(join(mounted.get(volume)?.hostPath ?? "", file));
      return `${(mode & 0o7777).toString(8)} ${gid}`;
    };
    assert.deepEqual(
      [seen("s", "password"), seen("c", "colour"), seen("p", "password"), seen("s"), seen("e")],
      ["440 1001", "644 1001", "440 1001", "3777 1001", "2777 1001"],
    );
  },
);

test("volumes: only those that a container mounts are set up", async () => {
  const lab = new Lab();
  const pod = podOf([{ name: "v", emptyDir: {} }], { containers: [{ name: "c" }] });
  assert.equal((await lab.mount(pod)).size, 0);
});

test("volumes: the next sync writes a changed config map again; a deleted one keeps its files", async () => {
  const lab = new Lab();
  const pod = podOf([{ name: "v", configMap: { name: "settings" } }]);
  const dir = (await lab.mount(pod)).get("v")?.hostPath ?? "";
  lab.configMaps.set("settings", { colour: "blue" });
  await lab.mount(pod);
  assert.deepEqual(lab.files(dir), { colour: "blue" });
  lab.configMaps.delete("settings");
  await lab.mount(pod);
  assert.deepEqual(lab.files(dir), { colour: "blue" });
  assert.deepEqual(lab.recorder.lines, [
    'Warning FailedMount MountVolume.SetUp failed for volume "v" : configmap "settings" not found',
  ]);
});

const failing: readonly (readonly [string, object, string])[] = [
  ["no such config map", { configMap: { name: "y" } }, 'configmap "y" not found'],
  ["no such secret", { secret: { secretName: "y" } }, 'secret "y" not found'],
  [
    "no such key",
    { configMap: { name: "settings", items: [{ key: "k", path: "p" }] } },
    "configmap references non-existent config key: k",
  ],
  [
    "no such key of a secret",
    { secret: { secretName: "keys", items: [{ key: "k", path: "p" }] } },
    "references non-existent secret key: k",
  ],
  [
    "a path that leads out",
    { configMap: { name: "settings", items: [{ key: "colour", path: "../../x" }] } },
    "invalid path: must not contain '..': ../../x",
  ],
  [
    "two things wrong at once",
    { projected: { sources: [{ configMap: { name: "y" } }, { secret: { name: "z" } }] } },
    '[configmap "y" not found, secret "z" not found]',
  ],
  [
    "a field that is none",
    { downwardAPI: { items: [{ path: "a", fieldRef: { fieldPath: "status.podIP" } }] } },
    "unsupported fieldPath: status.podIP",
  ],
  [
    "a kind that is not served",
    { nfs: { server: "s", path: "/" } },
    "no volume plugin matched: this kubelet has none for nfs volumes",
  ],
  [
    "a path of the node",
    { hostPath: { path: "/etc" } },
    "hostPath volumes are refused: this node has no files of its own to give",
  ],
];
for (const [name, source, why] of failing) {
  test(`volumes: ${name}: FailedMount, and the pod waits until its time is over`, async () => {
    const lab = new Lab();
    const waiting = lab.manager.waitForAttachAndMount(
      podOf([
        { name: "x", ...source },
        { name: "z", emptyDir: {} },
      ]),
      SIGNAL,
    );
    await settle();
    await untilSleeping(lab.clock);
    assert.deepEqual(lab.recorder.lines, [`Warning FailedMount MountVolume.SetUp failed for volume "x" : ${why}`]);
    const message = "unmounted volumes=[x], unattached volumes=[x z]: timed out waiting for the condition";
    const failed = assert.rejects(waiting, new VolumesError(message));
    await passTime(lab.clock, POD_ATTACH_AND_MOUNT_TIMEOUT_MS, failed);
    await failed;
    // 0, 0.5, 1.5, 3.5, 7.5, 15.5, 31.5, 63.5 s: the next would be at 127.5 s
    assert.equal(lab.recorder.lines.length, 8);
    assert.equal(lab.clock.sleeping, 0);
  });
}

test("volumes: what appears while the pod waits ends the wait", async () => {
  const lab = new Lab();
  const waiting = lab.manager.waitForAttachAndMount(podOf([{ name: "x", configMap: { name: "late" } }]), SIGNAL);
  await untilSleeping(lab.clock);
  lab.configMaps.set("late", { a: "1" });
  await lab.clock.advance(500);
  await waiting;
  assert.equal(lab.manager.getMountedVolumes("u").size, 1);
});

test("volumes: an abort ends the wait with its reason", async () => {
  const lab = new Lab();
  const stop = new AbortController();
  const waiting = lab.manager.waitForAttachAndMount(podOf([{ name: "x", configMap: { name: "late" } }]), stop.signal);
  await untilSleeping(lab.clock);
  const reason = new Error("enough");
  stop.abort(reason);
  await assert.rejects(waiting, reason);
  assert.equal(lab.clock.sleeping, 0);
});

test("volumes: they go with the pod; links in them are not followed", async () => {
  const lab = new Lab();
  const pod = podOf([{ name: "v", emptyDir: {} }]);
  const dir = (await lab.mount(pod)).get("v")?.hostPath ?? "";
  const outside = mkdtempSync(join(tmpdir(), "outside-"));
  writeFileSync(join(outside, "precious"), "");
  symlinkSync(outside, join(dir, "link"));
  assert.equal(lab.manager.podVolumesExist("u"), true);
  await lab.manager.waitForUnmount(pod, SIGNAL);
  assert.equal(lab.manager.podVolumesExist("u"), false);
  assert.deepEqual(readdirSync(outside), ["precious"]);
  assert.deepEqual(readdirSync(join(lab.rootDir, "pods/u")), []);
  await lab.manager.waitForUnmount(pod, SIGNAL);
});

test("volumes: a name that leads out of the pod's folder is refused", async () => {
  const lab = new Lab();
  const pod = podOf([{ name: "../../../x", emptyDir: {} }]);
  await assert.rejects(lab.manager.waitForAttachAndMount(pod, SIGNAL), /is not a valid name of a volume/);
  assert.equal(existsSync(join(lab.rootDir, "pods")), false);
});

test("hostPath: below a root of its own nothing leads out, also not by way of links", async () => {
  const root = mkdtempSync(join(tmpdir(), "host-"));
  const outside = mkdtempSync(join(tmpdir(), "outside-"));
  symlinkSync(outside, join(root, "out"));
  symlinkSync("../../..", join(root, "up"));
  const lab = new Lab({ kind: "below", root });
  const volumes = ["/data/a", "/out/b", "/up/c"].map((path, i) => ({ name: `v${i}`, hostPath: { path } }));
  const mounted = await lab.mount(podOf(volumes));
  const paths = [...mounted.values()].map(({ hostPath }) => hostPath);
  assert.deepEqual(paths, [join(root, "data/a"), join(root, outside, "b"), join(root, "c")]);
  assert.ok(paths.every((path) => statSync(path).isDirectory()));
  assert.deepEqual(readdirSync(outside), []);
});

const types: readonly (readonly [string, string, string | undefined])[] = [
  ["", "file", undefined],
  ["Directory", "dir", undefined],
  ["DirectoryOrCreate", "new/dir", undefined],
  ["File", "file", undefined],
  ["FileOrCreate", "new/file", undefined],
  ["Directory", "file", "is not a directory"],
  ["Directory", "none", "is not a directory"],
  ["File", "dir", "is not a file"],
  ["Socket", "file", "is not a socket file"],
  ["CharDevice", "file", "is not a character device"],
  ["BlockDevice", "none", "is not a block device"],
];
for (const [type, name, why] of types) {
  test(`hostPath: ${name} as ${type || "anything"} ${why ?? "is taken"}`, async () => {
    const dir = mkdtempSync(join(tmpdir(), "host-"));
    mkdirSync(join(dir, "dir"));
    writeFileSync(join(dir, "file"), "");
    const lab = new Lab({ kind: "real" });
    const path = join(dir, name);
    const stop = new AbortController();
    const waiting = lab.manager.waitForAttachAndMount(podOf([{ name: "v", hostPath: { path, type } }]), stop.signal);
    if (why === undefined) {
      await waiting;
      assert.equal(lab.manager.getMountedVolumes("u").get("v")?.hostPath, path);
      return;
    }
    await untilSleeping(lab.clock);
    stop.abort();
    await assert.rejects(waiting);
    const message = `hostPath type check failed: ${path} ${why}`;
    assert.deepEqual(lab.recorder.lines, [`Warning FailedMount MountVolume.SetUp failed for volume "v" : ${message}`]);
  });
}

/** File system calls take real time: the clock advances only when a sleep is pending. */
const untilSleeping = (clock: FakeClock) => untilTrue(() => clock.sleeping > 0);

async function passTime(clock: FakeClock, ms: number, waiting: Promise<unknown>): Promise<void> {
  let isDone = false;
  void waiting.then(() => (isDone = true));
  for (let leftMs = ms; leftMs > 0; leftMs -= 500) {
    await clock.advance(Math.min(500, leftMs));
    await untilTrue(() => clock.sleeping > 0 || isDone);
  }
}

test("volumes: what is mounted and removed is counted and timed by plugin, and so are failures", async () => {
  const lab = new Lab();
  const pod = podOf([
    { name: "a", configMap: { name: "settings" } },
    { name: "b", emptyDir: {} },
    { name: "c", configMap: { name: "missing" } },
    { name: "d", nfs: { server: "s", path: "/" } },
  ]);
  const waiting = lab.manager.waitForAttachAndMount(pod, SIGNAL).catch((error: unknown) => error);
  await untilTrue(() => lab.recorder.lines.length === 2);
  const counts = () => lab.manager.volumeCounts().map(({ labels }) => `${labels["state"]} ${labels["plugin_name"]}`);
  assert.deepEqual(counts(), [
    "actual_state_of_world kubernetes.io/configmap",
    "actual_state_of_world kubernetes.io/empty-dir",
    "desired_state_of_world kubernetes.io/configmap",
    "desired_state_of_world kubernetes.io/empty-dir",
    "desired_state_of_world kubernetes.io/configmap",
    "desired_state_of_world N/A",
  ]);
  await lab.clock.advance(POD_ATTACH_AND_MOUNT_TIMEOUT_MS);
  assert.ok((await waiting) instanceof VolumesError);
  await lab.manager.waitForUnmount(pod, SIGNAL);
  assert.deepEqual(counts(), []);
  const series = await lab.metrics.series("storage_operation_duration_seconds");
  const count = (operation: string, status: string, plugin: string) =>
    `migrated=false operation_name=${operation} status=${status} volume_plugin=${plugin} count`;
  const counted = series.filter((one) => one.includes(" count ")).map((one) => one.replace(/ \d+$/, ""));
  assert.deepEqual(counted, [
    count("volume_mount", "fail-unknown", "N/A"),
    count("volume_mount", "fail-unknown", "kubernetes.io/configmap"),
    count("volume_mount", "success", "kubernetes.io/configmap"),
    count("volume_mount", "success", "kubernetes.io/empty-dir"),
    count("volume_unmount", "success", "kubernetes.io/configmap"),
    count("volume_unmount", "success", "kubernetes.io/empty-dir"),
  ]);
  rmSync(lab.rootDir, { recursive: true });
});
