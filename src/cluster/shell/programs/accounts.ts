import type { ContainerFs } from "../fs/container-fs.js";
import { errorText, FsError } from "../fs/fs-error.js";
import { resolvePath } from "../fs/paths.js";
import { copyFiles } from "../language/bash-fs.js";
import { accountOf, groupIdOf, readAccounts, readGroups } from "../process/accounts.js";
import type { Self } from "../process/process.js";
import { fail, usage } from "./console.js";
import { type NetOptions, parseOptions } from "./net/options.js";

/** The numbers of new users and groups. Mirrors busybox' CONFIG_FIRST_SYSTEM_ID, LAST_SYSTEM_ID and LAST_ID. */
const FIRST_SYSTEM_ID = 100;
const LAST_SYSTEM_ID = 999;
const LAST_ID = 60_000;
const DAY_MS = 86_400_000;

/** Why an account cannot be made. */
class Refusal extends Error {
  override readonly name = "Refusal";
}

/** Runs a change of the accounts as root. @returns the exit code */
async function change(self: Self, run: () => string | undefined): Promise<number> {
  if (self.machine.user.uid !== 0) return fail(self, "permission denied (are you root?)");
  try {
    const problem = run();
    return problem === undefined ? 0 : await fail(self, problem);
  } catch (error) {
    if (error instanceof Refusal) return fail(self, error.message);
    if (error instanceof FsError) return fail(self, `${error.path}: ${errorText(error)}`);
    throw error;
  }
}

const USER_OPTIONS = {
  home: "h:",
  gecos: "g:",
  shell: "s:",
  ingroup: "G:",
  "disabled-password": "D",
  "empty-password": "",
  system: "S",
  "no-create-home": "H",
  uid: "u:",
  skel: "k:",
};

/** `adduser [-SDH] [-u UID] [-G GROUP] [-h HOME] [-s SHELL] USER`, `adduser USER GROUP`. Mirrors busybox' loginutils/adduser.c. */
export async function adduser(self: Self): Promise<number> {
  const options = parseOptions(self.argv.slice(1), USER_OPTIONS);
  const [name, group] = options.rest;
  if (options.problem !== undefined || name === undefined || options.rest.length > 2)
    return usage(self, options.problem);
  const { fs } = self.machine;
  return change(self, () => {
    if (options.values.size === 0 && group !== undefined) return join(fs, name, group);
    addUser(self, name, options);
    const needsNone = ["system", "disabled-password", "empty-password"].some((one) => options.has(one));
    return needsNone ? undefined : "can't execute passwd, you must set password manually";
  });
}

/** @throws Refusal, FsError */
function addUser(self: Self, name: string, options: NetOptions): void {
  const { fs, clock } = self.machine;
  requireName(name);
  const isSystem = options.has("system");
  const group = options.text("ingroup") ?? (isSystem ? "nogroup" : undefined);
  const given = group === undefined ? undefined : groupIdOf(fs, group);
  if (group !== undefined && given === undefined) throw new Refusal(`unknown group ${group}`);
  const users = readAccounts(fs);
  if (users.some((one) => one.name === name)) throw new Refusal(`user '${name}' in use`);
  const taken = new Set([...users.map(({ uid }) => uid), ...(given === undefined ? groupIds(fs) : [])]);
  const uid = freeId(taken, options.text("uid"), isSystem, "uid");
  const gid = given ?? uid;
  if (group === undefined && readGroups(fs).some((one) => one.name === name))
    throw new Refusal(`group '${name}' in use`);
  const home = options.text("home") ?? `/home/${name}`;
  const shell = options.text("shell") ?? (isSystem ? "/bin/false" : "/bin/sh");
  const fields = [name, "x", uid, gid, options.text("gecos") ?? "Linux User,,,", home, shell];
  append(fs, "/etc/passwd", fields.join(":"));
  if (fs.exists("/etc/shadow")) append(fs, "/etc/shadow", `${name}:!:${Math.floor(clock.now() / DAY_MS)}:0:99999:7:::`);
  if (group === undefined) append(fs, "/etc/group", `${name}:x:${gid}:`);
  else join(fs, name, group);
  if (!options.has("no-create-home")) makeHome(self, home, options.text("skel") ?? "/etc/skel", { uid, gid });
}

