import { errorText, FsError } from "../../fs/fs-error.js";
import { resolvePath } from "../../fs/paths.js";
import type { FileStat } from "../../fs/stat.js";
import { AccountNames } from "../../process/accounts.js";
import type { Self } from "../../process/process.js";
import { terminalOf } from "../../process/terminal.js";
import { complain, parseArgs, print, usage } from "../console.js";
import { humanSize } from "../machine.js";
import { typeAndMode } from "../owners.js";

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/** The major and minor numbers of devices. */
const DEVICE_NUMBERS: Readonly<Record<string, string>> = {
  null: "1,   3",
  zero: "1,   5",
  full: "1,   7",
  urandom: "1,   9",
  tty: "5,   0",
};
const BLOCK_KIB = 4;
const BLOCK_BYTES = BLOCK_KIB * 1024;
const NAME_WIDTH = 8;

/** The listing that was asked for, and what its lines need. */
interface Listing {
  readonly self: Self;
  readonly options: ReadonlyMap<string, string>;
  readonly names: AccountNames;
  readonly hasColor: boolean;
  readonly foldersFirst: boolean;
  /** undefined: one name a line */
  readonly width: number | undefined;
}

/** `ls [-1AaCxdLHRFplinshrSXctu] [-w WIDTH] [--color[=WHEN]] [FILE]...`. Mirrors busybox's coreutils/ls.c. Differs: one time for -c, -u and -t. */
export async function ls(self: Self): Promise<number> {
  const args = self.argv.slice(1);
  const color = args.map((arg) => /^--color(?:=(.*))?$/s.exec(arg)).find((match) => match !== null);
  const when = color === undefined ? "never" : (color[1] ?? "always");
  const long = /^--(color(=.*)?|group-directories-first|full-time)$/s;
  const given = args.filter((arg) => !long.test(arg));
  const { options: letters, rest, unknown } = parseArgs(given, "laA1dRhtrFinsSLpxCXQcuHw:");
  if (unknown !== undefined) return usage(self, unknown);
  const isFull = args.includes("--full-time");
  const extra = isFull ? ["l", "full-time"] : letters.has("n") ? ["l"] : [];
  const options = new Map([...letters, ...extra.map((one): [string, string] => [one, ""])]);
  const isTerminal = self.stdout.isTerminal === true;
  const hasColumns = !options.has("l") && !options.has("1") && (isTerminal || options.has("C") || options.has("x"));
  const listing: Listing = {
    self,
    options,
    names: new AccountNames(self.machine.fs),
    hasColor: when === "always" || (when === "auto" && isTerminal),
    foldersFirst: args.includes("--group-directories-first"),
    width: hasColumns ? Number(options.get("w")) || terminalOf(self.stdout)?.size.width || 80 : undefined,
  };
  return listAll(listing, rest.length === 0 ? ["."] : rest);
}

async function listAll(listing: Listing, names: readonly string[]): Promise<number> {
  const { self, options } = listing;
  const files: string[] = [];
  const folders: string[] = [];
  let code = 0;
  for (const name of names) {
    try {
      const isFollowed = options.has("L") || options.has("H") || !options.has("l");
      const stat = self.machine.fs[isFollowed ? "stat" : "lstat"](resolvePath(self.cwd, name));
      (stat.type === "directory" && !options.has("d") ? folders : files).push(name);
    } catch (error) {
      await complain(self, `${name}: ${errorText(error)}`);
      code = 1;
    }
  }
  await printEntries(listing, self.cwd, sorted(listing, self.cwd, files));
  let isFirst = files.length === 0;
  for (const name of folders) {
    if (names.length > 1 || options.has("R")) await print(self, `${isFirst ? "" : "\n"}${name}:\n`);
    isFirst = false;
    try {
      await listFolder(listing, name, folders);
    } catch (error) {
      if (!(error instanceof FsError)) throw error;
      await complain(self, `can't open '${name}': ${error.text}`);
      code = 1;
    }
  }
  return code;
}

async function listFolder(listing: Listing, name: string, folders: string[]): Promise<void> {
  const { self, options } = listing;
  const { fs } = self.machine;
  const path = resolvePath(self.cwd, name);
  const hidden = options.has("a") || options.has("A");
  const found = fs.readdir(path).filter((entry) => hidden || !entry.startsWith("."));
  const entries = sorted(listing, path, options.has("a") ? [".", "..", ...found] : found);
  if (options.has("l") || options.has("s")) {
    const kib = entries.reduce((sum, entry) => sum + kibOf(statOf(listing, resolvePath(path, entry))), 0);
    await print(
      self,
      `total ${
        options.has("h")
          ? humanSize(kib * 1024)
              .replace(".0", "")
              .padEnd(7)
          : kib
      }\n`,
    );
  }
  await printEntries(listing, path, entries);
  if (!options.has("R")) return;
  const below = entries.filter((entry) => entry !== "." && entry !== "..");
  const isFolder = (entry: string) => fs.lstat(resolvePath(path, entry)).type === "directory";
  folders.push(...below.filter(isFolder).map((entry) => `${name}/${entry}`));
}

function statOf({ self, options }: Listing, path: string): FileStat {
  const { fs } = self.machine;
  return options.has("L") && fs.exists(path) ? fs.stat(path) : fs.lstat(path);
}

function kibOf({ type, size }: FileStat): number {
  return type === "symlink" ? 0 : Math.ceil(size / BLOCK_BYTES) * BLOCK_KIB;
}

