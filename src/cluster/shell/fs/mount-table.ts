import type { HostMount } from "./nodes.js";

interface MountRow {
  readonly source: string;
  /** the part of its file system that is mounted */
  readonly root: string;
  readonly target: string;
  readonly type: string;
  readonly options: string;
}

/** The mounts of every container. Mirrors containerd's defaultMounts in oci/mounts.go, and its cgroup mount. */
const KERNEL_MOUNTS: readonly MountRow[] = [
  row("proc", "/proc", "proc", "rw,nosuid,nodev,noexec,relatime"),
  row("tmpfs", "/dev", "tmpfs", "rw,nosuid,size=65536k,mode=755"),
  row("devpts", "/dev/pts", "devpts", "rw,nosuid,noexec,relatime,gid=5,mode=620,ptmxmode=666"),
  row("mqueue", "/dev/mqueue", "mqueue", "rw,nosuid,nodev,noexec,relatime"),
  row("shm", "/dev/shm", "tmpfs", "rw,nosuid,nodev,noexec,relatime,size=65536k"),
  row("sysfs", "/sys", "sysfs", "ro,nosuid,nodev,noexec,relatime"),
  row("cgroup", "/sys/fs/cgroup", "cgroup2", "ro,nosuid,nodev,noexec,relatime"),
];

/** The folders of the kubelet and the runtime on every node: the machine's own path stays hidden. */
const NODE_FOLDER = /\/var\/(?:lib\/kubelet|lib\/containerd|log)\/.*$/;
const FIRST_ID = 1000;

function row(source: string, target: string, type: string, options: string): MountRow {
  return { source, root: "/", target, type, options };
}

/** @param tmpfsBytes the size of a mount on a tmpfs of the machine; undefined for others */
function rows(
  isReadonly: boolean,
  mounts: readonly HostMount[],
  tmpfsBytes: (mount: HostMount) => number | undefined,
): readonly MountRow[] {
  const own = mounts.map((mount): MountRow => {
    const bytes = tmpfsBytes(mount);
    const [source, type] = bytes === undefined ? ["/dev/kubelab", "ext4"] : ["tmpfs", "tmpfs"];
    const root = NODE_FOLDER.exec(mount.hostPath)?.[0] ?? "/";
    const size = bytes === undefined ? "" : `,size=${Math.floor(bytes / 1024)}k`;
    const options = `${mount.isReadonly ? "ro" : "rw"},relatime${size}`;
    return { source: source ?? "", root, target: mount.containerPath, type: type ?? "", options };
  });
  return [row("overlay", "/", "overlay", `${isReadonly ? "ro" : "rw"},relatime`), ...KERNEL_MOUNTS, ...own];
}

/** /proc/PID/mounts. */
export function mountsText(...given: Parameters<typeof rows>): string {
  return rows(...given)
    .map(({ source, target, type, options }) => `${source} ${target} ${type} ${options} 0 0\n`)
    .join("");
}

/** /proc/PID/mountinfo. Mirrors show_mountinfo in Linux's fs/proc_namespace.c. */
export function mountInfoText(...given: Parameters<typeof rows>): string {
  const all = rows(...given);
  const parentOf = (target: string) => {
    const above = all
      .map((one, at) => ({ ...one, at }))
      .filter((one) => one.target !== target && isBelow(target, one.target));
    return above.sort((a, b) => b.target.length - a.target.length)[0]?.at ?? -1;
  };
  return all
    .map(({ source, root, target, type, options }, at) => {
      const [mode = "rw"] = options.split(",");
      return `${FIRST_ID + at} ${FIRST_ID + parentOf(target)} 0:${at + 20} ${root} ${target} ${options} - ${type} ${source} ${mode}\n`;
    })
    .join("");
}

function isBelow(path: string, folder: string): boolean {
  return folder === "/" || path.startsWith(`${folder}/`);
}
