import assert from "node:assert/strict";
import { afterEach, beforeAll, test } from "vitest";
import { parseSignal, signalName } from "../../../src/cluster/shell/process/signals.js";
import type { Init } from "../../../src/staging/apimachinery/protobuf/fields.js";
import type { ContainerConfig } from "../../../src/staging/cri/messages/container.js";
import { NamespaceMode, Signal } from "../../../src/staging/cri/messages/enums.js";
import { loadPrograms, never, RuntimeLab, stateOf } from "./lab.js";

let lab = new RuntimeLab();
beforeAll(loadPrograms);
afterEach(() => {
  lab.stop();
  lab = new RuntimeLab();
});

type Config = Init<typeof ContainerConfig>;
const sharedPids: Config = { linux: { securityContext: { namespaceOptions: { pid: NamespaceMode.POD } } } };
const AGNHOST = { image: "agnhost" };
const agnhost = (...args: readonly string[]): Config => ({ image: AGNHOST, args: [...args] });
const sh = (script: string): Config => ({ command: ["sh", "-c", script] });

/** the command; the grace period in s; the time until its end in s; its result */
const STOPS: readonly (readonly [string, Config, number, number, string])[] = [
  [
    "the first process of a namespace ignores what it does not handle",
    { command: ["sleep", "600"] },
    30,
    30,
    "exited (137, Error)",
  ],
  ["without a grace period it is killed at once", { command: ["sleep", "600"] }, 0, 0, "exited (137, Error)"],
  [
    "in the pod's PID namespace it is not the first, and ends by SIGTERM",
    { command: ["sleep", "600"], ...sharedPids },
    30,
    0,
    "exited (143, Error)",
  ],
  ["pause handles SIGTERM", { image: { image: "registry.k8s.io/pause:3.8" } }, 30, 0, "exited (0, Completed)"],
  ["nginx gets SIGQUIT, as its image asks", { image: { image: "nginx" } }, 30, 0, "exited (0, Completed)"],
  [
    "a container's own stop signal goes before its image's",
    { image: { image: "nginx" }, stopSignal: Signal.SIGHUP },
    5,
    5,
    "exited (137, Error)",
  ],
  [
    "a Go program exits with 2, because PID 1 cannot die from a signal",
    agnhost("test-webserver"),
    30,
    0,
    "exited (2, Error)",
  ],
  ["agnhost's netexec, too", agnhost("netexec"), 30, 0, "exited (2, Error)"],
  ["netexec delays its shutdown", agnhost("netexec", "--delay-shutdown", "8"), 30, 8, "exited (0, Completed)"],
  ["a Go program that dies from the signal", { ...agnhost("netexec"), ...sharedPids }, 30, 0, "exited (143, Error)"],
  ["serve-hostname waits for its deletion", agnhost("serve-hostname"), 30, 30, "exited (137, Error)"],
  [
    "a shell runs its trap when the command that it waits for has ended",
    sh("trap 'exit 7' TERM; while :; do sleep 4; done"),
    30,
    4,
    "exited (7, Error)",
  ],
  [
    "a shell's trap waits for a long command, longer than the grace period",
    sh("trap 'exit 7' TERM; sleep 600; :"),
    10,
    10,
    "exited (137, Error)",
  ],
  ["wait is interrupted by a trap", sh("trap 'exit 3' TERM; sleep 600 & wait"), 30, 0, "exited (3, Error)"],
  [
    "a shell that ignores SIGTERM is killed",
    sh("trap '' TERM; while :; do sleep 1; done"),
    5,
    5,
    "exited (137, Error)",
  ],
  ["exec makes the program the first process", sh("exec sleep 600"), 2, 2, "exited (137, Error)"],
  ["the last command of sh -c takes the shell's place", sh("sleep 600"), 2, 2, "exited (137, Error)"],
];

for (const [name, config, graceS, afterS, want] of STOPS) {
  test(`stop: ${name}`, async () => {
    const container = lab.run(config);
    await lab.settle();
    const stopped = lab.containers.stop(container, graceS * 1000, never);
    await lab.settle();
    if (afterS > 0) {
      await lab.clock.advance(afterS * 1000 - 1);
      assert.equal(stateOf(container), "running", `still 1 ms before ${afterS} s`);
      await lab.clock.advance(1);
      await lab.settle();
    }
    await stopped;
    assert.equal(stateOf(container), want);
    assert.equal(lab.clock.sleeping, 0, "nothing of it sleeps on");
  });
}

for (const kill of ["kill -9 1", "kill 1", "kill -s KILL 1", "env kill -9 1"]) {
  test(`${kill} in a container: the first process of a namespace ignores it`, async () => {
    const container = lab.run({ command: ["sleep", "600"] });
    await lab.sh(kill, container);
    assert.equal(stateOf(container), "running");
  });
}

test("kill -9 in the pod's PID namespace ends a container's process, which is not the first", async () => {
  const container = lab.run({ command: ["sleep", "600"], ...sharedPids });
  await lab.sh("kill -9 2", container);
  await lab.settle();
  assert.equal(stateOf(container), "exited (137, Error)");
});

test("stop: the stop signal is sent once, however often the call is repeated", async () => {
  const container = lab.run(sh("trap 'echo term' TERM; while :; do sleep 1; done"));
  await lab.settle();
  const output = lab.output(container);
  const first = lab.containers.stop(container, 10_000, never);
  const second = lab.containers.stop(container, 10_000, never);
  await lab.clock.advance(3000);
  assert.equal(output(), "term\n");
  await lab.clock.advance(10_000);
  await Promise.all([first, second]);
  assert.equal(stateOf(container), "exited (137, Error)");
});

test("stop: an aborted call leaves the container running", async () => {
  const container = lab.run({ command: ["sleep", "600"] });
  const caller = new AbortController();
  const stopped = lab.containers.stop(container, 30_000, caller.signal);
  caller.abort(new Error("gone"));
  await assert.rejects(stopped, { message: "gone" });
  assert.equal(stateOf(container), "running");
});

test("the end of a container ends its other processes", async () => {
  const container = lab.run(sh("sleep 600 & sleep 700 & sleep 1; exit 4"));
  await lab.settle();
  assert.equal(container.running?.machine.own.size, 4);
  await lab.clock.advance(1000);
  assert.equal(stateOf(container), "exited (4, Error)");
  assert.equal(lab.clock.sleeping, 0);
});

test("memory: a process above the limit is killed", async () => {
  const limited = { linux: { resources: { memoryLimitInBytes: 100 * 1024 * 1024 } } };
  const container = lab.run({
    image: { image: "stress" },
    args: ["--vm", "1", "--vm-bytes", "250M"],
    command: ["stress"],
    ...limited,
  });
  await lab.clock.advance(2000);
  assert.equal(stateOf(container), "exited (137, OOMKilled)");
  const small = lab.run({
    image: { image: "stress" },
    args: ["--vm", "1", "--vm-bytes", "50M"],
    command: ["stress"],
    ...limited,
  });
  await lab.clock.advance(2000);
  assert.equal(stateOf(small), "running");
});

const names = [
  ["SIGTERM", 15],
  ["term", 15],
  ["9", 9],
  ["SIGRTMIN+3", 37],
  ["SIGRTMAX-1", 63],
  ["SIGPOLL", 29],
  ["SIGNOPE", undefined],
  ["65", undefined],
  ["", undefined],
] as const;
for (const [text, number] of names) {
  test(`signal ${JSON.stringify(text)} is ${number}`, () => {
    assert.equal(parseSignal(text), number);
    if (number !== undefined) assert.equal(parseSignal(signalName(number)), number);
  });
}
