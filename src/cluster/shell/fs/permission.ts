import type { FileStat } from "./stat.js";

/**
 * The identity with which a container's processes use files. Mirrors struct cred in Linux's include/linux/cred.h.
 *
 * Where owners and modes are: a node of the container's tree has its own (`nodes.ts`), a file in a mount has those of
 * the machine (`host-owners.ts`). Where they are checked: path lookup asks for the right to search each folder
 * (`walk.ts`), and `ContainerFs` for the rights that a call needs, before it changes anything (`access.ts`). Programs check
 * nothing, so no program can forget to. A user with CAP_DAC_OVERRIDE, as root has it by default, skips the lookup's checks.
 */
export interface Credentials {
  readonly uid: number;
  readonly gid: number;
  /** all groups, including the primary one */
  readonly groups: readonly number[];
  /** the effective set, as names without `CAP_` */
  readonly capabilities: ReadonlySet<string>;
}

/** Permission bits of one class of users. */
export const READ = 4;
export const WRITE = 2;
export const EXECUTE = 1;

export const SET_UID = 0o4000;
/** New files in a folder with this bit get the folder's group, and new folders also the bit. */
export const SET_GID = 0o2000;
/** Only its owner can remove a file from a folder with this bit. */
export const STICKY = 0o1000;

const ANY_EXECUTE_BIT = 0o111;

/** Whether a user has all `wanted` rights. Mirrors generic_permission in Linux's fs/namei.c. Pure. */
export function permits(
  who: Credentials,
  { type, mode, uid, gid }: Pick<FileStat, "type" | "mode" | "uid" | "gid">,
  wanted: number,
): boolean {
  const { capabilities } = who;
  const shift = who.uid === uid ? 6 : isMember(who, gid) ? 3 : 0;
  if (((mode >> shift) & wanted) === wanted) return true;
  const onlyLooks = (wanted & WRITE) === 0;
  if (type === "directory")
    return capabilities.has("DAC_OVERRIDE") || (onlyLooks && capabilities.has("DAC_READ_SEARCH"));
  if (wanted === READ && capabilities.has("DAC_READ_SEARCH")) return true;
  return capabilities.has("DAC_OVERRIDE") && ((wanted & EXECUTE) === 0 || (mode & ANY_EXECUTE_BIT) !== 0);
}

export function isMember({ gid, groups }: Credentials, group: number): boolean {
  return gid === group || groups.includes(group);
}
