import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "vitest";
import { ImageStore } from "../../../src/cluster/runtime/images/image-store.js";
import { parseReference } from "../../../src/cluster/runtime/images/reference.js";
import { ContainerFs } from "../../../src/cluster/shell/fs/container-fs.js";
import { DiskUse } from "../../../src/cluster/shell/fs/disk-use.js";
import { FakeClock } from "../../support/fake-clock.js";
import { newFolder, RuntimeLab } from "../runtime/lab.js";

const images = new ImageStore();
const image = images.tree(images.add(parseReference("busybox")));

interface HostMountInit {
  readonly containerPath: string;
  readonly hostPath: string;
  readonly isReadonly?: boolean;
}

function open(mounts: readonly HostMountInit[] = [], isReadonly = false): ContainerFs {
  const all = mounts.map((mount) => ({ isReadonly: false, ...mount }));
  return new ContainerFs({ image, mounts: all, clock: new FakeClock(), isReadonly });
}

test("files of one container are invisible to others of the same image", () => {
  const [one, other] = [open(), open()];
  one.write("/etc/passwd", Buffer.from("mine"), { truncate: true });
  one.mkdir("/data");
  one.remove("/bin/ls");
  assert.equal(one.readFile("/etc/passwd").toString(), "mine");
  assert.match(other.readFile("/etc/passwd").toString(), /^root:/);
  assert.deepEqual([other.exists("/data"), other.exists("/bin/ls"), one.exists("/bin/ls")], [false, true, false]);
});

test("files: append, offset, rename, link, symbolic links, folders", () => {
  const fs = open();
  fs.write("/tmp/a", Buffer.from("hello"));
  fs.write("/tmp/a", Buffer.from(" you"));
  fs.write("/tmp/a", Buffer.from("J"), { offset: 0 });
  assert.equal(fs.readFile("/tmp/a").toString(), "Jello you");
  fs.link("/tmp/a", "/tmp/hard");
  fs.symlink("a", "/tmp/soft");
  fs.rename("/tmp/a", "/tmp/b");
  assert.equal(fs.readFile("/tmp/hard").toString(), "Jello you");
  assert.throws(() => fs.readFile("/tmp/soft"), { code: "ENOENT" });
  fs.mkdir("/x/y/z", { recursive: true });
  assert.throws(() => fs.remove("/x/y"), { code: "ENOTEMPTY" });
  assert.throws(() => fs.rename("/x", "/x/y/w"), { code: "EINVAL" });
  assert.throws(() => fs.readdir("/tmp/b"), { code: "ENOTDIR" });
  assert.throws(() => fs.write("/tmp/b/c", Buffer.from("")), { code: "ENOTDIR" });
  assert.throws(() => fs.mkdir("/tmp"), { code: "EEXIST" });
  assert.throws(() => fs.readFile("/tmp"), { code: "EISDIR" });
  fs.symlink("loop", "/tmp/loop");
  assert.throws(() => fs.readFile("/tmp/loop"), { code: "ELOOP" });
  assert.equal(fs.realpath("/x/../x/./y/z/.."), "/x/y");
});

test("a read-only root cannot be changed, a mount inside it can", () => {
  const hostPath = newFolder();
  const fs = open([{ containerPath: "/data", hostPath }], true);
  assert.throws(() => fs.write("/tmp/a", Buffer.from("")), { code: "EROFS" });
  assert.throws(() => fs.write("/etc/passwd", Buffer.from("")), { code: "EROFS" });
  assert.throws(() => fs.mkdir("/new"), { code: "EROFS" });
  assert.throws(() => fs.remove("/bin/ls"), { code: "EROFS" });
  fs.write("/data/a", Buffer.from("ok"));
  assert.equal(readFileSync(join(hostPath, "a"), "utf8"), "ok");
});

test("mounts: read, write, read-only, a single file, a mount in a mount", () => {
  const hostPath = newFolder();
  const inner = newFolder();
  writeFileSync(join(hostPath, "file"), "from the host");
  mkdirSync(join(hostPath, "inner"));
  writeFileSync(join(inner, "deep"), "deep");
  const fs = open([
    { containerPath: "/rw", hostPath },
    { containerPath: "/ro", hostPath, isReadonly: true },
    { containerPath: "/etc/one", hostPath: join(hostPath, "file"), isReadonly: true },
  ]);
  assert.equal(fs.readFile("/ro/file").toString(), "from the host");
  assert.equal(fs.readFile("/etc/one").toString(), "from the host");
  fs.write("/rw/new", Buffer.from("x"));
  fs.mkdir("/rw/folder");
  fs.rename("/rw/new", "/rw/folder/new");
  assert.equal(readFileSync(join(hostPath, "folder/new"), "utf8"), "x");
  assert.deepEqual(fs.readdir("/ro"), ["file", "folder", "inner"]);
  for (const change of [
    () => fs.write("/ro/file", Buffer.from("y")),
    () => fs.write("/ro/other", Buffer.from("y")),
    () => fs.remove("/ro/file"),
    () => fs.mkdir("/ro/new"),
    () => fs.symlink("x", "/ro/link"),
    () => fs.write("/etc/one", Buffer.from("y")),
  ]) {
    assert.throws(change, { code: "EROFS" });
  }
  assert.equal(readFileSync(join(hostPath, "file"), "utf8"), "from the host");
  assert.throws(() => fs.rename("/rw/file", "/tmp/file"), { code: "EXDEV" });
  assert.throws(() => fs.remove("/rw"), { code: "EBUSY" });
});

