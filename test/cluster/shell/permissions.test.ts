import assert from "node:assert/strict";
import { chmodSync, chownSync, lstatSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, test } from "vitest";
import { syntheticDefinition } from "../../../src/cluster/runtime/images/definition.js";
import { buildRootTree } from "../../../src/cluster/runtime/images/root-tree.js";
import { ContainerFs } from "../../../src/cluster/shell/fs/container-fs.js";
import { hostMount } from "../../../src/cluster/shell/fs/host-mount.js";
import { HostOwners } from "../../../src/cluster/shell/fs/host-owners.js";
import { changedMode, modeText } from "../../../src/cluster/shell/fs/mode.js";
import { permits } from "../../../src/cluster/shell/fs/permission.js";
import { NamespaceMode } from "../../../src/staging/cri/messages/enums.js";
import { FakeClock } from "../../support/fake-clock.js";
import { newFolder, RuntimeLab, stateOf } from "../runtime/lab.js";

const lab = new RuntimeLab();
afterAll(() => lab.stop());

const OWN_PIDS = { pid: NamespaceMode.CONTAINER };
const USER = { runAsUser: { value: 1000n }, runAsGroup: { value: 3000n }, supplementalGroups: [2000n] };

/** A container with a volume as the kubelet sets it up for fsGroup 2000. */
function containerOf(securityContext: object, mounts: readonly { containerPath: string; hostPath: string }[] = []) {
  return lab.run({
    command: ["sleep", "infinity"],
    mounts: mounts.map((mount) => ({ readonly: false, ...mount })),
    linux: { securityContext: { namespaceOptions: OWN_PIDS, ...securityContext } },
  });
}

async function sh(script: string, container: ReturnType<typeof containerOf>): Promise<string> {
  const { stdout, stderr } = await lab.sh(`{ ${script}; } 2>&1`, container);
  return stdout.toString() + stderr.toString();
}

/** What busybox prints for the same commands on Linux, as uid 1000, gid 3000, groups 2000 and 3000. */
const AS_USER: readonly (readonly [string, string])[] = [
  ["id", "uid=1000 gid=3000 groups=2000,3000\n"],
  ["id -G", "3000 2000\n"],
  ["whoami", "whoami: unknown uid 1000\n"],
  ["grep Groups /proc/self/status", "Groups:\t2000 3000 \n"],
  ["echo hi > /etc/x", "sh: can't create /etc/x: Permission denied\n"],
  ["echo hi >> /etc/passwd", "sh: can't create /etc/passwd: Permission denied\n"],
  ["touch /etc/x", "touch: /etc/x: Permission denied\n"],
  ["touch /etc/passwd", "touch: /etc/passwd: Permission denied\n"],
  ["mkdir /etc/x", "mkdir: can't create directory '/etc/x': Permission denied\n"],
  ["mkdir -p /x/y", "mkdir: can't create directory '/x/y': Permission denied\n"],
  ["rm /etc/passwd", "rm: can't remove '/etc/passwd': Permission denied\n"],
  ["rmdir /home", "rmdir: '/home': Permission denied\n"],
  ["ls /root", "ls: can't open '/root': Permission denied\n"],
  ["cd /root", "sh: cd: can't cd to /root: Permission denied\n"],
  ["cat < /root/x", "sh: can't open /root/x: Permission denied\n"],
  ["chmod 777 /etc/passwd", "chmod: /etc/passwd: Operation not permitted\n"],
  ["chown 1000 /etc/passwd", "chown: /etc/passwd: Operation not permitted\n"],
  ["echo x | tee /etc/x", "tee: /etc/x: Permission denied\nx\n"],
  ["dd if=/dev/null of=/etc/x", "dd: can't open '/etc/x': Permission denied\n"],
  [
    "echo hi > /tmp/s; stat /tmp/s | sed -n '1,2p;4p'; stat -c '%08a|%-4s|%%|%q' /tmp/s",
    "  File: /tmp/s\n  Size: 3         \tBlocks: 8          IO Block: 4096   regular file\n" +
      "Access: (0644/-rw-r--r--)  Uid: ( 1000/ UNKNOWN)   Gid: ( 3000/ UNKNOWN)\n00000644|3   |%|%q\n",
  ],
  ["stat /root/x", "stat: can't stat '/root/x': Permission denied\n"],
  ["/etc/passwd; echo $?", "sh: /etc/passwd: Permission denied\n126\n"],
  ["test -r /etc/passwd; echo $?; test -w /etc/passwd; echo $?; test -x /root; echo $?", "0\n1\n1\n"],
  ["touch /tmp/a; stat -c '%u:%g %a %A %n' /tmp/a /tmp", "1000:3000 644 -rw-r--r-- /tmp/a\n0:0 1777 drwxrwxrwt /tmp\n"],
  ["umask 077; touch /tmp/b; mkdir /tmp/c; stat -c %a /tmp/b /tmp/c; umask; umask -S", "600\n700\n0077\nu=rwx,g=,o=\n"],
  ["umask u=rwx,g=rx,o=; umask; (umask 0; umask); umask", "0027\n0000\n0027\n"],
  ["umask 0; sh -c umask; echo hi | tee /tmp/t > /dev/null; stat -c %a /tmp/t", "0000\n666\n"],
  [
    "umask 77; timeout 9 touch /tmp/t1; echo | xargs touch /tmp/x1; find /tmp -name x1 -exec cp {} /tmp/f1 ';'; stat -c %a /tmp/t1 /tmp/x1 /tmp/f1",
    "600\n600\n600\n",
  ],
  ["umask 9", "sh: umask: illegal mode: 9\n"],
  ["echo x > /tmp/d; chmod 000 /tmp/d; cat < /tmp/d", "sh: can't open /tmp/d: Permission denied\n"],
  ["touch /tmp/d; chmod u+rwx,g=rx,o= /tmp/d; stat -c %a /tmp/d", "750\n"],
  ["(umask 777; echo x > /tmp/e); stat -c '%a %s' /tmp/e", "0 2\n"],
  [
    "touch /tmp/a; chown :2000 /tmp/a; stat -c %g /tmp/a; chgrp 5 /tmp/a",
    "2000\nchgrp: /tmp/a: Operation not permitted\n",
  ],
  ["nc -l -p 80", "nc: bind: Permission denied\n"],
  ["cp /etc/passwd /etc/x", "cp: can't create '/etc/x': Permission denied\n"],
  ["mv /etc/passwd /etc/x", "mv: can't rename '/etc/passwd': Permission denied\n"],
  ["ln -s a /etc/x", "ln: /etc/x: Permission denied\n"],
  ["cat /root/x", "cat: can't open '/root/x': Permission denied\n"],
  ["head /root/x", "head: /root/x: Permission denied\n"],
  ["grep a /root/x", "grep: /root/x: Permission denied\n"],
  ["find /root", "/root\nfind: /root: Permission denied\n"],
  ["sed -n 1p /root/x", "sed: /root/x: Permission denied\n"],
];
for (const [script, want] of AS_USER) {
  test(`uid 1000: ${script}`, async () => {
    assert.equal(await sh(script, containerOf(USER)), want);
  });
}

