import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeAll, onTestFinished, test } from "vitest";
import type { Container } from "../../../src/cluster/runtime/state/container.js";
import { setUpMemoryMedium } from "../../../src/kubelet/volumes/memory-medium.js";
import { only } from "../../support/trace.js";
import { loadPrograms, RuntimeLab, stateOf } from "./lab.js";

const MIB = 2 ** 20;

let lab = new RuntimeLab();
beforeAll(loadPrograms);
afterEach(() => {
  lab.stop();
  lab = new RuntimeLab();
});

// biome-ignore-start lint/suspicious/noTemplateCurlyInString: these are scripts of a shell
/** a variable that doubles until its process is killed */
const DOUBLE = "x=a; while :; do x=$x$x; done";
/** defines a function that holds so many MiB in variables */
const HOLD = 'm=$(printf %01048576d); hold() { i=0; while [ $i -lt $1 ]; do eval "v$i=\\$m"; i=$((i+1)); done; }';
// biome-ignore-end lint/suspicious/noTemplateCurlyInString: see above

interface Limits {
  readonly limitMib?: number;
  readonly isGroup?: boolean;
}

function start(script: string, { limitMib, isGroup }: Limits = {}): Container {
  const resources = {
    ...(limitMib === undefined ? {} : { memoryLimitInBytes: limitMib * MIB }),
    ...(isGroup === true ? { unified: { "memory.oom.group": "1" } } : {}),
  };
  return lab.run({ image: { image: "stress" }, command: ["sh", "-c", script], linux: { resources } });
}

/** the container's script; what runs in it by exec; the exit code and output of that; the container afterwards */
const EXECS: readonly (readonly [string, string, string, number, string, string, Limits?])[] = [
  ["the command that is killed", "sleep 600", DOUBLE, 137, "", "running"],
  ["a child of the command", "sleep 600", `(${DOUBLE}); echo $?`, 0, "137\n", "running"],
  ["a program of the command", "sleep 600", `sh -c '${DOUBLE}'; echo $?`, 0, "137\n", "running"],
  ["a background job of the command", "sleep 600", `(${DOUBLE}) & wait $!; echo $?`, 0, "137\n", "running"],
  ["a part of a pipeline", "sleep 600", `echo a | (${DOUBLE}) | cat; echo $?`, 0, "0\n", "running"],
  ["what a substitution collects", "sleep 600", "x=$(yes)", 137, "", "running"],
  [
    "a command with memory of its own",
    "sleep 600",
    "stress --vm 1 --vm-bytes 90M > /dev/null",
    137,
    "",
    "running",
    { limitMib: 80 },
  ],
  ["the smaller of two", `${HOLD}; hold 20; sleep 600`, `${HOLD}; hold 60`, 137, "", "running"],
  [
    "another process that is larger",
    `${HOLD}; hold 40; sleep 600`,
    `${HOLD}; hold 30`,
    137,
    "",
    "exited (137, OOMKilled)",
  ],
  ["all processes of a group", "sleep 600", DOUBLE, 137, "", "exited (137, OOMKilled)", { isGroup: true }],
  ["nothing below the limit", "sleep 600", `${HOLD}; hold 90; echo here`, 0, "here\n", "running", { limitMib: 100 }],
  ["what exceeds a larger limit", "sleep 600", `${HOLD}; hold 110`, 137, "", "running", { limitMib: 100 }],
  ["what exceeds a smaller limit", "sleep 600", `${HOLD}; hold 30`, 137, "", "running", { limitMib: 20 }],
];

for (const [what, script, command, exitCode, printed, after, limits] of EXECS) {
  test(`exec, ${what}: ${exitCode}, ${after}`, async () => {
    const container = start(script, limits);
    await lab.settle();
    const result = lab.sh(command, container);
    for (let step = 0; step < 30; step++) await lab.clock.advance(100);
    const { exitCode: code, stdout } = await result;
    assert.deepEqual([code, stdout.toString()], [exitCode, printed]);
    assert.equal(stateOf(container), after);
  });
}