test("mounts: symbolic links lead through the container, never to the machine", () => {
  const hostPath = newFolder();
  const secret = join(newFolder(), "secret");
  writeFileSync(secret, "of the machine");
  mkdirSync(join(hostPath, "..2026"));
  writeFileSync(join(hostPath, "..2026", "key"), "value");
  symlinkSync("..2026", join(hostPath, "..data"));
  symlinkSync("..data/key", join(hostPath, "key"));
  symlinkSync(secret, join(hostPath, "absolute"));
  symlinkSync("../../../../../../../../../../../../etc/gshadow", join(hostPath, "relative"));
  symlinkSync("/etc/passwd", join(hostPath, "passwd"));
  const fs = open([{ containerPath: "/config", hostPath }]);
  assert.equal(fs.readFile("/config/key").toString(), "value", "as config maps are laid out");
  assert.throws(() => fs.readFile("/config/absolute"), { code: "ENOENT" });
  assert.throws(() => fs.readFile("/config/relative"), { code: "ENOENT" });
  assert.deepEqual(fs.readFile("/config/passwd"), fs.readFile("/etc/passwd"));
  fs.symlink(secret, "/config/made");
  assert.throws(() => fs.readFile("/config/made"), { code: "ENOENT" });
  assert.throws(() => fs.write("/config/made", Buffer.from("x")), { code: "ENOENT" });
  assert.equal(readFileSync(secret, "utf8"), "of the machine");
  assert.ok(!fs.exists("/config/../../../../../../etc/shadow-of-the-machine"));
});

test("mounts: pipes and other blocking files are not opened", () => {
  const hostPath = newFolder();
  execFileSync("mkfifo", [join(hostPath, "fifo")]);
  const fs = open([{ containerPath: "/m", hostPath }]);
  assert.throws(() => fs.read("/m/fifo", 0, 10));
  assert.throws(() => fs.write("/m/fifo", Buffer.from("x")));
});

test("a mount's own path: links on the machine are followed, a missing folder is created", async () => {
  const lab = new RuntimeLab();
  const folder = newFolder();
  mkdirSync(join(folder, "real"));
  writeFileSync(join(folder, "real", "file"), "x");
  symlinkSync("real", join(folder, "link"));
  const mounts = [
    { containerPath: "/link", hostPath: join(folder, "link") },
    { containerPath: "/new", hostPath: join(folder, "made", "for", "it") },
  ];
  const container = lab.run({ command: ["sleep", "infinity"], mounts });
  assert.equal((await lab.sh("cat /link/file; echo y > /new/file", container)).stdout.toString(), "x");
  assert.equal(readFileSync(join(folder, "made/for/it/file"), "utf8"), "y\n");
  lab.stop();
});

/** the beginning of a script that writes to a volume; the file's content afterwards */
const BEGINNINGS: readonly (readonly [string, string])[] = [
  ["echo one >> /data/n", "one\n"],
  ["for i in 1 2; do echo $i >> /data/n; done", "1\n2\n"],
  [": >> /data/n", ""],
  ["touch /data/n", ""],
  ["echo one > /data/n", "one\n"],
  ["echo one | tee -a /data/n", "one\n"],
  ["echo one > /data/m; mv /data/m /data/n", "one\n"],
  ["echo one > /tmp/m; mv /tmp/m /data/n", "one\n"],
  ["echo one > /tmp/m; cp /tmp/m /data/n", "one\n"],
  ["mkdir /tmp/d; echo one > /tmp/d/e; mv /tmp/d /data/d; mv /data/d/e /data/n; test ! -e /tmp/d", "one\n"],
];

for (const [script, content] of BEGINNINGS) {
  test(`a volume of two containers: ${script}`, async () => {
    const lab = new RuntimeLab();
    const hostPath = newFolder();
    const sandbox = lab.sandbox();
    const mounts = [{ containerPath: "/data", hostPath }];
    const [writer, reader] = [1, 2].map(() => lab.run({ command: ["sleep", "infinity"], mounts }, sandbox));
    const { exitCode, stderr } = await lab.sh(script, writer);
    assert.deepEqual([exitCode, stderr.toString()], [0, ""]);
    assert.equal((await lab.sh("cat /data/n", reader)).stdout.toString(), content);
    assert.equal(readFileSync(join(hostPath, "n"), "utf8"), content);
    lab.stop();
  });
}