test("root passes all checks, unless it has dropped its capabilities", async () => {
  const script = "touch /tmp/a; chmod 0 /tmp/a; cat < /tmp/a; chown 5 /tmp/a; stat -c %u /tmp/a; cat < /tmp/a";
  assert.equal(await sh(script, containerOf({})), "5\n");
  const dropped = containerOf({ capabilities: { dropCapabilities: ["ALL"] } });
  const refused = "chown: /tmp/a: Operation not permitted\n";
  const denied = "sh: can't open /tmp/a: Permission denied\n";
  assert.equal(await sh(script, dropped), `${denied}${refused}0\n${denied}`);
});

test("/tmp is sticky: only its owner removes a file", async () => {
  const container = containerOf(USER);
  container.running?.machine.fs.become({ uid: 0, gid: 0, groups: [0], capabilities: new Set() });
  container.running?.machine.fs.write("/tmp/roots", Buffer.from("x"));
  container.running?.machine.fs.become({ uid: 1000, gid: 3000, groups: [], capabilities: new Set() });
  assert.equal(await sh("rm -f /tmp/roots", container), "rm: can't remove '/tmp/roots': Operation not permitted\n");
  assert.equal(
    await sh("mv /tmp/roots /tmp/mine", container),
    "mv: can't rename '/tmp/roots': Operation not permitted\n",
  );
});

test("ports below 1024 need CAP_NET_BIND_SERVICE, unless the pod's sysctl frees them", async () => {
  const listens = async (securityContext: object, sysctls: Readonly<Record<string, string>> = {}) => {
    const linux = { securityContext: { namespaceOptions: OWN_PIDS, ...securityContext } };
    const container = lab.run({ command: ["nc", "-l", "-p", "80"], linux }, lab.sandbox({ linux: { sysctls } }));
    await lab.settle();
    return stateOf(container);
  };
  assert.equal(await listens({}), "running");
  assert.equal(await listens({ capabilities: { dropCapabilities: ["NET_BIND_SERVICE"] } }), "exited (1, Error)");
  assert.equal(await listens(USER), "exited (1, Error)");
  assert.equal(await listens(USER, { "net.ipv4.ip_unprivileged_port_start": "0" }), "running");
});

