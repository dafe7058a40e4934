import assert from "node:assert/strict";
import { afterEach, beforeAll, test } from "vitest";
import { usageOf } from "../../../src/cluster/runtime/state/usage.js";
import type { Init } from "../../../src/staging/apimachinery/protobuf/fields.js";
import { NamespaceMode, ProfileType } from "../../../src/staging/cri/messages/enums.js";
import type { PodSandboxConfig } from "../../../src/staging/cri/messages/sandbox.js";
import type { LinuxContainerSecurityContext } from "../../../src/staging/cri/messages/security.js";
import { loadPrograms, RuntimeLab, stateOf } from "../runtime/lab.js";

type Security = Init<typeof LinuxContainerSecurityContext>;

let lab = new RuntimeLab();
beforeAll(loadPrograms);
afterEach(() => {
  lab.stop();
  lab = new RuntimeLab();
});

const OWN_PIDS = { pid: NamespaceMode.CONTAINER };

/** The output of a script in a container with this security context. */
async function run(script: string, security: Security = {}, sandbox: Init<typeof PodSandboxConfig> = {}) {
  const securityContext = { namespaceOptions: OWN_PIDS, ...security };
  const command = ["sleep", "infinity"];
  const { stdout, stderr } = await lab.sh(
    script,
    lab.run({ command, linux: { securityContext } }, lab.sandbox(sandbox)),
  );
  return `${stdout}${stderr}`;
}

const DEFAULT_MASK = "00000000a80425fb";
const SYSCTLS = { linux: { sysctls: { "kernel.shm_rmid_forced": "1", "net.x": "7" } } };

const CASES: readonly (readonly [string, string, Security, string])[] = [
  [
    "a process names its user",
    "grep ^[UG]id: /proc/self/status",
    { runAsUser: { value: 1000 }, runAsGroup: { value: 5 } },
    "Uid:\t1000\t1000\t1000\t1000\nGid:\t5\t5\t5\t5\n",
  ],
  ["its groups", "grep ^Groups /proc/self/status", { supplementalGroups: [7n, 8n] }, "Groups:\t0 7 8 10 \n"],
  ["root has containerd's capabilities", "grep CapEff /proc/1/status", {}, `CapEff:\t${DEFAULT_MASK}\n`],
  ["other users have none", "grep CapEff /proc/1/status", { runAsUser: { value: 1 } }, "CapEff:\t0000000000000000\n"],
  [
    "an added capability",
    "grep CapEff /proc/1/status",
    { capabilities: { addCapabilities: ["NET_ADMIN"] } },
    "CapEff:\t00000000a80435fb\n",
  ],
  [
    "a dropped one",
    "grep CapBnd /proc/1/status",
    { capabilities: { dropCapabilities: ["CAP_KILL"] } },
    "CapBnd:\t00000000a80425db\n",
  ],
  [
    "all dropped but one",
    "grep CapBnd /proc/1/status",
    { capabilities: { dropCapabilities: ["ALL"], addCapabilities: ["CHOWN"] } },
    "CapBnd:\t0000000000000001\n",
  ],
  ["privileged", "grep CapEff /proc/1/status", { privileged: true }, "CapEff:\t000001ffffffffff\n"],
  ["no new privileges", "grep NoNewPrivs /proc/1/status", { noNewPrivs: true }, "NoNewPrivs:\t1\n"],
  [
    "the runtime's seccomp profile",
    "grep Seccomp: /proc/1/status",
    { seccomp: { profileType: ProfileType.RuntimeDefault } },
    "Seccomp:\t2\n",
  ],
  ["no seccomp", "grep Seccomp: /proc/1/status", {}, "Seccomp:\t0\n"],
  ["the command of PID 1", "tr '\\0' ' ' < /proc/1/cmdline", {}, "sleep infinity "],
  [
    "of a shared PID namespace",
    "tr '\\0' ' ' < /proc/1/cmdline",
    { namespaceOptions: { pid: NamespaceMode.POD } },
    "/pause ",
  ],
  ["of the node's PID namespace", "cat /proc/1/comm", { namespaceOptions: { pid: NamespaceMode.NODE } }, "init\n"],
  ["self is the process that reads", "cat /proc/self/comm", {}, "cat\n"],
  ["a sysctl of every machine", "cat /proc/sys/kernel/msgmax", {}, "8192\n"],
  [
    "a sysctl of the sandbox",
    "sysctl kernel.shm_rmid_forced; ls /proc/sys/net",
    {},
    "kernel.shm_rmid_forced = 1\ncore\nipv4\nx\n",
  ],
  [
    "/proc is read-only",
    "echo 0 > /proc/sys/net/x; sysctl net.x=0",
    {},
    "sh: can't create /proc/sys/net/x: Read-only file system\nsysctl: error setting key 'net.x': Read-only file system\n",
  ],
  [
    "a missing file of /proc",
    "cat /proc/none /proc/9999/status",
    {},
    "cat: can't open '/proc/none': No such file or directory\ncat: can't open '/proc/9999/status': No such file or directory\n",
  ],
  [
    "masked paths are empty",
    "ls /home; wc -c < /etc/passwd",
    { maskedPaths: ["/home", "/etc/passwd", "/none"] },
    "0\n",
  ],
  [
    "read-only paths",
    "touch /tmp/x; echo > /root/y",
    { readonlyPaths: ["/tmp"] },
    "touch: /tmp/x: Read-only file system\n",
  ],
  [
    "a privileged container has neither",
    "touch /tmp/x; ls -A /home",
    { privileged: true, readonlyPaths: ["/tmp"], maskedPaths: ["/etc"] },
    "",
  ],
  [
    "a link needs NET_ADMIN",
    "ip link add dummy0 type dummy; brctl addbr b",
    {},
    "ip: RTNETLINK answers: Operation not permitted\nbrctl: add bridge b failed: Operation not permitted\n",
  ],
  ["a privileged link", "ip link add dummy0 type dummy && brctl addbr b", { privileged: true }, ""],
  ["pgrep finds other processes", "pgrep -x sleep; pgrep -l sle; pgrep nginx || echo none", {}, "1\n1 sleep\nnone\n"],
  [
    "hexdump -C",
    "printf 'ab\\0\\377' | hexdump -C",
    {},
    "00000000  61 62 00 ff                                       |ab..|\n00000004\n",
  ],
  ["ipcs", "ipcs | grep -c -- ------", {}, "3\n"],
];
for (const [what, script, security, want] of CASES) {
  test(`a container: ${what}`, async () => assert.equal(await run(script, security, SYSCTLS), want));
}

