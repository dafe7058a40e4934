import { FsError } from "../fs/fs-error.js";
import { resolvePath } from "../fs/paths.js";
import { effectiveCapabilities } from "../process/confinement.js";
import type { Self } from "../process/process.js";
import { complain, parseArgs, print, usage } from "./console.js";

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
  if (rest.length > 0) {
    const { user, confinement } = self.machine;
    const isAllowed = effectiveCapabilities(user.uid, confinement).has("SYS_ADMIN");
    await complain(self, isAllowed ? "kubelab mounts nothing in containers" : "permission denied (are you root?)");
    return 1;
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
function humanSize(bytes: number): string {
  const [unit, size] = UNITS.find(([, least]) => bytes >= least) ?? ["", 1];
  return unit === "" ? String(bytes) : `${(bytes / size).toFixed(1)}${unit}`;
}

/** `df [-hkmP] [FILE...]`: the space of the mounts, or of those that have the files. */
export async function df(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "hkmPTai");
  if (unknown !== undefined) return usage(self, unknown);
  const { fs } = self.machine;
  const [title, size] = sizesOf(options);
  const all = mountsOf(self);
  const wanted: Mount[] = [];
  let code = 0;
  for (const name of rest) {
    const path = resolvePath(self.cwd, name);
    try {
      fs.stat(path);
      const above = all.filter(({ target }) => target === "/" || path === target || path.startsWith(`${target}/`));
      wanted.push(...above.sort((a, b) => b.target.length - a.target.length).slice(0, 1));
    } catch (error) {
      if (!(error instanceof FsError)) throw error;
      await complain(self, `${name}: can't find mount point: ${error.text}`);
      code = 1;
    }
  }
  const lines = (rest.length === 0 ? all : wanted).flatMap(({ source, target }) => {
    const { totalBytes, freeBytes } = fs.space(target);
    if (totalBytes === 0 && rest.length === 0 && !options.has("a")) return [];
    const used = totalBytes - freeBytes;
    const share = totalBytes === 0 ? 0 : Math.ceil((used / totalBytes) * 100);
    const amounts = [totalBytes, used, freeBytes].map((bytes) => size(bytes).padStart(9)).join(" ");
    return [`${source.padEnd(SOURCE_WIDTH)} ${amounts} ${`${share}%`.padStart(4)} ${target}\n`];
  });
  await print(
    self,
    `${"Filesystem".padEnd(SOURCE_WIDTH)} ${title.padStart(9)}      Used Available Use% Mounted on\n${lines.join("")}`,
  );
  return code;
}

const SOURCE_WIDTH = 20;
type Size = (bytes: number) => string;

function sizesOf(options: ReadonlyMap<string, string>): readonly [title: string, size: Size] {
  if (options.has("h")) return ["Size", humanSize];
  if (options.has("m")) return ["1M-blocks", (bytes) => String(Math.round(bytes / 1024 ** 2))];
  return ["1K-blocks", (bytes) => String(Math.round(bytes / 1024))];
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
