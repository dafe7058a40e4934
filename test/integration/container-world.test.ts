import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CliProcess, newHome } from "../support/cli-process.js";
import { runKubectl } from "../support/node-kubectl.js";
import { suiteNeeding } from "../support/requirements.js";

const IMAGE = "busybox:1.36";
const SLEEP = { image: IMAGE, command: ["sleep", "3600"] };
const hostPath = (path: string, type = "") => ({ hostPath: { path, type } });

const MANIFESTS = [
  { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "settings" }, data: { key: "value" } },
  pod("secured", {
    securityContext: { runAsUser: 1000, runAsGroup: 3000, fsGroup: 2000 },
    volumes: [
      { name: "data", emptyDir: {} },
      { name: "settings", configMap: { name: "settings", defaultMode: 0o400 } },
    ],
    containers: [
      {
        name: "c",
        ...SLEEP,
        volumeMounts: [
          { name: "data", mountPath: "/data" },
          { name: "data", mountPath: "/sub", subPath: "a/b" },
          { name: "settings", mountPath: "/settings" },
        ],
      },
    ],
  }),
  pod("sharing", {
    shareProcessNamespace: true,
    containers: [
      { name: "web", image: "nginx" },
      { name: "shell", ...SLEEP, securityContext: { capabilities: { add: ["SYS_PTRACE"] } } },
    ],
  }),
  pod("limited", {
    containers: [
      { name: "c", ...SLEEP, resources: { limits: { cpu: "250m", memory: "64Mi" }, requests: { cpu: "100m" } } },
    ],
  }),
  pod("node-files", {
    hostNetwork: true,
    volumes: [
      { name: "root", ...hostPath("/", "Directory") },
      { name: "proc", ...hostPath("/proc") },
      { name: "cri", ...hostPath("/var/run/containerd/containerd.sock", "Socket") },
    ],
    containers: [
      {
        name: "c",
        ...SLEEP,
        volumeMounts: [
          { name: "root", mountPath: "/host" },
          { name: "proc", mountPath: "/node/proc", readOnly: true },
          { name: "cri", mountPath: "/run/containerd/containerd.sock" },
        ],
      },
    ],
  }),
  pod("node-shell", { hostPID: true, containers: [{ name: "c", ...SLEEP }] }),
  {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name: "collector" },
    spec: {
      selector: { matchLabels: { app: "collector" } },
      template: {
        metadata: { labels: { app: "collector" } },
        spec: {
          volumes: [
            { name: "log", ...hostPath("/var/log") },
            { name: "id", ...hostPath("/etc/machine-id", "File") },
            { name: "run", ...hostPath("/run", "Directory") },
            { name: "kubelet", ...hostPath("/var/lib/kubelet", "Directory") },
          ],
          containers: [
            {
              name: "c",
              ...SLEEP,
              volumeMounts: [
                { name: "log", mountPath: "/var/log" },
                { name: "id", mountPath: "/etc/machine-id", readOnly: true },
                { name: "run", mountPath: "/host/run" },
                { name: "kubelet", mountPath: "/var/lib/kubelet" },
              ],
            },
          ],
        },
      },
    },
  },
];

function pod(name: string, spec: object) {
  return { apiVersion: "v1", kind: "Pod", metadata: { name }, spec };
}