const IMAGES: readonly (readonly [string, Security, string])[] = [
  ["nonewprivs", { runAsUser: { value: 1000 } }, "Effective uid: 0\n"],
  ["nonewprivs", { runAsUser: { value: 1000 }, noNewPrivs: true }, "Effective uid: 1000\n"],
];
for (const [image, securityContext, want] of IMAGES) {
  test(`image ${image}, ${securityContext.noNewPrivs === true ? "without" : "with"} new privileges`, async () => {
    lab.core.images.add({ domain: "registry.k8s.io", path: `e2e-test-images/${image}`, tag: "latest" });
    const name = `registry.k8s.io/e2e-test-images/${image}`;
    const container = lab.run({ image: { image: name }, linux: { securityContext } });
    const output = lab.output(container);
    await lab.settle();
    assert.equal(output(), want);
    assert.equal(stateOf(container), "exited (0, Completed)");
  });
}

for (const [what, linux, want] of [
  ["the kubelet's", { resources: { oomScoreAdj: -997n } }, "-997\n"],
  ["none", {}, "0\n"],
] as const) {
  test(`oom_score_adj of a container's processes: ${what}`, async () => {
    const { stdout } = await lab.sh("cat /proc/self/oom_score_adj", lab.run({ command: ["sleep", "infinity"], linux }));
    assert.equal(stdout.toString(), want);
  });
}

test("groups of the image: a user is in the groups that name it", async () => {
  const path = "k8s-staging-cri-tools/test-image-predefined-group";
  lab.core.images.add({ domain: "gcr.io", path, tag: "latest" });
  const container = lab.run({ image: { image: `gcr.io/${path}` }, command: ["id"] });
  const output = lab.output(container);
  await lab.settle();
  assert.equal(
    output(),
    "uid=1000(default-user) gid=1000(default-user) groups=1000(default-user),50000(group-defined-in-image)\n",
  );
});

const REFUSED: readonly (readonly [string, Security, RegExp])[] = [
  ["a group without a user", { runAsGroup: { value: 5 } }, /user group "5" is specified without user/],
  ["a profile that is not a local one", { seccompProfilePath: "/x.json" }, /invalid seccomp profile "\/x.json"/],
  [
    "a local path for another profile",
    { seccomp: { profileType: ProfileType.Unconfined, localhostRef: "x" } },
    /LocalhostRef/,
  ],
];
for (const [what, securityContext, message] of REFUSED) {
  test(`CreateContainer refuses ${what}`, () => {
    assert.throws(() => lab.create({ linux: { securityContext } }), { code: "InvalidArgument", message });
  });
}

