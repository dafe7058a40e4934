import type { DirectoryNode, FsNode } from "../fs/nodes.js";
import { fixedFolder, virtualFile, virtualFolder, virtualLink } from "../fs/virtual-nodes.js";
import { capabilityMask, effectiveCapabilities } from "./confinement.js";
import type { Machine, Process } from "./process.js";

/** What every Linux machine has below /proc/sys; a sandbox's sysctls are added. */
const SYSCTLS: Readonly<Record<string, string>> = {
  "fs.file-max": "9223372036854775807",
  "fs.mqueue.msg_max": "10",
  "kernel.msgmax": "8192",
  "kernel.osrelease": "6.1.0-kubelab",
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
export function procTree(machine: Machine): DirectoryNode {
  const { clock, processes } = machine;
  const nowMs = clock.now();
  const sysctls = { ...SYSCTLS, "kernel.hostname": machine.hostname, ...machine.confinement.sysctls };
  const fixed: Readonly<Record<string, () => FsNode>> = {
    cpuinfo: () => virtualFile(nowMs, "processor\t: 0\nmodel name\t: kubelab\n"),
    filesystems: () => virtualFile(nowMs, "nodev\tproc\nnodev\ttmpfs\n\text4\n"),
    mounts: () => virtualLink(nowMs, "self/mounts"),
    self: () => virtualLink(nowMs, String(processes.list().at(-1)?.pid ?? 1)),
    sys: () => sysctlFolder(nowMs, sysctls, ""),
    version: () => virtualFile(nowMs, "Linux version 6.1.0-kubelab\n"),
  };
  return virtualFolder(
    nowMs,
    () => [...pids(machine), ...Object.keys(fixed)],
    (name) => (Object.hasOwn(fixed, name) ? fixed[name]?.() : processFolder(machine, nowMs, name)),
  );
}

function pids({ processes }: Machine): string[] {
  const own = processes.list().map(({ pid }) => String(pid));
  return own.includes("1") ? own : ["1", ...own];
}

function processFolder(machine: Machine, nowMs: number, name: string): FsNode | undefined {
  if (!/^\d+$/.test(name)) return undefined;
  const process = machine.processes.find(Number(name));
  // In a shared PID namespace, PID 1 belongs to the sandbox or the node.
  const argv = process?.argv ?? (name === "1" ? [machine.confinement.firstCommand] : undefined);
  if (argv === undefined) return undefined;
  const comm = (argv[0] ?? "").split("/").at(-1) ?? "";
  return fixedFolder(nowMs, {
    cmdline: () => virtualFile(nowMs, argv.map((word) => `${word}\0`).join("")),
    comm: () => virtualFile(nowMs, `${comm}\n`),
    mounts: () => virtualFile(nowMs, machine.fs.mountLines()),
    oom_score_adj: () => virtualFile(nowMs, `${machine.confinement.oomScoreAdj}\n`),
    status: () => virtualFile(nowMs, statusText(machine, comm, Number(name), process)),
  });
}

/** Mirrors fs/proc/array.c (proc_pid_status), with the fields that programs read. */
function statusText({ user, confinement }: Machine, comm: string, pid: number, process: Process | undefined): string {
  const { uid, gid, groups } = user;
  const bounding = capabilityMask(confinement.capabilities);
  const effective = capabilityMask(effectiveCapabilities(uid, confinement));
  const fields: readonly (readonly [string, string | number])[] = [
    ["Name", comm],
    ["Umask", "0022"],
    ["State", "S (sleeping)"],
    ["Tgid", pid],
    ["Pid", pid],
    ["PPid", process?.parentPid ?? 0],
    ["Uid", [uid, uid, uid, uid].join("\t")],
    ["Gid", [gid, gid, gid, gid].join("\t")],
    ["Groups", `${groups.join(" ")} `],
    ["CapInh", capabilityMask(new Set())],
    ["CapPrm", effective],
    ["CapEff", effective],
    ["CapBnd", bounding],
    ["CapAmb", capabilityMask(new Set())],
    ["NoNewPrivs", confinement.noNewPrivileges ? 1 : 0],
    ["Seccomp", confinement.seccomp],
    ["Seccomp_filters", confinement.seccomp === 2 ? 1 : 0],
  ];
  return fields.map(([name, value]) => `${name}:\t${value}\n`).join("");
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