suiteNeeding(["kubectl"], "what containers see: users, files, processes and the node", () => {
  const home = newHome();
  const folder = join(home, "state", "kubelab", "nodes", "node-1");
  let node: CliProcess;
  const kubectl = (...args: string[]) => runKubectl(join(folder, "kubelab-admin.config"), args);
  /** both streams of a script in a container */
  const sh = (target: readonly string[], script: string) =>
    kubectl("exec", ...target, "--", "sh", "-c", `{ ${script}; } 2>&1 || true`);

  beforeAll(async () => {
    mkdirSync(home, { recursive: true });
    node = new CliProcess(home, ["node"]);
    await node.printed(/^kubectl/m);
    writeFileSync(join(home, "all.json"), JSON.stringify({ apiVersion: "v1", kind: "List", items: MANIFESTS }));
    await kubectl("apply", "-f", join(home, "all.json"));
    await kubectl("rollout", "status", "daemonset/collector", "--timeout=30s");
    await kubectl("wait", "--for=condition=Ready", "pod", "--all", "--timeout=30s");
  });
  afterAll(async () => {
    await node.kill("SIGKILL");
    rmSync(home, { recursive: true, force: true });
  });

  const ROWS: readonly (readonly [what: string, target: readonly string[], script: string, want: string])[] = [
    ["the user", ["secured"], "id", "uid=1000 gid=3000 groups=2000,3000\n"],
    ["the folder of an emptyDir", ["secured"], "stat -c '%u:%g %A' /data", "0:2000 drwxrwsrwx\n"],
    ["a new file in it", ["secured"], "touch /data/f; stat -c '%u:%g %a' /data/f", "1000:2000 644\n"],
    ["ls agrees", ["secured"], "ls -l /data/f | cut -c1-40", "-rw-r--r--    1 1000     2000           \n"],
    ["its subPath", ["secured"], "touch /sub/g; stat -c '%u:%g %a' /sub/g", "1000:2000 644\n"],
    ["the image's files", ["secured"], "echo x > /etc/x", "sh: can't create /etc/x: Permission denied\n"],
    ["a chmod of root's", ["secured"], "chmod 777 /etc/passwd", "chmod: /etc/passwd: Operation not permitted\n"],
    [
      "defaultMode and fsGroup",
      ["secured"],
      "stat -Lc '%u:%g %a' /settings/key; cat /settings/key",
      "0:2000 440\nvalue",
    ],
    [
      "shared processes",
      ["sharing", "-c", "shell"],
      "ps | head -3",
      "PID   USER     TIME  COMMAND\n    1 65535     0:00 /pause\n    2 root      0:00 nginx: master process nginx -g daemon off;\n",
    ],
    ["another's files", ["sharing", "-c", "shell"], "head -1 /proc/2/root/etc/nginx/conf.d/default.conf", "server {\n"],
    ["a signal to another", ["sharing", "-c", "shell"], "kill -HUP 2; kill -0 2; echo $?", "0\n"],
    ["the node's processes", ["node-shell"], "ps | sed -n 2p", "    1 root      0:00 /sbin/init\n"],
    ["the node's name in its network", ["node-files"], "hostname", "node-1\n"],
    ["the node's /proc", ["node-files"], "cat /node/proc/1/comm /host/proc/1/comm", "init\ninit\n"],
    [
      "the node's root folder",
      ["node-files"],
      "ls /host | xargs",
      "bin boot dev etc home lib mnt opt proc root run sbin sys tmp usr var\n",
    ],
    [
      "the node's folders of the kernel",
      ["node-files"],
      "echo x > /host/sys/x",
      "sh: can't create /host/sys/x: Read-only file system\n",
    ],
    [
      "chroot into it",
      ["node-files"],
      "chroot /host sh -c 'pwd; cat /etc/hostname; echo x > /tmp/x; ls /var/run'; cat /host/tmp/x",
      "/\nnode-1\ncontainerd\nlock\nx\n",
    ],
    [
      "the kubelet's folder",
      ["node-files"],
      "cd /host/var/lib/kubelet; ls | xargs; grep ^kind config.yaml",
      "config.yaml device-plugins plugins plugins_registry pod-resources pods\nkind: KubeletConfiguration\n",
    ],
    ["the runtime's socket", ["node-files"], "ls /run/containerd", "containerd.sock\n"],
    ["the cgroup", ["limited"], "cat /proc/self/cgroup", "0::/\n"],
    ["its limits", ["limited"], "cd /sys/fs/cgroup; cat memory.max cpu.max cpu.weight", "67108864\n25000 100000\n4\n"],
    ["the node's memory", ["limited"], "grep MemTotal /proc/meminfo", "MemTotal:       33554432 kB\n"],
    ["links of logs", ["ds/collector"], "ls /var/log/containers | grep -c '^limited_default_c-.*log$'", "1\n"],
    ["folders of a node", ["ds/collector"], "ls -d /var/log/pods /host/run /var/lib/kubelet/pods | wc -l", "3\n"],
  ];
  test.each(ROWS)("%s", async (_what, target, script, want) => {
    expect(await sh(target, script)).toBe(want);
  });

  test("a log collector reads what a container prints", async () => {
    await sh(["limited"], "echo hello > /proc/1/fd/1");
    expect(await sh(["ds/collector"], "cat /var/log/containers/limited_*.log")).toMatch(/^\S+ stdout F hello\n$/);
  });

  test("the machine's id is that of the node's status", async () => {
    const id = await kubectl("get", "node", "node-1", "-o", "jsonpath={.status.nodeInfo.machineID}");
    expect(await sh(["ds/collector"], "cat /etc/machine-id")).toBe(`${id}\n`);
  });

  test("memory in the cgroup and in the statistics", async () => {
    const summary = JSON.parse(await kubectl("get", "--raw", "/api/v1/nodes/node-1/proxy/stats/summary")) as {
      pods: { podRef: { name: string }; containers: { memory: { usageBytes: number } }[] }[];
    };
    const one = summary.pods.find(({ podRef }) => podRef.name === "limited")?.containers[0];
    const current = Number(await sh(["limited"], "cat /sys/fs/cgroup/memory.current"));
    // The command that reads it is a process more.
    expect(current).toBeGreaterThanOrEqual(one?.memory.usageBytes ?? Number.POSITIVE_INFINITY);
  });

  test("kubectl debug shows the target's processes and the node's files", async () => {
    const quiet = ["--attach=false", "-q", `--image=${IMAGE}`];
    await kubectl(
      "debug",
      "limited",
      ...quiet,
      "--target=c",
      "-c",
      "look",
      "--",
      "sh",
      "-c",
      "ps; cat /proc/1/root/etc/hostname",
    );
    const logs = () => kubectl("logs", "limited", "-c", "look").catch(() => "");
    await expect.poll(logs, { timeout: 20_000 }).toMatch(/\n {4}1 root {6}0:00 sleep 3600\n[\s\S]*\nlimited\n$/);
    await kubectl("debug", "node/node-1", ...quiet, "--", "sleep", "3600");
    const names = await kubectl("get", "pods", "-o", "name");
    const debugger_ = /pod\/(node-debugger-\S+)/.exec(names)?.[1] ?? "";
    await kubectl("wait", "--for=condition=Ready", "pod", debugger_, "--timeout=30s");
    expect(await sh([debugger_], "cat /host/etc/hostname; ls -d /host/var/log/pods")).toBe(
      "node-1\n/host/var/log/pods\n",
    );
  });
});