const NGINX: readonly (readonly [string, Security, RegExp])[] = [
  ["its PID is in a file", {}, /^1$/],
  [
    "a read-only root ends it",
    { readonlyRootfs: true },
    /^nginx: \[emerg\] mkdir\(\) "\/var\/cache\/nginx\/client_temp" failed \(30: Read-only file system\)$/,
  ],
  [
    "a user who owns nothing ends it",
    { runAsUser: { value: 101n } },
    /^nginx: \[emerg\] mkdir\(\) "\/var\/cache\/nginx\/client_temp" failed \(13: Permission denied\)$/,
  ],
];
for (const [what, securityContext, want] of NGINX) {
  test(`nginx: ${what}`, async () => {
    const linux = { securityContext: { namespaceOptions: OWN_PIDS, ...securityContext } };
    const container = lab.run({ image: { image: "nginx" }, linux });
    const output = lab.output(container, "stderr");
    await lab.settle();
    const isRunning = stateOf(container) === "running";
    const text = isRunning ? (await lab.sh("cat /var/run/nginx.pid", container)).stdout.toString() : output();
    assert.match(text.trim(), want);
  });
}

test("nginx gives itself a title, as its image's does, and keeps its name", async () => {
  const container = lab.run({ image: { image: "nginx" }, linux: { securityContext: { namespaceOptions: OWN_PIDS } } });
  await lab.settle();
  const { stdout } = await lab.sh(
    "tr '\\0' '\\n' < /proc/1/cmdline; cat /proc/1/comm /proc/2/comm; pidof nginx",
    container,
  );
  assert.equal(stdout.toString(), "nginx: master process nginx -g daemon off;\nnginx\nnginx\n2 1\n");
});

const ADMIN = { capabilities: { addCapabilities: ["SYS_ADMIN"] } };
const RIGHTS: readonly (readonly [script: string, security: Security, want: string])[] = [
  ["hostname box; hostname; uname -n", ADMIN, "box\nbox\n"],
  ["hostname box; echo $?", {}, "hostname: sethostname: Operation not permitted\n1\n"],
  [
    "ping -c 1 127.0.0.1; echo $?",
    { capabilities: { dropCapabilities: ["NET_RAW"] } },
    "PING 127.0.0.1 (127.0.0.1): 56 data bytes\nping: permission denied (are you root?)\n1\n",
  ],
];
for (const [script, security, want] of RIGHTS) {
  test(`capabilities: ${script}`, async () => {
    assert.equal(await run(`{ ${script}; } 2>&1`, security), want);
  });
}

test("the containers of a pod share its host name", async () => {
  const sandbox = lab.sandbox();
  const linux = { securityContext: ADMIN };
  const command = ["sleep", "infinity"];
  const [one, other] = [lab.run({ command, linux }, sandbox), lab.run({ command, linux }, sandbox)];
  await lab.sh("hostname box", one);
  assert.equal((await lab.sh("hostname", other)).stdout.toString(), "box\n");
});

test("tail -f of a device waits", async () => {
  const container = lab.run({ command: ["tail", "-f", "/dev/null"] });
  await lab.settle();
  assert.equal(stateOf(container), "running");
});

const LIMITED = {
  resources: { cpuQuota: 50_000n, cpuPeriod: 100_000n, cpuShares: 512n, memoryLimitInBytes: 64n << 20n },
  securityContext: { namespaceOptions: OWN_PIDS },
};
const KERNEL: readonly (readonly [script: string, want: string])[] = [
  ["cat /proc/self/cgroup", "0::/\n"],
  ["cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/cpu.max /sys/fs/cgroup/cpu.weight", "67108864\n50000 100000\n20\n"],
  [
    "ls /sys/class/net; cat /sys/class/net/eth0/mtu /sys/class/net/lo/operstate; ifconfig eth0 | grep -qi $(cat /sys/class/net/eth0/address) && echo same",
    "eth0\nlo\n1500\nunknown\nsame\n",
  ],
  ["cat /sys/fs/cgroup/pids.max /sys/fs/cgroup/cpuset.cpus.effective", "1024\n0-99\n"],
  ["grep ^usage /sys/fs/cgroup/cpu.stat | cut -c1-13", "usage_usec 20\n"],
  ["echo 1 > /sys/fs/cgroup/memory.max", "sh: can't create /sys/fs/cgroup/memory.max: Read-only file system\n"],
  ["grep MemTotal /proc/meminfo; nproc; grep -c processor /proc/cpuinfo", "MemTotal:       33554432 kB\n100\n100\n"],
  ["grep cgroup /proc/mounts", "cgroup /sys/fs/cgroup cgroup2 ro,nosuid,nodev,noexec,relatime 0 0\n"],
  ["head -1 /proc/self/mountinfo", "1000 999 0:20 / / rw,relatime - overlay overlay rw\n"],
  ["grep ' /sys/fs/cgroup ' /proc/self/mountinfo | cut -d' ' -f2", "1006\n"],
  [
    "grep -E 'hostname|resolv' /proc/mounts",
    "/dev/kubelab /etc/hostname ext4 rw,relatime 0 0\n/dev/kubelab /etc/resolv.conf ext4 rw,relatime 0 0\n",
  ],
  [
    "grep hostname /proc/self/mountinfo | cut -d' ' -f4",
    "/var/lib/containerd/io.containerd.grpc.v1.cri/sandboxes/hostname\n",
  ],
  ["test $(uname -r) = $(cat /proc/sys/kernel/osrelease); echo $?", "0\n"],
];
for (const [script, want] of KERNEL) {
  test(`the kernel's files: ${script}`, async () => {
    const container = lab.run({ command: ["sleep", "infinity"], linux: LIMITED });
    const { stdout, stderr } = await lab.sh(script, container);
    assert.equal(stdout.toString() + stderr.toString(), want);
  });
}