/** a script in a container with 30 MiB and a volume of medium Memory, its exit code, and the MiB of files that remain charged */
const FILES: readonly (readonly [what: string, script: string, exitCode: number, leftMib: number])[] = [
  ["files of a volume in memory", "dd if=/dev/zero of=/cache/a bs=1M count=20", 0, 20],
  ["more than the limit", "dd if=/dev/zero of=/cache/a bs=1M count=40", 137, 29],
  ["files that are removed", "dd if=/dev/zero of=/cache/a bs=1M count=20; rm /cache/a", 0, 0],
  ["a file that is emptied", "dd if=/dev/zero of=/cache/a bs=1M count=20; : > /cache/a", 0, 0],
  ["/dev/shm", "dd if=/dev/zero of=/dev/shm/a bs=1M count=20; rm /dev/shm/a", 0, 0],
  ["more than the limit in /dev/shm", "dd if=/dev/zero of=/dev/shm/a bs=1M count=40", 137, 29],
];
for (const [what, script, exitCode, leftMib] of FILES) {
  test.runIf(existsSync("/dev/shm"))(`memory, ${what}: ${exitCode}`, async () => {
    const folder = mkdtempSync(join(tmpdir(), "kubelab-volume-"));
    const hostPath = await setUpMemoryMedium(join(folder, "cache"), 100 * MIB);
    onTestFinished(() => rmSync(dirname(hostPath), { recursive: true }));
    const mounts = [{ hostPath, containerPath: "/cache" }];
    const linux = { resources: { memoryLimitInBytes: 30 * MIB } };
    const container = lab.run({ command: ["sleep", "600"], linux, mounts });
    await lab.settle();
    const result = lab.sh(script, container);
    for (let step = 0; step < 30; step++) await lab.clock.advance(100);
    assert.equal((await result).exitCode, exitCode);
    assert.equal(Math.floor((container.running?.machine.memory.fileBytes ?? 0) / MIB), leftMib);
    assert.equal(stateOf(container), "running");
  });
}

test("/dev/shm is full at 64 MiB, and df knows it", async () => {
  const container = start("sleep 600");
  await lab.settle();
  const result = lab.sh(
    "dd if=/dev/zero of=/dev/shm/a bs=1M count=65; df /dev/shm | tail -1; mount | grep shm",
    container,
  );
  for (let step = 0; step < 30; step++) await lab.clock.advance(100);
  const { stdout, stderr } = await result;
  assert.match(stderr.toString(), /No space left on device/);
  assert.match(stdout.toString(), /^shm +65536 +65536 +0 100% \/dev\/shm\nshm on \/dev\/shm .*size=65536k\)\n$/);
});

/** a container's script, and its end. As in containerd, the reason stays after any of its processes was killed. */
const CONTAINERS: readonly (readonly [string, string, string])[] = [
  ["the first process", DOUBLE, "exited (137, OOMKilled)"],
  ["a child whose exit code is passed on", `(${DOUBLE}); exit $?`, "exited (137, OOMKilled)"],
  ["a child whose end is ignored", `(${DOUBLE}); true`, "exited (0, OOMKilled)"],
  ["nothing", "true", "exited (0, Completed)"],
];

for (const [what, script, end] of CONTAINERS) {
  test(`a container that loses ${what}: ${end}`, async () => {
    const container = start(script);
    await container.stopped();
    assert.equal(stateOf(container), end);
    assert.equal(container.running?.machine.memory.heldBytes, 0);
  });
}

test("what a killed process held is free again, also what it shared", async () => {
  const container = start("sleep 600");
  const held = () => container.running?.machine.memory.heldBytes;
  await lab.settle();
  const before = held();
  const local = `${HOLD}; f() { local m="$m$m"; hold 40; }; (hold 2; sleep 1) & f`;
  for (let round = 0; round < 3; round++) assert.equal((await lab.sh(local, container)).exitCode, 137);
  await lab.clock.advance(1_000);
  assert.equal(held(), before);
});

test("the containers of a runtime share its memory: the largest process of the largest one is killed", async () => {
  lab.stop();
  lab = new RuntimeLab({ memoryBytes: 20 * MIB });
  const limits = { limitMib: 1024 };
  const small = start("sleep 600", limits);
  const large = start("sleep 600", limits);
  const last = start("sleep 600", limits);
  await lab.settle();
  const wait = "sleep 600";
  const inSmall = lab.sh(`${HOLD}; hold 3; ${wait}`, small);
  const inLarge = lab.sh(`${HOLD}; hold 8; ${wait}`, large);
  await lab.settle();
  assert.equal((await lab.sh(`${HOLD}; hold 7; echo here`, last)).stdout.toString(), "here\n");
  const ended = await Promise.race([inLarge, inSmall]);
  assert.deepEqual([ended.exitCode, stateOf(large)], [137, "running"]);
});

test("each kill is reported with its reason and its cause, ten in 5 s", async () => {
  const { events, trace } = lab.recorded;
  const container = start("sleep 600", { limitMib: 10 });
  await lab.settle();
  const cause = "1.asked";
  await trace.because({ causedBy: cause }, () => lab.sh(DOUBLE, container));
  const kills = () => only(events, "decision").filter(({ what }) => what.startsWith("kill process"));
  const [kill] = kills();
  assert.match(kill?.what ?? "", /^kill process \d+ \(sh\) of default\/pod-\d+\/c-\d+: out of memory$/);
  assert.match(kill?.why ?? "", /^it holds [\d.]+ MiB, .*; together [\d.]+ MiB, and the container's limit is 10 MiB$/);
  assert.equal(kill?.causedBy, cause);
  for (let round = 1; round < 12; round++) await lab.sh(DOUBLE, container);
  assert.equal(kills().length, 10);
  assert.match(kills()[9]?.why ?? "", /more kills within 5 s are not reported$/);
  await lab.clock.advance(5_000);
  await lab.sh(DOUBLE, container);
  assert.equal(kills().length, 11);
});
