import { mountInfoText, mountsText } from "../fs/mount-table.js";
import type { FsNode } from "../fs/nodes.js";
import { fixedFolder, virtualFile, virtualLink } from "../fs/virtual-nodes.js";
import type { ByteSink, ByteSource } from "../streams.js";
import { capabilityMask, effectiveCapabilities, permitsTrace } from "./confinement.js";
import { netFolder } from "./proc-net.js";
import type { Machine } from "./process.js";
import { commandOf, isProcess, subjectOf, type Task } from "./process-table.js";

/** RLIMIT_NOFILE of containers: containerd.service has LimitNOFILE=infinity, which is fs.nr_open. */
export const MAX_OPEN_FILES = 1_048_576;
const PAGE_BYTES = 4096;
const TICKS_PER_SECOND = 100;
/** The pages of a program that holds nothing. */
const BASE_PAGES = 128;
/** The number of fields in /proc/PID/stat. */
const STAT_FIELDS = 52;

const NS_PER_TICK = 1e9 / TICKS_PER_SECOND;

/** What /proc shows of a machine. */
export type SeenMachine = Pick<
  Machine,
  "clock" | "processes" | "uts" | "confinement" | "user" | "own" | "node" | "fs" | "network"
>;

/** /proc/PID of a process in the machine's PID namespace; undefined without such a process. */
export function processFolder(machine: SeenMachine, nowMs: number, name: string): FsNode | undefined {
  if (!/^\d+$/.test(name)) return undefined;
  const task = machine.processes.find(Number(name));
  if (task === undefined) return undefined;
  const owner = isProcess(task) ? task.machine : machine;
  const file = (text: string) => () => virtualFile(nowMs, text);
  const folder = {
    cmdline: file(task.argv.map((word) => `${word}\0`).join("")),
    comm: file(`${commandOf(task)}\n`),
    // The root of the cgroup namespace, which containers have of their own with cgroups v2.
    cgroup: file("0::/\n"),
    limits: file(LIMITS),
    mountinfo: () => virtualFile(nowMs, owner.fs.mountTable(mountInfoText)),
    mounts: () => virtualFile(nowMs, owner.fs.mountTable(mountsText)),
    net: () => netFolder(isProcess(task) ? task.machine.network : undefined, nowMs),
    oom_score_adj: file(`${subjectOf(task).confinement.oomScoreAdj}\n`),
    stat: () => virtualFile(nowMs, statText(machine, Number(name), task)),
    status: () => virtualFile(nowMs, statusText(machine, Number(name), task)),
  };
  const subject = subjectOf(task);
  const isAllowed = subject === machine || permitsTrace(machine, subject);
  return fixedFolder(nowMs, { ...folder, ...(isAllowed ? traced(nowMs, task) : sealed(nowMs)) });
}

/** What others see only if they may trace the process. */
function traced(nowMs: number, task: Task): Readonly<Record<string, () => FsNode>> {
  const link = (target: string) => () => virtualLink(nowMs, target);
  const namespaces = Object.entries(namespacesOf(task)).map(([name, id]) => [name, link(`${name}:[${id}]`)]);
  const ns = { ns: () => fixedFolder(nowMs, Object.fromEntries(namespaces)) };
  if (!isProcess(task)) return { ...ns, root: () => task.root() ?? fixedFolder(nowMs, {}) };
  const { path, env } = task.program;
  const descriptors = task.streams.map((stream, fd) => [String(fd), link(nameOf(stream))]);
  return {
    ...ns,
    cwd: link(task.cwd),
    environ: () => virtualFile(nowMs, textOf(env)),
    exe: link(path),
    fd: () => fixedFolder(nowMs, Object.fromEntries(descriptors)),
    root: () => task.machine.fs.root,
  };
}

function textOf(env: Readonly<Record<string, string>>): string {
  return Object.entries(env)
    .map(([name, value]) => `${name}=${value}\0`)
    .join("");
}

function sealed(nowMs: number): Readonly<Record<string, () => FsNode>> {
  const node = () => ({ ...fixedFolder(nowMs, {}), isSealed: true }) as const;
  return Object.fromEntries(["cwd", "environ", "exe", "fd", "ns", "root"].map((name) => [name, node]));
}

/** The namespaces that exist since the start of the machine. Mirrors include/linux/proc_ns.h. */
const FIRST_NAMESPACES = {
  ...{ time: 4_026_531_834, cgroup: 4_026_531_835, pid: 4_026_531_836, user: 4_026_531_837 },
  ...{ uts: 4_026_531_838, ipc: 4_026_531_839, net: 4_026_531_840, mnt: 4_026_531_841 },
};
const ids = new WeakMap<object, number>();
let lastId = 4_026_532_200;

/** A number for an object of the kernel, such as a pipe. The following ones are its namespaces'. */
function idOf(object: object): number {
  const id = ids.get(object) ?? lastId;
  if (id === lastId) lastId += Object.keys(FIRST_NAMESPACES).length;
  ids.set(object, id);
  return id;
}