test("the cgroup's usage is that of the statistics", async () => {
  const container = lab.run({ command: ["sleep", "infinity"], linux: LIMITED });
  const script = "echo $(cat /sys/fs/cgroup/memory.current) $(cat /sys/fs/cgroup/pids.current)";
  const [bytes, pids] = (await lab.sh(script, container)).stdout.toString().split(" ").map(Number);
  // sleep, sh, the subshell of $() and its cat
  assert.equal(pids, 4);
  assert.ok((bytes ?? 0) > usageOf(container).memoryBytes);
});

const OF_PROCESSES: readonly (readonly [script: string, want: RegExp])[] = [
  ["cd /tmp; readlink /proc/self/cwd /proc/$$/cwd /proc/1/cwd", /^\/tmp\n\/tmp\n\/\n$/],
  ["readlink /proc/self/exe /proc/1/exe", /^\/bin\/readlink\n\/bin\/sleep\n$/],
  ["A=b sh -c 'cat /proc/self/environ > /tmp/e'; grep -c A=b /tmp/e", /^1\n$/],
  ["readlink /proc/1/fd/0; ls /proc/1/fd", /^\/dev\/null\n0\n1\n2\n$/],
  ["echo | readlink /proc/self/fd/0; readlink /proc/self/fd/1 > /tmp/f; cat /tmp/f", /^pipe:\[\d+\]\n\/tmp\/f\n$/],
  [
    "[ $(readlink /proc/1/ns/net) = $(readlink /proc/self/ns/net) ] && readlink /proc/1/ns/user",
    /^user:\[4026531837\]\n$/,
  ],
  ["ls /proc/1/ns | wc -l; readlink /proc/1/ns/* | sort -u | wc -l", /^8\n8\n$/],
  ["cut -d' ' -f1-4 /proc/1/stat; wc -w < /proc/1/stat", /^1 \(sleep\) S 0\n52\n$/],
  [
    "grep 'open files' /proc/self/limits; ulimit -n",
    /^Max open files {12}1048576 {14}1048576 {14}files {5} *\n1048576\n$/,
  ],
  ["grep Threads /proc/1/status", /^Threads:\t1\n$/],
  [
    "nc -l -p 8080 & until grep -q 1F90 /proc/net/tcp; do :; done; grep -c ':1F90 00000000:0000 0A' /proc/net/tcp; tail -n +3 /proc/net/dev | wc -l; kill $!",
    /^1\n2\n$/,
  ],
];
for (const [script, want] of OF_PROCESSES) {
  test(`/proc of processes: ${script}`, async () => {
    assert.match(await run(script), want);
  });
}

test("/proc of another user's process is closed", async () => {
  const sandbox = lab.sandbox();
  const pid = NamespaceMode.POD;
  lab.run({ command: ["sleep", "600"], linux: { securityContext: { namespaceOptions: { pid } } } }, sandbox);
  const securityContext = { namespaceOptions: { pid }, runAsUser: { value: 1000n } };
  const user = lab.run({ command: ["sleep", "600"], linux: { securityContext } }, sandbox);
  const { stderr } = await lab.sh(
    "cat /proc/2/environ; ls /proc/2/fd; readlink -v /proc/2/cwd; cat /proc/2/comm",
    user,
  );
  assert.match(stderr.toString(), /environ': Permission denied\n.*fd': Permission denied\n/);
});
