import { FsError } from "./fs-error.js";
import type { HostFiles } from "./host-files.js";
import type { FileOwner } from "./host-owners.js";
import { type Credentials, EXECUTE, isMember, permits, READ, SET_GID, SET_UID, STICKY, WRITE } from "./permission.js";
import { type FileStat, statOf } from "./stat.js";
import type { Place } from "./walk.js";

const GROUP_EXECUTE = 0o010;

/** The checks of one user's file operations. Without a user, as for the runtime itself, everything is allowed. */
export class Access {
  /** asked for each folder of a path; undefined: all of them can be searched */
  readonly search: ((folder: Place) => boolean) | undefined;

  constructor(
    readonly host: HostFiles,
    readonly who: Credentials | undefined,
    /** after chroot */
    readonly root?: Place,
  ) {
    const isFree = who === undefined || ["DAC_OVERRIDE", "DAC_READ_SEARCH"].some((name) => who.capabilities.has(name));
    this.search = isFree ? undefined : (folder) => this.permits(folder, EXECUTE);
  }

  permits(place: Place, wanted: number): boolean {
    return this.who === undefined || this.allows(statOf(place, this.host), wanted);
  }

  allows(stat: FileStat, wanted: number): boolean {
    return this.who === undefined || permits(this.who, stat, wanted);
  }

  /** @throws FsError EACCES */
  require(place: Place, wanted: number, path: string): void {
    if (!this.permits(place, wanted)) throw new FsError("EACCES", path);
  }

  /** A name appears in a folder. @throws FsError EACCES */
  requireCreate(folder: Place, path: string): void {
    this.require(folder, WRITE | EXECUTE, path);
  }

  /** A name disappears from a folder. Mirrors may_delete and __check_sticky. @throws FsError EACCES, EPERM */
  requireDelete(folder: Place, place: Place, path: string): void {
    const { who } = this;
    if (who === undefined) return;
    this.requireCreate(folder, path);
    const { mode, uid } = statOf(folder, this.host);
    if ((mode & STICKY) === 0 || who.uid === uid || who.capabilities.has("FOWNER")) return;
    if (statOf(place, this.host).uid !== who.uid) throw new FsError("EPERM", path);
  }

  /** Mirrors may_linkat with fs.protected_hardlinks, as distributions set it. @throws FsError EPERM */
  requireLink(file: Place, path: string): void {
    if (!this.#isOwner(statOf(file, this.host)) && !this.permits(file, READ | WRITE)) throw new FsError("EPERM", path);
  }

  /** Mirrors may_setattr and setattr_prepare for the time now: a writer may set it, too. @throws FsError EACCES */
  requireTouch(place: Place, path: string): void {
    if (!this.#isOwner(statOf(place, this.host))) this.require(place, WRITE, path);
  }

  /** The mode after chmod. Mirrors setattr_prepare and setattr_copy. @throws FsError EPERM */
  modeAfter(place: Place, mode: number, path: string): number {
    const stat = statOf(place, this.host);
    if (!this.#isOwner(stat)) throw new FsError("EPERM", path);
    const { who } = this;
    const keepsGroupBit = who === undefined || isMember(who, stat.gid) || who.capabilities.has("FSETID");
    return mode & (keepsGroupBit ? 0o7777 : 0o7777 & ~SET_GID);
  }

  /** The owner and mode after chown. Mirrors chown_ok, chgrp_ok and setattr_should_drop_suidgid. @throws FsError EPERM */
  ownerAfter(place: Place, to: Partial<FileOwner>, path: string): FileOwner & { readonly mode: number } {
    const { type, mode, ...before } = statOf(place, this.host);
    const { uid = before.uid, gid = before.gid } = to;
    const { who } = this;
    if (who !== undefined && !who.capabilities.has("CHOWN")) {
      const isOwn = who.uid === before.uid && uid === before.uid;
      if (!isOwn || (gid !== before.gid && !isMember(who, gid))) throw new FsError("EPERM", path);
    }
    if (type === "directory") return { uid, gid, mode };
    return { uid, gid, mode: mode & ~SET_UID & ~(mode & GROUP_EXECUTE ? SET_GID : 0) };
  }

  /** The owner and additional mode bits of something new in a folder. Mirrors inode_init_owner in Linux's fs/inode.c. */
  ofNew(folder: Place, type: FileStat["type"]): FileOwner & { readonly bits: number } {
    const { uid = 0, gid = 0 } = this.who ?? {};
    const { mode, gid: group } = statOf(folder, this.host);
    if ((mode & SET_GID) === 0) return { uid, gid, bits: 0 };
    return { uid, gid: group, bits: type === "directory" ? SET_GID : 0 };
  }

  #isOwner({ uid }: FileStat): boolean {
    return this.who === undefined || this.who.uid === uid || this.who.capabilities.has("FOWNER");
  }
}