/** Containers of a pod share its network, IPC and host name. Differs: IPC is never the node's. */
function namespacesOf(task: Task): Readonly<Record<string, number>> {
  if (!isProcess(task)) return FIRST_NAMESPACES;
  const { fs, network, uts, processes, cgroup } = task.machine;
  const own: Readonly<Record<string, object | undefined>> = {
    ...{ cgroup, ipc: uts, mnt: fs.host },
    net: network.isNode ? undefined : network,
    pid: processes.parent === undefined ? undefined : processes,
    uts: network.isNode ? undefined : uts,
  };
  const numbers = Object.entries(FIRST_NAMESPACES).map(([name, first], at) => {
    const object = own[name];
    return [name, object === undefined ? first : idOf(object) + at];
  });
  return Object.fromEntries(numbers);
}

/** What a descriptor is open for. Its files have paths. */
function nameOf(stream: ByteSource | ByteSink): string {
  if (stream.isTerminal === true) return "/dev/pts/0";
  if ("path" in stream) return String(stream.path);
  return stream.isNull === true ? "/dev/null" : `pipe:[${idOf(stream)}]`;
}

interface Measured {
  readonly ticks: number;
  readonly startTicks: number;
  readonly bytes: number;
}

function measured({ node }: SeenMachine, task: Task): Measured {
  if (!isProcess(task)) return { ticks: 0, startTicks: 0, bytes: BASE_PAGES * PAGE_BYTES };
  return {
    ticks: Math.floor(task.cpuNs / NS_PER_TICK),
    startTicks: Math.max(0, Math.floor(((task.startedMs - node.startedMs) / 1000) * TICKS_PER_SECOND)),
    bytes: BASE_PAGES * PAGE_BYTES + task.memory.usedBytes,
  };
}

/** Mirrors fs/proc/array.c (do_task_stat). Zero stands for what is not simulated. */
function statText(machine: SeenMachine, pid: number, task: Task): string {
  const { ticks, startTicks, bytes } = measured(machine, task);
  const group = isProcess(task) ? task.group : pid;
  const parent = machine.processes.parentOf(task);
  const known: Readonly<Record<number, number>> = {
    ...{ 4: parent, 5: group, 6: group, 8: -1, 14: ticks, 18: 20, 20: 1, 22: startTicks },
    ...{ 23: bytes, 24: Math.ceil(bytes / PAGE_BYTES), 38: 17 },
  };
  const rest = Array.from({ length: STAT_FIELDS - 3 }, (_, at) => known[at + 4] ?? 0);
  return `${pid} (${commandOf(task).slice(0, 15)}) S ${rest.join(" ")}\n`;
}

/** Mirrors fs/proc/array.c (proc_pid_status), with the fields that programs read. */
function statusText(machine: SeenMachine, pid: number, task: Task): string {
  const { user, confinement } = subjectOf(task);
  const { uid, gid, groups } = user;
  const bounding = capabilityMask(confinement.capabilities);
  const effective = capabilityMask(effectiveCapabilities(uid, confinement));
  const kilobytes = `${String(Math.ceil(measured(machine, task).bytes / 1024)).padStart(8)} kB`;
  const fields: readonly (readonly [string, string | number])[] = [
    ["Name", commandOf(task)],
    ["Umask", "0022"],
    ["State", "S (sleeping)"],
    ["Tgid", pid],
    ["Pid", pid],
    ["PPid", machine.processes.parentOf(task)],
    ["Uid", [uid, uid, uid, uid].join("\t")],
    ["Gid", [gid, gid, gid, gid].join("\t")],
    ["Groups", `${groups.join(" ")} `],
    ["VmSize", kilobytes],
    ["VmRSS", kilobytes],
    ["Threads", 1],
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

/** Mirrors fs/proc/base.c (proc_pid_limits). */
const LIMITS = (
  [
    ["cpu time", "unlimited", "seconds"],
    ["file size", "unlimited", "bytes"],
    ["data size", "unlimited", "bytes"],
    ["stack size", "8388608", "bytes"],
    ["core file size", "unlimited", "bytes"],
    ["resident set", "unlimited", "bytes"],
    ["processes", "unlimited", "processes"],
    ["open files", String(MAX_OPEN_FILES), "files"],
    ["locked memory", "8388608", "bytes"],
    ["address space", "unlimited", "bytes"],
    ["file locks", "unlimited", "locks"],
  ] as const
).reduce(
  (text, [name, limit, unit]) =>
    `${text}Max ${name.padEnd(21)} ${limit.padEnd(20)} ${(name === "stack size" ? "unlimited" : limit).padEnd(20)} ${unit.padEnd(10)}\n`,
  `${"Limit".padEnd(25)} ${"Soft Limit".padEnd(20)} ${"Hard Limit".padEnd(20)} ${"Units".padEnd(10)}\n`,
);