test("a volume outlives its container: the next container continues with its files", async () => {
  const lab = new RuntimeLab();
  const sandbox = lab.sandbox();
  const mounts = [{ containerPath: "/data", hostPath: newFolder() }];
  const command = ["sh", "-c", "echo started >> /data/starts; wc -l < /data/starts"];
  const outputs: string[] = [];
  for (let start = 0; start < 3; start++) {
    const output = lab.output(lab.run({ command, mounts }, sandbox));
    await lab.settle();
    outputs.push(output().trim());
  }
  assert.deepEqual(outputs, ["1", "2", "3"]);
  lab.stop();
});

test("mounts: a file of a read-only mount cannot be opened to append, even without bytes", async () => {
  const lab = new RuntimeLab();
  const hostPath = newFolder();
  writeFileSync(join(hostPath, "n"), "kept");
  const mounts = [{ containerPath: "/data", hostPath, readonly: true }];
  const container = lab.run({ command: ["sleep", "infinity"], mounts });
  for (const name of ["n", "new"]) {
    const { stderr } = await lab.sh(`: >> /data/${name}`, container);
    assert.match(stderr.toString(), /Read-only file system/);
  }
  assert.deepEqual([readFileSync(join(hostPath, "n"), "utf8"), existsSync(join(hostPath, "new"))], ["kept", false]);
  lab.stop();
});

test("the writable layer has a limit", () => {
  const fs = open();
  const block = Buffer.alloc(16 * 1024 * 1024);
  assert.throws(
    () => {
      for (let count = 0; count < 20; count++) fs.write("/tmp/big", block);
    },
    { code: "ENOSPC" },
  );
  fs.remove("/tmp/big");
  fs.write("/tmp/small", Buffer.from("fits again"));
});

test("what a container adds to its mounts has a limit, and what is removed is free again", async () => {
  const hostPath = newFolder();
  const clock = new FakeClock();
  const mounts = [{ containerPath: "/data", hostPath, isReadonly: false }];
  const fs = new ContainerFs({ image, mounts, clock, isReadonly: false });
  const byte = Buffer.from("x");
  const size = 1024 ** 3;
  fs.write("/data/sparse", byte, { offset: size - 1 });
  assert.throws(() => fs.write("/data/small", byte), { code: "ENOSPC" });
  fs.write("/data/sparse", byte, { offset: 0 });
  fs.rename("/data/small", "/data/sparse");
  fs.write("/data/second", byte, { offset: size - 1 });
  assert.throws(() => fs.write("/data/small", byte), { code: "ENOSPC" });
  // Another container of the pod removes it.
  rmSync(join(hostPath, "second"));
  assert.throws(() => fs.write("/data/small", byte), { code: "ENOSPC" });
  await clock.advance(10_000);
  fs.write("/data/small", byte);
});

test("the number of names that a container adds to its mounts has a limit", () => {
  const hostPath = newFolder();
  const use = new DiskUse([{ containerPath: "/data", hostPath, isReadonly: false }], new FakeClock());
  const add = (count: number) => {
    for (let done = 0; done < count; done++) use.addName("/data/x");
  };
  writeFileSync(join(hostPath, "one"), "");
  add(50_000);
  // Only one of them is still there.
  add(49_999);
  assert.throws(() => add(1), { code: "ENOSPC" });
  use.removeName(join(hostPath, "one"));
  add(1);
});

test("a container: programs use mounts, and the runtime's files are created where nothing is mounted", async () => {
  const lab = new RuntimeLab();
  const hostPath = newFolder();
  writeFileSync(join(hostPath, "hosts"), "mounted hosts\n");
  const mount = { containerPath: "/etc/hosts", hostPath: join(hostPath, "hosts"), readonly: false };
  const data = { containerPath: "/data", hostPath, readonly: false };
  const sandbox = lab.sandbox({
    hostname: "web-0",
    dnsConfig: { servers: ["10.96.0.10"], searches: ["default.svc"], options: ["ndots:5"] },
  });
  const container = lab.run(
    { command: ["sleep", "infinity"], mounts: [mount, data], workingDir: "/made/here" },
    sandbox,
  );
  const run = async (script: string) => (await lab.sh(script, container)).stdout.toString();
  assert.equal(await run("cat /etc/hosts"), "mounted hosts\n");
  assert.equal(await run("hostname; cat /etc/hostname; pwd"), "web-0\nweb-0\n/made/here\n");
  assert.equal(await run("cat /etc/resolv.conf"), "search default.svc\nnameserver 10.96.0.10\noptions ndots:5\n");
  await run(
    "echo out > /data/file; grep mounted /data/hosts > /data/found; ln -s file /data/link; sed -i s/out/changed/ /data/file",
  );
  assert.equal(readFileSync(join(hostPath, "file"), "utf8"), "changed\n");
  assert.equal(readFileSync(join(hostPath, "found"), "utf8"), "mounted hosts\n");
  assert.equal(await run("cat /data/link"), "changed\n");
  assert.equal(
    await run("cat /proc/cmdline /root/.ssh/id_rsa 2>/dev/null; ls /"),
    await run("ls /"),
    "nothing of the machine",
  );
  assert.ok(!existsSync(join(hostPath, "made")));
  lab.stop();
});
