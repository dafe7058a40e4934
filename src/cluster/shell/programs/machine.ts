import { resolvePath } from "../fs/paths.js";
import { effectiveCapabilities } from "../process/confinement.js";
import type { Self } from "../process/process.js";
import { complain, fail, parseArgs, print, usage } from "./console.js";
import { parseCount } from "./text.js";

/** Programs that show what /proc says about the machine, as busybox prints it. */

interface Mount {
  readonly source: string;
  readonly target: string;
  readonly type: string;
  readonly options: string;
}

function mountsOf({ machine }: Self): readonly Mount[] {
  const lines = machine.fs.readFile("/proc/mounts").toString().trimEnd().split("\n");
  return lines.map((line) => {
    const [source = "", target = "", type = "", options = ""] = line.split(" ");
    return { source, target, type, options };
  });
}

/** `mount`, `mount -t TYPE`: the mounts of the container. Mounting is refused. */
export async function mount(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "aflnrsvwt:o:");
  if (unknown !== undefined) return usage(self, unknown);
  if (rest.length === 1) return fail(self, "can't read '/etc/fstab': No such file or directory");
  if (rest.length > 1) {
    const { user, confinement } = self.machine;
    const isAllowed = effectiveCapabilities(user.uid, confinement).has("SYS_ADMIN");
    return fail(self, isAllowed ? "kubelab mounts nothing in containers" : "permission denied (are you root?)");
  }
  const only = options.get("t");
  const shown = mountsOf(self).filter(({ type }) => only === undefined || type === only);
  const lines = shown.map((one) => `${one.source} on ${one.target} type ${one.type} (${one.options})\n`);
  await print(self, lines.join(""));
  return 0;
}

const UNITS: readonly (readonly [unit: string, bytes: number])[] = [
  ["G", 1024 ** 3],
  ["M", 1024 ** 2],
  ["K", 1024],
];

/** `1.5G`: with one decimal, as busybox writes sizes for people. */
export function humanSize(bytes: number): string {
  const [unit, size] = UNITS.find(([, least]) => bytes >= least) ?? ["", 1];
  return unit === "" ? String(bytes) : `${(bytes / size).toFixed(1)}${unit}`;
}

/** `df [-PkmhTai] [-t TYPE] [FILE...]`: the space of the mounts, or of those that have the files. Mirrors busybox's coreutils/df.c. */
export async function df(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "hkmPTait:B:");
  if (unknown !== undefined) return usage(self, unknown);
  if (Number.isNaN(parseCount(options.get("B") ?? "1"))) return fail(self, `invalid number '${options.get("B")}'`);
  const { fs } = self.machine;
  const type = options.get("t");
  const all = mountsOf(self).filter((one) => type === undefined || one.type === type);
  const wanted: Mount[] = [];
  const missing: string[] = [];
  for (const name of rest) {
    const path = resolvePath(self.cwd, name);
    if (fs.exists(path)) {
      const above = all.filter(({ target }) => target === "/" || path === target || path.startsWith(`${target}/`));
      wanted.push(...above.sort((a, b) => b.target.length - a.target.length).slice(0, 1));
      continue;
    }
    missing.push(name);
  }
  const lines = (rest.length === 0 ? all : wanted).flatMap(({ source, target, type }) => {
    const { totalBytes, freeBytes, totalInodes, freeInodes } = fs.space(target);
    if (totalBytes === 0 && rest.length === 0 && !options.has("a")) return [];
    const [total, free] = options.has("i") ? [totalInodes, freeInodes] : [totalBytes, freeBytes];
    const used = total - free;
    const share = total === 0 ? 0 : Math.ceil((used / total) * 100);
    const amounts = [total, used, free].map((one) => amountText(one, options).padStart(9)).join(" ");
    return [`${nameColumns(source, type, options)} ${amounts} ${`${share}%`.padStart(4)} ${target}\n`];
  });
  await print(self, `${nameColumns("Filesystem", "Type", options)} ${titles(options)} Mounted on\n${lines.join("")}`);
  for (const name of missing) await complain(self, `${name}: can't find mount point`);
  return missing.length === 0 ? 0 : 1;
}

const SOURCE_WIDTH = 20;
const TYPE_WIDTH = 10;
type Options = ReadonlyMap<string, string>;

function nameColumns(source: string, type: string, options: Options): string {
  const name = source.padEnd(SOURCE_WIDTH);
  return options.has("T") ? `${name} ${type.padEnd(TYPE_WIDTH)}` : name;
}

function amountText(amount: number, options: Options): string {
  if (options.has("i")) return String(amount);
  if (options.has("h")) return humanSize(amount);
  return String(Math.round(amount / blockBytes(options)));
}

function blockBytes(options: Options): number {
  return options.has("B") ? parseCount(options.get("B") ?? "") : 1024 ** (options.has("m") ? 2 : 1);
}

