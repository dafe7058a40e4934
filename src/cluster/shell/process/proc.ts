import { release } from "node:os";
import type { DirectoryNode, FsNode } from "../fs/nodes.js";
import { fixedFolder, virtualFile, virtualFolder, virtualLink } from "../fs/virtual-nodes.js";
import { hardwareAddress } from "./network-namespace.js";
import { processFolder, type SeenMachine } from "./proc-process.js";
import type { Machine } from "./process.js";

/** What every Linux machine has below /proc/sys; a sandbox's sysctls are added. */
const SYSCTLS: Readonly<Record<string, string>> = {
  "fs.file-max": "9223372036854775807",
  "fs.mqueue.msg_max": "10",
  "kernel.msgmax": "8192",
  "kernel.osrelease": release(),
  "kernel.ostype": "Linux",
  "kernel.pid_max": "4194304",
  "kernel.sem": "32000\t1024000000\t500\t32000",
  "kernel.shm_rmid_forced": "0",
  "kernel.shmmax": "18446744073692774399",
  "net.core.somaxconn": "4096",
  "net.ipv4.ip_local_port_range": "32768\t60999",
  // containerd 1.x: enable_unprivileged_ports is false
  "net.ipv4.ip_unprivileged_port_start": "1024",
  "net.ipv4.tcp_syncookies": "1",
  "vm.overcommit_memory": "1",
};

/**
 * /proc of a container: its processes, and the sysctls of its sandbox.
 * Differs: nothing below it can be written; `self` is the youngest process, which is the one that reads.
 */
export function procTree(machine: SeenMachine): DirectoryNode {
  const { clock, processes } = machine;
  const nowMs = clock.now();
  const sysctls = { ...SYSCTLS, "kernel.hostname": machine.uts.hostname, ...machine.confinement.sysctls };
  const fixed: Readonly<Record<string, () => FsNode>> = {
    cpuinfo: () => virtualFile(nowMs, cpuInfo(machine)),
    filesystems: () => virtualFile(nowMs, "nodev\tproc\nnodev\ttmpfs\n\text4\n"),
    loadavg: () => virtualFile(nowMs, `0.00 0.00 0.00 1/${processes.entries().length} ${processes.lastPid}\n`),
    meminfo: () => virtualFile(nowMs, memInfo(machine)),
    mounts: () => virtualLink(nowMs, "self/mounts"),
    net: () => virtualLink(nowMs, "self/net"),
    self: () => virtualLink(nowMs, String([...machine.own].at(-1)?.pid ?? 1)),
    sys: () => sysctlFolder(nowMs, sysctls, ""),
    uptime: () => virtualFile(nowMs, upTime(machine)),
    version: () => virtualFile(nowMs, `Linux version ${release()} (kubelab)\n`),
  };
  return virtualFolder(
    nowMs,
    () => [...processes.entries().map(([pid]) => String(pid)), ...Object.keys(fixed)],
    (name) => (Object.hasOwn(fixed, name) ? fixed[name]?.() : processFolder(machine, nowMs, name)),
  );
}

/** /sys of a container: its cgroup and its network. Differs: without devices and the kernel's modules. */
export function sysTree(machine: Machine): DirectoryNode {
  const nowMs = machine.clock.now();
  const { cgroup } = machine;
  const file = (name: string) => {
    return Object.hasOwn(cgroup, name) ? virtualFile(nowMs, `${cgroup[name]?.() ?? ""}\n`) : undefined;
  };
  const folder = () => virtualFolder(nowMs, () => Object.keys(cgroup), file);
  const net = () => fixedFolder(nowMs, networkFolders(machine, nowMs));
  return fixedFolder(nowMs, {
    class: () => fixedFolder(nowMs, { net }),
    fs: () => fixedFolder(nowMs, { cgroup: folder }),
  });
}

function networkFolders({ network: { ip } }: Machine, nowMs: number): Readonly<Record<string, () => FsNode>> {
  const folder = (files: Readonly<Record<string, string>>) => () => {
    const nodes = Object.entries(files).map(([name, text]) => [name, () => virtualFile(nowMs, `${text}\n`)] as const);
    return fixedFolder(nowMs, Object.fromEntries(nodes));
  };
  const lo = folder({ address: "00:00:00:00:00:00", carrier: "1", mtu: "65536", operstate: "unknown", type: "772" });
  if (ip === undefined) return { lo };
  return {
    eth0: folder({ address: hardwareAddress(ip), carrier: "1", mtu: "1500", operstate: "up", type: "1" }),
    lo,
  };
}

function cpuInfo({ node }: SeenMachine): string {
  const one = (cpu: number) => `processor\t: ${cpu}\nmodel name\t: kubelab\ncpu cores\t: ${node.cpus}\n\n`;
  return Array.from({ length: node.cpus }, (_, cpu) => one(cpu)).join("");
}

/** As a container sees it: the memory of the node, not its own limit. */
function memInfo({ node: { memoryBytes, usedBytes } }: SeenMachine): string {
  const free = Math.max(0, memoryBytes - usedBytes());
  const fields = {
    MemTotal: memoryBytes,
    MemFree: free,
    MemAvailable: free,
    Buffers: 0,
    Cached: 0,
    SwapTotal: 0,
    SwapFree: 0,
  };
  return Object.entries(fields)
    .map(([name, bytes]) => `${`${name}:`.padEnd(15)} ${String(Math.floor(bytes / 1024)).padStart(8)} kB\n`)
    .join("");
}

function upTime({ clock, node }: SeenMachine): string {
  const seconds = ((clock.now() - node.startedMs) / 1000).toFixed(2);
  return `${seconds} ${seconds}\n`;
}

/** The folder of the sysctls that begin with `prefix`: `kernel.` */
function sysctlFolder(nowMs: number, sysctls: Readonly<Record<string, string>>, prefix: string): DirectoryNode {
  const names = () =>
    new Set(
      Object.keys(sysctls)
        .filter((name) => name.startsWith(prefix))
        .map((name) => name.slice(prefix.length).split(".")[0] ?? ""),
    );
  return virtualFolder(nowMs, names, (name) => {
    const value = sysctls[`${prefix}${name}`];
    if (value !== undefined) return virtualFile(nowMs, `${value}\n`);
    return names().has(name) ? sysctlFolder(nowMs, sysctls, `${prefix}${name}.`) : undefined;
  });
}
