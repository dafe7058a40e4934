import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, test } from "vitest";
import { execSync } from "../../../src/cluster/runtime/calls/exec.js";
import type { RunningContainer } from "../../../src/cluster/runtime/state/running.js";
import { exitCodeOf } from "../../../src/cluster/shell/process/process.js";
import { BytesSource, CollectingSink } from "../../../src/cluster/shell/streams.js";
import { tar as ustar } from "../../support/oci-image.js";
import { loadPrograms, never, RuntimeLab } from "../runtime/lab.js";

let lab = new RuntimeLab();
let folder = "";
let home: RunningContainer;
beforeAll(async () => {
  await loadPrograms();
  await import("../../../src/cluster/shell/programs/tar/tar.js");
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "kubelab-tar-test-"));
  const { running } = lab.run({ command: ["sleep", "infinity"] });
  assert.ok(running !== undefined);
  home = running;
});
afterEach(() => {
  lab.stop();
  lab = new RuntimeLab();
  rmSync(folder, { recursive: true, force: true });
});

interface Ended {
  readonly stdout: Buffer;
  readonly stderr: string;
  readonly code: number;
}

/** Runs a command in the container, with input. */
async function run(cmd: readonly string[], input: Buffer = Buffer.alloc(0)): Promise<Ended> {
  const stdout = new CollectingSink();
  const stderr = new CollectingSink();
  const { machine, env } = home;
  const stdin = new BytesSource(input);
  const process = machine.spawn({ argv: cmd, env, cwd: "/tmp", stdin, stdout, stderr, parentPid: 0 });
  const code = exitCodeOf(await process.exited);
  return { stdout: stdout.bytes(), stderr: stderr.bytes().toString(), code };
}

const sh = async (script: string) =>
  (await execSync(home, { cmd: ["sh", "-c", script], timeout: 0n }, lab.clock, never)).stdout.toString();
const long = (count: number) => Array.from({ length: count }, (_, index) => `folder-number-${index}`).join("/");

/** Runs the system's tar in the test's folder. */
const system = (args: readonly string[], input?: Buffer) => execFileSync("tar", args, { cwd: folder, input });

/** the calls of kubectl 1.20 to 1.33 and similar clients */
const EXTRACTS = [
  ["tar", "-xmf", "-", "-C", "/tmp"],
  ["tar", "--no-same-permissions", "--no-same-owner", "-xmf", "-", "-C", "/tmp"],
  ["tar", "xf", "-"],
  ["tar", "-x"],
  ["tar", "--extract", "--file=-", "--directory", "/tmp"],
];

for (const cmd of EXTRACTS) {
  for (const format of ["ustar", "gnu", "pax"]) {
    test(`${cmd.join(" ")}: unpacks a ${format} archive of the system's tar`, async () => {
      mkdirSync(join(folder, "in/sub"), { recursive: true });
      writeFileSync(join(folder, "in/a.txt"), "hello\n");
      writeFileSync(
        join(folder, "in/sub/binary"),
        Buffer.from(Array.from({ length: 70_000 }, (_, index) => index & 0xff)),
      );
      writeFileSync(join(folder, "in/empty"), "");
      writeFileSync(join(folder, "in/run.sh"), "#!/bin/sh\necho ran\n", { mode: 0o755 });
      symlinkSync("a.txt", join(folder, "in/link"));
      const { code, stderr } = await run(cmd, system([`--format=${format}`, "-cf", "-", "in"]));
      assert.deepEqual([code, stderr], [0, ""]);
      assert.equal(
        await sh("cd /tmp/in; cat a.txt; ./run.sh; cat link; wc -c < empty; ls"),
        "hello\nran\nhello\n0\na.txt\nempty\nlink\nrun.sh\nsub\n",
      );
      const bytes = home.machine.fs.readFile("/tmp/in/sub/binary");
      assert.ok(bytes.equals(readFileSync(join(folder, "in/sub/binary"))));
    });
  }
}

for (const format of ["gnu", "pax"]) {
  test(`names of 600 characters and non-ASCII names are read from ${format}`, async () => {
    const deep = long(40);
    mkdirSync(join(folder, deep), { recursive: true });
    writeFileSync(join(folder, deep, "漢字 é"), "deep");
    symlinkSync(`${"x".repeat(200)}`, join(folder, "longlink"));
    const { code } = await run(
      ["tar", "xf", "-"],
      system([`--format=${format}`, "-cf", "-", "folder-number-0", "longlink"]),
    );
    assert.equal(code, 0);
    assert.equal(home.machine.fs.readFile(`/tmp/${deep}/漢字 é`).toString(), "deep");
    assert.equal(home.machine.fs.readlink("/tmp/longlink"), "x".repeat(200));
  });
}