function blockName(bytes: number): string {
  return bytes % 1024 ** 2 === 0 ? `${bytes / 1024 ** 2}M` : bytes % 1024 === 0 ? `${bytes / 1024}K` : String(bytes);
}

function titles(options: Options): string {
  if (options.has("i")) return "   Inodes      Used Available Use%";
  if (options.has("P") && !options.has("h") && blockBytes(options) === 1024)
    return "1024-blocks    Used Available Capacity";
  const size = options.has("h") ? "     Size" : `${blockName(blockBytes(options))}-blocks`.padStart(9);
  return `${size}      Used Available ${options.has("P") ? "Capacity" : "Use%"}`;
}

/** `umount [-rlfda] FOLDER...`. Differs: it is refused also for those who may, because the mounts are the kubelet's. */
export async function umount(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "rlfdat:");
  if (unknown !== undefined || (rest.length === 0 && !options.has("a"))) return usage(self, unknown);
  const { fs } = self.machine;
  const mounts = new Set(mountsOf(self).map(({ target }) => target));
  for (const name of options.has("a") ? ["/"] : rest) {
    const path = resolvePath(self.cwd, name);
    const why = !fs.exists(path)
      ? "No such file or directory"
      : mounts.has(path)
        ? "Operation not permitted"
        : "Invalid argument";
    await complain(self, `can't unmount ${name}: ${why}`);
  }
  return 1;
}

/** `mountpoint [-qd] FOLDER` */
export async function mountpoint(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "qd");
  const [name, ...others] = rest;
  if (unknown !== undefined || name === undefined || others.length > 0) return usage(self, unknown);
  const path = resolvePath(self.cwd, name);
  const { fs } = self.machine;
  const problem = !fs.exists(path)
    ? "No such file or directory"
    : fs.stat(path).type !== "directory"
      ? "Not a directory"
      : undefined;
  if (problem !== undefined) return options.has("q") ? 1 : fail(self, `${name}: ${problem}`);
  const isMount = mountsOf(self).some(({ target }) => target === path);
  const text = options.has("d") ? "0:1" : `${name} is ${isMount ? "" : "not "}a mountpoint`;
  if (!options.has("q")) await print(self, `${text}\n`);
  return isMount ? 0 : 1;
}

/** `free [-bkmgh]`: the memory of the node, as /proc/meminfo has it; a container's own limit is not shown there. */
export async function free(self: Self): Promise<number> {
  const { options, unknown } = parseArgs(self.argv.slice(1), "bkmgh");
  if (unknown !== undefined) return usage(self, unknown);
  const kib = new Map(
    self.machine.fs
      .readFile("/proc/meminfo")
      .toString()
      .split("\n")
      .map((line) => [line.split(":")[0] ?? "", Number(/\d+/.exec(line)?.[0] ?? 0)] as const),
  );
  const divisor = options.has("b") ? 1 / 1024 : options.has("m") ? 1024 : options.has("g") ? 1024 ** 2 : 1;
  const get = (name: string) => kib.get(name) ?? 0;
  const text = (amount: number) => (options.has("h") ? humanSize(amount * 1024) : String(Math.floor(amount / divisor)));
  const row = (name: string, amounts: readonly number[]) =>
    `${name.padEnd(7)}${amounts.map((amount) => text(amount).padStart(12)).join("")}\n`;
  const cached = get("Buffers") + get("Cached");
  const used = get("MemTotal") - get("MemFree") - cached;
  const titles = ["total", "used", "free", "shared", "buff/cache", "available"].map((one) => one.padStart(12)).join("");
  const memory = [get("MemTotal"), used, get("MemFree"), get("Shmem"), cached, get("MemAvailable")];
  const swap = [get("SwapTotal"), get("SwapTotal") - get("SwapFree"), get("SwapFree")];
  await print(self, `       ${titles}\n${row("Mem:", memory)}${row("Swap:", swap)}`);
  return 0;
}

/** `uptime`: the node's time since its start, and its load. */
export async function uptime(self: Self): Promise<number> {
  const { fs, clock } = self.machine;
  const seconds = Number(fs.readFile("/proc/uptime").toString().split(" ")[0]);
  const load = fs.readFile("/proc/loadavg").toString().split(" ").slice(0, 3).join(", ");
  const minutes = Math.floor(seconds / 60);
  const days = Math.floor(minutes / 1440);
  const hours = Math.floor(minutes / 60) % 24;
  const clockText = new Date(clock.now()).toISOString().slice(11, 19);
  const since =
    hours > 0 ? `${String(hours).padStart(2)}:${String(minutes % 60).padStart(2, "0")}` : `${minutes % 60} min`;
  const dayText = days === 0 ? "" : `${days} day${days === 1 ? "" : "s"}, `;
  await print(self, ` ${clockText} up ${dayText}${since},  load average: ${load}\n`);
  return 0;
}