function makeHome({ machine: { fs } }: Self, home: string, skel: string, owner: { uid: number; gid: number }): void {
  const path = resolvePath("/", home);
  if (!fs.exists(path)) {
    fs.mkdir(path, { mode: 0o755 });
    if (fs.exists(skel)) copyFiles(fs, skel, path, { isRecursive: true, umask: 0 });
    const todo = fs.readdir(path).map((one) => resolvePath(path, one));
    for (let one = todo.pop(); one !== undefined; one = todo.pop()) {
      fs.chown(one, owner, false);
      if (fs.lstat(one).type === "directory") for (const child of fs.readdir(one)) todo.push(resolvePath(one, child));
    }
  }
  fs.chown(path, owner);
  fs.chmod(path, 0o2755);
}

/** `addgroup [-S] [-g GID] GROUP`, `addgroup USER GROUP`. Mirrors busybox' loginutils/addgroup.c. */
export async function addgroup(self: Self): Promise<number> {
  const options = parseOptions(self.argv.slice(1), { gid: "g:", system: "S" });
  const [name, group, extra] = options.rest;
  const isJoin = group !== undefined;
  if (options.problem !== undefined || name === undefined || extra !== undefined || (isJoin && options.values.size > 0))
    return usage(self, options.problem);
  const { fs } = self.machine;
  return change(self, () => {
    if (isJoin) return join(fs, name, group);
    requireName(name);
    if (readGroups(fs).some((one) => one.name === name)) throw new Refusal(`group '${name}' in use`);
    const gid = freeId(new Set(groupIds(fs)), options.text("gid"), options.has("system"), "gid");
    append(fs, "/etc/group", `${name}:x:${gid}:`);
    return undefined;
  });
}

/** Adds a user to a group. @returns the problem */
function join(fs: ContainerFs, user: string, group: string): string | undefined {
  if (accountOf(fs, user) === undefined) return `unknown user ${user}`;
  if (groupIdOf(fs, group) === undefined) return `unknown group ${group}`;
  const lines = fs.readFile("/etc/group").toString().split("\n");
  const changed = lines.map((line) => {
    if (!line.startsWith(`${group}:`)) return line;
    const members = line.split(":")[3] ?? "";
    if (members.split(",").includes(user)) return line;
    return `${line}${members === "" ? "" : ","}${user}`;
  });
  fs.write("/etc/group", Buffer.from(changed.join("\n")), { truncate: true });
  return undefined;
}

function groupIds(fs: ContainerFs): readonly number[] {
  return readGroups(fs).map(({ gid }) => gid);
}

/** @throws Refusal */
function freeId(taken: ReadonlySet<number>, given: string | undefined, isSystem: boolean, what: string): number {
  if (given !== undefined) {
    if (!/^\d{1,9}$/.test(given)) throw new Refusal(`invalid number '${given}'`);
    if (Number(given) > LAST_ID) throw new Refusal(`number ${given} is not in 0..${LAST_ID} range`);
    if (taken.has(Number(given))) throw new Refusal(`${what} '${given}' in use`);
    return Number(given);
  }
  const last = isSystem ? LAST_SYSTEM_ID : LAST_ID;
  for (let id = isSystem ? FIRST_SYSTEM_ID : LAST_SYSTEM_ID + 1; id <= last; id++) if (!taken.has(id)) return id;
  throw new Refusal(`no ${what}s left`);
}

/** Mirrors busybox' libbb/die_if_bad_username.c. @throws Refusal */
function requireName(name: string): void {
  const at = /^[-.]/.test(name) ? 0 : name.search(/[^\w.@-](?!$)|[^\w.@$-]$/);
  if (at >= 0 || name === "")
    throw new Refusal(`illegal character with code ${name.charCodeAt(at) || 0} at position ${at}`);
}

/** Adds a line to a file. @throws FsError */
function append(fs: ContainerFs, path: string, line: string): void {
  const before = fs.exists(path) ? fs.readFile(path).toString() : "";
  const text = before === "" || before.endsWith("\n") ? before : `${before}\n`;
  fs.write(path, Buffer.from(`${text}${line}\n`), { truncate: true });
}