test("the system's tar unpacks a container's archive", async () => {
  const deep = long(40);
  const { fs } = home.machine;
  fs.mkdir(`/data/${deep}`, { recursive: true });
  fs.write("/data/hello", Buffer.from("hello"), { mode: 0o750 });
  fs.utimes("/data/hello", Date.UTC(2024, 0, 2, 3, 4, 5));
  fs.write(`/data/${deep}/é`, Buffer.alloc(100_000, "z"));
  fs.symlink("hello", "/data/link");
  fs.write("/data/empty", Buffer.alloc(0));
  const { stdout, stderr, code } = await run(["tar", "cf", "-", "/data"]);
  assert.deepEqual([code, stderr], [0, "tar: removing leading '/' from member names\n"]);
  assert.equal(stdout.length % 10_240, 0);
  system(["-xf", "-"], stdout);
  assert.deepEqual(readdirSync(join(folder, "data")), ["empty", "folder-number-0", "hello", "link"]);
  assert.equal(readFileSync(join(folder, "data/hello"), "utf8"), "hello");
  assert.equal(statSync(join(folder, "data/hello")).mtimeMs, Date.UTC(2024, 0, 2, 3, 4, 5));
  assert.equal(statSync(join(folder, "data/hello")).mode & 0o777, 0o750);
  assert.equal(readlinkSync(join(folder, "data/link")), "hello");
  assert.equal(readFileSync(join(folder, "data", deep, "é"), "utf8"), "z".repeat(100_000));
});

/** command in /tmp; the names in the archive; stderr */
const CREATES: readonly (readonly [string, string, string])[] = [
  ["tar cf - a.txt", "a.txt", ""],
  ["tar cf - -C /tmp sub", "sub/ sub/b.txt", ""],
  ["tar -C sub -cf - b.txt", "b.txt", ""],
  ["tar cf - .", "./ ./a.txt ./sub/ ./sub/b.txt", ""],
  ["tar -c ../tmp/a.txt", "tmp/a.txt", "tar: removing leading '../' from member names\n"],
  ["tar cf - --exclude=b.txt .", "./ ./a.txt ./sub/", ""],
  [
    "tar cf - a.txt nosuch",
    "a.txt",
    "tar: nosuch: No such file or directory\ntar: error exit delayed from previous errors\n",
  ],
  ["tar cf all.tar . && tar tf all.tar >/dev/null && cat all.tar", "./ ./a.txt ./sub/ ./sub/b.txt", ""],
  ["tar cvf - a.txt", "a.txt", "a.txt\n"],
  ["tar czf - a.txt | tar xzOf - | tar cf - a.txt", "a.txt", ""],
];

for (const [script, names, says] of CREATES) {
  test(`${script}: ${names}`, async () => {
    await sh("cd /tmp; echo a > a.txt; mkdir sub; echo b > sub/b.txt");
    const { stdout, stderr } = await run(["sh", "-c", script]);
    assert.equal(stderr, says);
    assert.equal(system(["-tf", "-"], stdout).toString().trim().split("\n").join(" "), names);
  });
}

test("a name that leads out of the folder is unpacked inside it", async () => {
  const bytes = Buffer.from("x");
  const { code } = await run(
    ["tar", "xf", "-", "-C", "/tmp"],
    ustar([
      { name: "/abs", bytes },
      { name: "../../up", bytes },
      { name: "in/../../there", bytes },
    ]),
  );
  assert.equal(code, 0);
  assert.equal(await sh("ls /tmp; ls /abs /up /there 2>/dev/null"), "abs\nthere\nup\n");
});

test("no file is written through a link of the same archive", async () => {
  const bytes = Buffer.from("evil");
  await run(
    ["tar", "xf", "-"],
    ustar([
      { name: "out", link: "/etc" },
      { name: "out/passwd", bytes },
      { name: "one", link: "/etc/hosts" },
      { name: "one", bytes },
    ]),
  );
  assert.doesNotMatch(await sh("cat /etc/passwd /etc/hosts"), /evil/);
  assert.equal(await sh("cat /tmp/out/passwd"), "evil");
});

