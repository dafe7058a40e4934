import assert from "node:assert/strict";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { test } from "vitest";
import { execSync } from "../../../src/cluster/runtime/calls/exec.js";
import { SystemClock } from "../../../src/util/clock.js";
import { loadPrograms, never, RuntimeLab } from "./lab.js";

const SCRIPTS = [
  ":(){ :|:& };:; sleep 100",
  "read x < /dev/zero",
  `[[ ${"a".repeat(50)}b =~ ^(a+)+$ ]]`,
  `case ${"a".repeat(44)} in *${"a*".repeat(20)}c) ;; esac`,
  "printf '%0*d' 500000000 1 > /dev/null",
  "x=a; while :; do x=$x$x; done",
  "while :; do :; done",
  "echo {1..1000000000}",
  'set -- a; while :; do set -- "$@" "$@"; done',
  "cat /dev/zero > /tmp/f; sleep 100",
  "x=$(yes)",
  "yes | tr y n > /dev/null",
  "head -c 10G /dev/zero | sort",
];
const RUN_MS = 2_000;
const PAUSE_MS = 20;
const clock = new SystemClock();

for (const script of SCRIPTS) {
  test(`another container answers during ${script.slice(0, 50)}`, async () => {
    await loadPrograms();
    const lab = new RuntimeLab({ clock });
    const neighbour = lab.run({ command: ["sleep", "infinity"] });
    const container = lab.run({ image: { image: "nginx" }, command: ["bash", "-c", script] });
    assert.ok(neighbour.running !== undefined);
    const delay = monitorEventLoopDelay({ resolution: 5 });
    delay.enable();
    let worstMs = 0;
    let peakBytes = 0;
    const endMs = clock.now() + RUN_MS;
    while (clock.now() < endMs && container.isRunning) {
      const before = clock.now();
      const { stdout } = await execSync(neighbour.running, { cmd: ["echo", "here"], timeout: 0n }, clock, never);
      assert.equal(stdout.toString(), "here\n");
      worstMs = Math.max(worstMs, clock.now() - before);
      peakBytes = Math.max(peakBytes, process.memoryUsage().rss);
      await clock.sleep(PAUSE_MS);
    }
    delay.disable();
    console.log(
      `worst exec elsewhere ${worstMs} ms, longest turn ${Math.round(delay.max / 1e6)} ms, peak memory ${Math.round(peakBytes / 1e6)} MB`,
    );
    await lab.containers.remove(container, never);
    lab.stop();
  });
}
