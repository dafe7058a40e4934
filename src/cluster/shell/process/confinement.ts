/**
 * The rights of a container's processes. File operations, signals, ports and network programs depend on the capabilities.
 * Differs: programs only report the rest, unless they mention it themselves.
 */
export interface Confinement {
  /** the bounding set, as names without `CAP_` */
  readonly capabilities: ReadonlySet<string>;
  readonly noNewPrivileges: boolean;
  /** as in /proc/PID/status: 0 disabled, 2 filter */
  readonly seccomp: 0 | 2;
  /** by their names: `kernel.shm_rmid_forced` */
  readonly sysctls: Readonly<Record<string, string>>;
  /** the score of all its processes: the higher, the sooner the kernel kills them when the machine runs out of memory */
  readonly oomScoreAdj: number;
}

/** Linux's capabilities in the order of their bits. */
const CAPABILITIES = [
  ..."CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE".split(" "),
  ..."NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT".split(" "),
  ..."SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE".split(" "),
  ..."AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ".split(" "),
  ..."PERFMON BPF CHECKPOINT_RESTORE".split(" "),
] as const;

/** containerd's set for containers that are not privileged. */
const DEFAULT_CAPABILITIES = [
  ..."CHOWN DAC_OVERRIDE FSETID FOWNER MKNOD NET_RAW SETGID SETUID SETFCAP SETPCAP".split(" "),
  ..."NET_BIND_SERVICE SYS_CHROOT KILL AUDIT_WRITE".split(" "),
];

/** The capabilities of a container. Mirrors containerd's WithCapabilities: `ALL` is for all, dropped after added. */
export function capabilitiesOf(
  isPrivileged: boolean,
  { add, drop }: { readonly add: readonly string[]; readonly drop: readonly string[] },
): ReadonlySet<string> {
  if (isPrivileged) return new Set(CAPABILITIES);
  const names = (list: readonly string[]) => list.map((name) => name.toUpperCase().replace(/^CAP_/, ""));
  const [added, dropped] = [names(add), names(drop)];
  const start = dropped.includes("ALL") ? [] : DEFAULT_CAPABILITIES;
  const all = [...start, ...(added.includes("ALL") ? CAPABILITIES : added)];
  return new Set(all.filter((name) => !dropped.includes(name)));
}

const NONE: ReadonlySet<string> = new Set();

/** The effective set: without ambient capabilities, a program of another user than root starts with none. */
export function effectiveCapabilities(uid: number, { capabilities }: Confinement): ReadonlySet<string> {
  return uid === 0 ? capabilities : NONE;
}

/** The processes of a container: who they are, and what they may do. */
export interface Subject {
  readonly user: { readonly uid: number; readonly gid: number; readonly groups: readonly number[] };
  readonly confinement: Confinement;
}

/** Whether a user may send signals to processes of another. Mirrors kill_ok_by_cred in Linux's kernel/signal.c. */
export function permitsSignal({ user, confinement }: Subject, uid: number): boolean {
  return user.uid === uid || effectiveCapabilities(user.uid, confinement).has("KILL");
}

/**
 * Whether a process may look into another one: its root folder and the like. Mirrors ptrace_may_access in Linux's
 * kernel/ptrace.c.
 */
export function permitsTrace(who: Subject, whom: Subject): boolean {
  const own = effectiveCapabilities(who.user.uid, who.confinement);
  if (own.has("SYS_PTRACE")) return true;
  const { uid, gid } = whom.user;
  if (who.user.uid !== uid || who.user.gid !== gid) return false;
  return [...effectiveCapabilities(uid, whom.confinement)].every((name) => own.has(name));
}

/** Capabilities as a mask of /proc/PID/status: `00000000a80425fb`. */
export function capabilityMask(capabilities: ReadonlySet<string>): string {
  const bits = CAPABILITIES.reduce((sum, name, bit) => (capabilities.has(name) ? sum | (1n << BigInt(bit)) : sum), 0n);
  return bits.toString(16).padStart(16, "0");
}