test("a file replaces an existing link, and the link's target stays unchanged", async () => {
  await sh("ln -s /etc/hosts /tmp/link");
  await run(["tar", "xf", "-"], ustar([{ name: "link", bytes: Buffer.from("mine") }]));
  assert.equal(await sh("cat /tmp/link"), "mine");
  assert.doesNotMatch(await sh("cat /etc/hosts"), /mine/);
});

/** archive; error message */
const BROKEN: readonly (readonly [string, () => Buffer, RegExp])[] = [
  ["nothing at all", () => Buffer.alloc(0), /^tar: short read\n$/],
  ["no archive", () => Buffer.alloc(2048, "no archive"), /^tar: invalid tar header/],
  [
    "an archive that is cut off in a file",
    () => ustar([{ name: "a", bytes: Buffer.alloc(2000) }]).subarray(0, 1500),
    /^tar: short read\n$/,
  ],
  [
    "an archive that is cut off in a head",
    () => ustar([{ name: "a", bytes: Buffer.alloc(10) }]).subarray(0, 300),
    /^tar: short read\n$/,
  ],
];

for (const [what, archive, says] of BROKEN) {
  test(`${what} is refused`, async () => {
    const { code, stderr } = await run(["tar", "xf", "-"], archive());
    assert.equal(code, 1);
    assert.match(stderr, says);
  });
}

test("a file that is not gzip is refused", async () => {
  const { code, stderr } = await run(["tar", "xzf", "-"], Buffer.alloc(2048, "x"));
  assert.deepEqual([code, stderr], [1, "tar: invalid magic\ntar: short read\n"]);
});

for (const [args, says] of [
  [["-q"], /invalid option -- 'q'/],
  [["-f", "-"], /Usage: tar/],
  [["c"], /empty archive/],
  [["xf", "/no/such.tar"], /No such file or directory/],
  [["x", "-C", "/no/such"], /No such file or directory/],
  [["--nonsense"], /unrecognized option '--nonsense'/],
] as const) {
  test(`tar ${args.join(" ")} is refused`, async () => {
    const { code, stderr } = await run(["tar", ...args]);
    assert.equal(code, 1);
    assert.match(stderr, says);
  });
}

test("times are kept except with -m; permissions lose 022 with --no-same-permissions", async () => {
  writeFileSync(join(folder, "old"), "x", { mode: 0o666 });
  execFileSync("chmod", ["666", join(folder, "old")]);
  utimesSync(join(folder, "old"), 1_600_000_000, 1_600_000_000);
  const archive = system(["-cf", "-", "old"]);
  const { fs } = home.machine;
  await run(["tar", "xf", "-"], archive);
  assert.deepEqual([fs.stat("/tmp/old").mtimeMs, fs.stat("/tmp/old").mode], [1_600_000_000_000, 0o666]);
  await run(["tar", "--no-same-permissions", "-xmf", "-"], archive);
  assert.deepEqual([fs.stat("/tmp/old").mtimeMs, fs.stat("/tmp/old").mode], [lab.clock.now(), 0o644]);
});

test("tar reports a full disk and unpacks the files after it", async () => {
  const archive = ustar([
    { name: "big", bytes: Buffer.alloc(130 * 1024 * 1024) },
    { name: "small", bytes: Buffer.from("small") },
  ]);
  const { code, stderr } = await run(["tar", "xf", "-"], archive);
  assert.equal(code, 1);
  assert.match(stderr, /can't create 'big': No space left on device/);
  assert.equal(await sh("cat /tmp/small 2>&1"), "small");
});

test("tar lists the names in its own archives, of any length", async () => {
  const { fs } = home.machine;
  for (const name of ["a", "a".repeat(100), `${"b".repeat(99)}/${"c".repeat(100)}`, "漢".repeat(60)]) {
    if (name.includes("/")) fs.mkdir(`/tmp/in/${name.slice(0, 99)}`, { recursive: true });
    else fs.mkdir("/tmp/in", { recursive: true });
    fs.write(`/tmp/in/${name}`, Buffer.from("x"), { mode: 0o640 });
    assert.equal(await sh(`cd /tmp/in; tar cf - ${name} | tar tf -`), `${name}\n`);
  }
});

test("tail +N starts at a byte or a line of a long input", async () => {
  const bytes = Buffer.from("0123456789\n".repeat(400_000));
  const from = await run(["tail", "-c+4000001"], bytes);
  assert.ok(from.stdout.equals(bytes.subarray(4_000_000)));
  const lines = await run(["tail", "-n", "+399999"], bytes);
  assert.equal(lines.stdout.toString(), "0123456789\n".repeat(2));
});
