import type { ContainerFs } from "../fs/container-fs.js";

/** A line of /etc/passwd. */
export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
  readonly shell: string;
}

interface Group {
  readonly name: string;
  readonly gid: number;
  readonly members: readonly string[];
}

/** The users of a container's /etc/passwd. */
export function readAccounts(fs: ContainerFs): readonly Account[] {
  return linesOf(fs, "/etc/passwd")
    .filter((fields) => fields.length >= 6)
    .map(([name = "", , uid, gid, , home = "/", shell]) => ({
      name,
      uid: Number(uid),
      gid: Number(gid),
      home,
      shell: shell || "/bin/sh",
    }));
}

/** The groups of a container's /etc/group. */
export function readGroups(fs: ContainerFs): readonly Group[] {
  return linesOf(fs, "/etc/group").map(([name = "", , gid, members = ""]) => ({
    name,
    gid: Number(gid),
    members: members.split(","),
  }));
}

/** All groups of a user: the primary one, and those that name the user as a member. Mirrors getgrouplist(3). */
export function groupsOf(fs: ContainerFs, { name, gid }: Pick<Account, "name" | "gid">): readonly number[] {
  const own = readGroups(fs).filter(({ members }) => members.includes(name));
  return [...new Set([gid, ...own.map((one) => one.gid)])];
}

/** The user with this name or number, with all groups; undefined if there is none. */
export function accountOf(fs: ContainerFs, text: string) {
  const found = readAccounts(fs).find(({ name, uid }) => name === text || String(uid) === text);
  return found === undefined ? undefined : { ...found, groups: groupsOf(fs, found) };
}

/** The names of users and groups, for a program that prints many: each file is read once. */
export class AccountNames {
  #users: ReadonlyMap<number, string> | undefined;
  #groups: ReadonlyMap<number, string> | undefined;

  constructor(readonly fs: ContainerFs) {}

  /** @returns undefined for an unknown number */
  user(uid: number): string | undefined {
    this.#users ??= firstOf(readAccounts(this.fs).map(({ uid, name }) => [uid, name]));
    return this.#users.get(uid);
  }

  /** @returns undefined for an unknown number */
  group(gid: number): string | undefined {
    this.#groups ??= firstOf(readGroups(this.fs).map(({ gid, name }) => [gid, name]));
    return this.#groups.get(gid);
  }
}

function firstOf(entries: readonly (readonly [number, string])[]): ReadonlyMap<number, string> {
  return new Map([...entries].reverse());
}

/** @param text a name or a number @returns undefined for an unknown name */
export function userIdOf(fs: ContainerFs, text: string): number | undefined {
  return /^\d+$/.test(text) ? Number(text) : readAccounts(fs).find(({ name }) => name === text)?.uid;
}

/** @param text a name or a number @returns undefined for an unknown name */
export function groupIdOf(fs: ContainerFs, text: string): number | undefined {
  return /^\d+$/.test(text) ? Number(text) : readGroups(fs).find(({ name }) => name === text)?.gid;
}

function linesOf(fs: ContainerFs, path: string): string[][] {
  try {
    const lines = fs.readFile(path).toString().split("\n");
    return lines.filter((text) => text !== "").map((text) => text.split(":"));
  } catch {
    return []; // It does not exist, or the user cannot read it.
  }
}