test("a read-only root: its mounts and /dev can be written", async () => {
  const container = containerOf({ readonlyRootfs: true });
  const script = "touch /tmp/a; echo x > /dev/shm/x; cat /dev/shm/x; chmod 1 /etc/passwd; rm /etc/passwd; mkdir /a";
  assert.equal(
    await sh(script, container),
    "touch: /tmp/a: Read-only file system\nx\nchmod: /etc/passwd: Read-only file system\n" +
      "rm: can't remove '/etc/passwd': Read-only file system\nmkdir: can't create directory '/a': Read-only file system\n",
  );
});

const isRoot = process.getuid?.() === 0;

test.runIf(isRoot)("an emptyDir with fsGroup: new files belong to it, new folders pass it on", async () => {
  const hostPath = newFolder();
  chownSync(hostPath, 0, 2000);
  chmodSync(hostPath, 0o2777);
  const container = containerOf(USER, [{ containerPath: "/data", hostPath }]);
  const script =
    "echo x > /data/f; mkdir /data/d; ln -s f /data/l; touch /data/d/g; stat -c '%u:%g %a %F' /data /data/*  /data/d/g";
  assert.equal(
    await sh(script, container),
    "0:2000 2777 directory\n1000:2000 2755 directory\n1000:2000 644 regular file\n1000:2000 777 symbolic link\n1000:2000 644 regular empty file\n",
  );
  assert.equal(lstatSync(join(hostPath, "f")).uid, 1000);
  assert.equal(
    await sh("ls -ln /data | sed 's/ [A-Z][a-z][a-z] .* / /'", container),
    "total 8\ndrwxr-sr-x    2 1000     2000          4096 d\n-rw-r--r--    1 1000     2000             2 f\nlrwxrwxrwx    1 1000     2000             1 f\n",
  );
});

test.runIf(isRoot)("modes of a volume's files hold for other users", async () => {
  const hostPath = newFolder();
  chmodSync(hostPath, 0o755);
  writeFileSync(join(hostPath, "secret"), "x", { mode: 0o400 });
  mkdirSync(join(hostPath, "closed"), { mode: 0o700 });
  const mounts = [{ containerPath: "/data", hostPath }];
  const script = "head -c1 /data/secret; ls /data/closed; touch /data/new; rm /data/secret";
  assert.equal(
    await sh(script, containerOf(USER, mounts)),
    "head: /data/secret: Permission denied\nls: can't open '/data/closed': Permission denied\n" +
      "touch: /data/new: Permission denied\nrm: can't remove '/data/secret': Permission denied\n",
  );
  assert.equal(await sh("head -c1 /data/secret", containerOf({}, mounts)), "x");
});

test("a token that a kubelet could not give away is the container's user's, without the mark", () => {
  const path = join(newFolder(), "kubernetes.io~projected", "t");
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, "token"), "x");
  chmodSync(join(path, "token"), 0o4600);
  const stat = lstatSync(join(path, "token"));
  const mount = hostMount({ containerPath: "/t", hostPath: path, readonly: true }, undefined, 1000);
  const owners = new HostOwners({ uid: stat.uid, gid: stat.gid });
  assert.deepEqual(owners.of(stat, mount), { uid: 1000, gid: 0 });
  const root = buildRootTree(syntheticDefinition("x", 0));
  const fs = new ContainerFs({ image: root, mounts: [mount], clock: new FakeClock(), isReadonly: false, owners });
  assert.deepEqual([fs.stat("/t/token").uid, fs.stat("/t/token").mode], [1000, 0o600]);
});

test("a runtime that is not root remembers the owners that it cannot give, and shows its own files as root's", () => {
  const folder = newFolder();
  writeFileSync(join(folder, "a"), "");
  const stat = lstatSync(join(folder, "a"));
  const owners = new HostOwners({ uid: stat.uid, gid: stat.gid });
  const mount = { containerPath: "/data", hostPath: folder, isReadonly: false };
  assert.deepEqual(owners.of(stat, mount), { uid: 0, gid: 0 });
  assert.deepEqual(owners.of(stat, { ...mount, group: 2000 }), { uid: 0, gid: 2000 });
  owners.give(join(folder, "a"), stat, { uid: 1000, gid: 3000 });
  assert.deepEqual(owners.of(stat, mount), { uid: 1000, gid: 3000 });
  assert.equal(lstatSync(join(folder, "a")).uid, stat.uid);
  owners.forget(stat);
  assert.deepEqual(owners.of(stat, mount), { uid: 0, gid: 0 });
});