/** By size, time or ending, the largest and newest first; else by name. */
function sorted(listing: Listing, folder: string, names: readonly string[]): readonly string[] {
  const { options, foldersFirst } = listing;
  const key = options.has("S") ? "size" : options.has("t") ? "mtimeMs" : undefined;
  const keyed = names.map((name) => {
    const stat = key === undefined && !foldersFirst ? undefined : statOf(listing, resolvePath(folder, name));
    return {
      name,
      key: key === undefined ? 0 : (stat?.[key] ?? 0),
      isFolder: foldersFirst && stat?.type === "directory",
    };
  });
  keyed.sort((a, b) => b.key - a.key || (options.has("X") ? compare(endingOf(a.name), endingOf(b.name)) : 0));
  if (options.has("r")) keyed.reverse();
  return keyed.sort((a, b) => Number(b.isFolder) - Number(a.isFolder)).map(({ name }) => name);
}

const endingOf = (name: string) => (name.includes(".") ? name.slice(name.lastIndexOf(".")) : "");
const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

async function printEntries(listing: Listing, folder: string, entries: readonly string[]): Promise<void> {
  const { self, width } = listing;
  const lines = entries.map((name) => lineOf(listing, resolvePath(folder, name), name));
  if (width === undefined) await print(self, lines.map(({ text }) => `${text}\n`).join(""));
  else await print(self, inColumns(lines, width, listing.options.has("x")));
}

interface Line {
  readonly text: string;
  /** columns on a terminal */
  readonly width: number;
}

/** Names in columns, as many as fit; top to bottom first, or from left to right. */
function inColumns(lines: readonly Line[], width: number, isAcross: boolean): string {
  if (lines.length === 0) return "";
  const column = Math.max(...lines.map((line) => line.width)) + 2;
  const columns = Math.max(1, Math.floor(width / column));
  const rows = Math.ceil(lines.length / columns);
  let out = "";
  for (let row = 0; row < rows; row++) {
    const line = lines.filter((_line, at) => (isAcross ? Math.floor(at / columns) : at % rows) === row);
    const last = line.length - 1;
    out += `${line.map(({ text, width }, at) => (at === last ? text : text + " ".repeat(column - width))).join("")}\n`;
  }
  return out;
}

function lineOf(listing: Listing, path: string, name: string): Line {
  const { self, options, names } = listing;
  const { fs, clock } = self.machine;
  const stat = statOf(listing, path);
  const front = [
    options.has("i") ? `${String(stat.inode).padStart(7)} ` : "",
    options.has("s") ? `${String(kibOf(stat)).padStart(6)} ` : "",
  ].join("");
  const sign = markOf(stat, options);
  const shown = `${colored(listing, stat, name)}${stat.type === "symlink" && options.has("l") ? "" : sign}`;
  if (!options.has("l")) return { text: `${front}${shown}`, width: front.length + name.length + sign.length };
  const numbers = stat.type === "device" ? DEVICE_NUMBERS[fs.node(path)?.device ?? "null"] : undefined;
  const size = (numbers ?? (options.has("h") ? humanSize(stat.size) : String(stat.size))).padStart(9);
  const owner = ownerText(stat, options.has("n") ? undefined : names);
  const time = options.has("full-time") ? fullTime(stat.mtimeMs) : shortTime(stat.mtimeMs, clock.now());
  const target = stat.type === "symlink" ? ` -> ${targetText(listing, path)}` : "";
  const text = `${front}${typeAndMode(stat)} ${String(stat.links).padStart(4)} ${owner} ${size} ${time} ${shown}${target}`;
  return { text, width: text.length };

  function targetText(one: Listing, link: string): string {
    const name = fs.readlink(link);
    if (!fs.exists(link)) return one.hasColor ? `\x1b[1;31m${name}\x1b[m` : name;
    const stat = fs.stat(link);
    return `${colored(one, stat, name)}${one.options.has("F") ? markOf(stat, one.options) : ""}`;
  }
}

/** The sign of -F and -p after a name. */
function markOf({ type, mode }: FileStat, options: Listing["options"]): string {
  if (type === "directory") return options.has("F") || options.has("p") ? "/" : "";
  if (!options.has("F")) return "";
  if (type === "socket") return "=";
  return type === "symlink" ? "@" : (mode & 0o111) === 0 ? "" : "*";
}

/** Mirrors fgcolor and bold of busybox's ls.c. */
function colored({ hasColor, options }: Listing, { type, mode }: FileStat, name: string): string {
  const shown = options.has("Q") ? `"${name}"` : name;
  if (!hasColor) return shown;
  const isProgram = type === "file" && (mode & 0o111) !== 0;
  const color = isProgram
    ? "1;32"
    : { file: "0;0", directory: "1;34", symlink: "1;36", device: "1;33", socket: "1;35" }[type];
  return `\x1b[${color}m${shown}\x1b[m`;
}

function shortTime(ms: number, nowMs: number): string {
  const when = new Date(ms);
  const day = `${MONTHS[when.getUTCMonth()]} ${String(when.getUTCDate()).padStart(2)}`;
  const isRecent = Math.abs(nowMs - ms) < 180 * 86_400_000;
  return `${day} ${isRecent ? when.toISOString().slice(11, 16) : ` ${when.getUTCFullYear()}`}`;
}

const fullTime = (ms: number) => `${new Date(ms).toISOString().slice(0, 19).replace("T", " ")} +0000`;

function ownerText({ uid, gid }: FileStat, names: AccountNames | undefined): string {
  const [user, group] = [names?.user(uid), names?.group(gid)];
  return [user ?? uid, group ?? gid].map((text) => String(text).slice(0, NAME_WIDTH).padEnd(NAME_WIDTH)).join(" ");
}