const MODES: readonly (readonly [string, number, boolean, number | undefined])[] = [
  ["755", 0o644, false, 0o755],
  ["u+x", 0o644, false, 0o744],
  ["g-w", 0o664, false, 0o644],
  ["a=r", 0o644, false, 0o444],
  ["+x", 0o644, false, 0o755],
  ["u=rw,go=r", 0o777, false, 0o644],
  ["u+s", 0o644, false, 0o4644],
  ["g+s", 0o644, false, 0o2644],
  ["+t", 0o755, true, 0o1755],
  ["u=g", 0o644, false, 0o444],
  ["o+X", 0o644, false, 0o644],
  ["o+X", 0o750, true, 0o751],
  ["zz", 0o644, false, undefined],
  ["999", 0o644, false, undefined],
];
for (const [wanted, before, isFolder, after] of MODES) {
  test(`chmod ${wanted} of ${modeText(before)}`, () => {
    assert.equal(changedMode(wanted, before, { isFolder, umask: 0o022 }), after);
  });
}

const RULES: readonly (readonly [string, number, readonly string[], number, number, boolean])[] = [
  // who, uid, capabilities, mode of a file of 1:2, wanted, allowed
  ["the owner", 1, [], 0o400, 4, true],
  ["the owner, whom the group's bits do not help", 1, [], 0o077, 4, false],
  ["a member of the group", 5, [], 0o040, 4, true],
  ["any other", 9, [], 0o775, 2, false],
  ["root without capabilities", 0, [], 0o770, 4, false],
  ["root that may override", 0, ["DAC_OVERRIDE"], 0o000, 6, true],
  ["root, of a file that nobody can execute", 0, ["DAC_OVERRIDE"], 0o644, 1, false],
  ["root that may search", 0, ["DAC_READ_SEARCH"], 0o000, 4, true],
];
for (const [what, uid, capabilities, mode, wanted, allowed] of RULES) {
  test(`permission: ${what}`, () => {
    const who = { uid, gid: uid === 5 ? 2 : 7, groups: [], capabilities: new Set(capabilities) };
    assert.equal(permits(who, { type: "file", mode, uid: 1, gid: 2 }, wanted), allowed);
  });
}

/** Images whose entry points give up root: the user and the data folder of their servers. */
const SERVERS: readonly (readonly [image: string, user: string, folder: string])[] = [
  ["redis", "redis", "/data"],
  ["postgres", "postgres", "/var/lib/postgresql/data"],
  ["mysql", "mysql", "/var/lib/mysql"],
  ["mariadb", "mysql", "/var/lib/mysql"],
];
for (const [image, user, folder] of SERVERS) {
  test(`${image} runs as ${user}, and its commands as root`, async () => {
    await import("../../../src/cluster/shell/programs/redis/server.js");
    await import("../../../src/cluster/shell/programs/postgres.js");
    const lab = new RuntimeLab({ images: [image, "busybox"] });
    const container = lab.run({ image: { image }, envs: [{ key: "POSTGRES_PASSWORD", value: "pw" }] });
    await lab.settle();
    const script = `ps | grep -c '^ *1 ${user.slice(0, 8)} '; grep ^Uid /proc/1/status; stat -c %U ${folder}; id -u`;
    assert.equal((await lab.sh(script, container)).stdout.toString(), `1\nUid:\t999\t999\t999\t999\n${user}\n0\n`);
    const more =
      "gosu nobody sh -c 'id -u; touch /etc/x; kill 1; id -un | cat; touch /tmp/y'; stat -c %U /tmp/y; gosu no id";
    const { stdout } = await lab.sh(`{ ${more}; } 2>&1`, container);
    assert.deepEqual(stdout.toString().split("\n"), [
      "65534",
      "touch: /etc/x: Permission denied",
      "sh: can't kill pid 1: Operation not permitted",
      "nobody",
      "nobody",
      "gosu: unable to find user no: no matching entries",
      "",
    ]);
    container.running?.signal(15);
    await lab.settle();
    assert.equal(stateOf(container), "exited (0, Completed)");
    lab.stop();
  });
}

test("a container without CAP_SETUID cannot give up root, and one of another user does not have to", async () => {
  await import("../../../src/cluster/shell/programs/redis/server.js");
  await import("../../../src/cluster/shell/programs/redis/cli.js");
  const lab = new RuntimeLab({ images: ["redis", "busybox"] });
  const capabilities = { dropCapabilities: ["SETUID"] };
  const dropped = lab.run({ image: { image: "redis" }, linux: { securityContext: { capabilities } } });
  const other = lab.run({ image: { image: "redis" }, linux: { securityContext: { runAsUser: { value: 1000n } } } });
  await lab.settle();
  assert.equal(stateOf(dropped), "exited (1, Error)");
  assert.equal((await lab.sh("id -u; redis-cli ping", other)).stdout.toString(), "1000\nPONG\n");
  lab.stop();
});
