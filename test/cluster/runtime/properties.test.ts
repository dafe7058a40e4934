import assert from "node:assert/strict";
import fc from "fast-check";
import { beforeAll, test } from "vitest";
import type { Container, Sandbox } from "../../../src/cluster/runtime/state/container.js";
import { containerItem, containerState, sandboxItem, sandboxState } from "../../../src/cluster/runtime/state/status.js";
import { RpcError } from "../../../src/staging/cri/grpc/status.js";
import { Container as ContainerItem } from "../../../src/staging/cri/messages/container.js";
import { PodSandbox } from "../../../src/staging/cri/messages/sandbox.js";
import { settle } from "../../support/fake-clock.js";
import { loadPrograms, never, RuntimeLab } from "./lab.js";

beforeAll(loadPrograms);

const COMMANDS = [["sleep", "5"], ["true"], ["false"], ["nosuch"], ["sh", "-c", "sleep 2; exit 3"], ["yes"]] as const;

/** One action: kind, target, arguments. */
type Step = readonly [what: number, whom: number, how: number];
const steps = fc.array(fc.tuple(fc.nat(10), fc.nat(7), fc.nat(5)), { maxLength: 40 });

/** The target may already be removed: calls can come late. */
class World {
  readonly lab = new RuntimeLab();
  readonly sandboxes: Sandbox[] = [];
  readonly containers: Container[] = [];
  readonly late: Promise<unknown>[] = [];

  async step([what, whom, how]: Step): Promise<void> {
    try {
      await this.#act(what, whom, how);
    } catch (error) {
      assert.ok(error instanceof RpcError, `only errors with a code: ${String(error)}`);
    }
    this.check();
  }

  async #act(what: number, whom: number, how: number): Promise<void> {
    const { lab } = this;
    const sandbox = this.sandboxes.at(whom % Math.max(1, this.sandboxes.length));
    const container = this.containers.at(whom % Math.max(1, this.containers.length));
    if (what === 0 || sandbox === undefined) {
      this.sandboxes.push(lab.sandbox());
      return;
    }
    if (what === 1 || container === undefined) {
      this.containers.push(lab.create({ command: COMMANDS[how] ?? ["true"] }, sandbox));
      return;
    }
    switch (what) {
      case 2:
      case 3:
        return lab.containers.start(container);
      case 4:
        this.#later(lab.containers.stop(container, how * 1000, never));
        return;
      case 5:
        this.#later(lab.containers.remove(container, never));
        return;
      case 6:
        this.#later(lab.sandboxes.stop(sandbox, never));
        return;
      case 7:
        this.#later(lab.sandboxes.remove(sandbox, never));
        return;
      case 8:
        return lab.sandboxes.becomeNotReady(sandbox);
      case 9:
        return lab.runtime.control.killContainer(container.containerId, how > 2 ? { oom: true } : { exitCode: how });
      default:
        await lab.clock.advance(how * 1000);
    }
  }

  /** Calls overlap: this one continues while others begin. */
  #later(call: Promise<unknown>): void {
    this.late.push(call.catch((error: unknown) => assert.ok(error instanceof RpcError, String(error))));
  }

  /** The invariants. */
  check(): void {
    const { core } = this.lab;
    const ips = new Set<string>();
    for (const sandbox of core.sandboxes.values()) {
      for (const container of sandbox.containers) assert.ok(core.containers.has(container.containerId));
      if (sandbox.state !== "ready" || sandbox.ip === undefined) continue;
      assert.ok(!ips.has(sandbox.ip), "an address is given once");
      ips.add(sandbox.ip);
    }
    for (const container of core.containers.values()) {
      assert.ok(container.sandbox.containers.has(container));
      assert.ok(core.sandboxes.has(container.sandbox.sandboxId), "no container without its sandbox");
      const { phase } = container;
      if (phase.state === "running") assert.ok(phase.startedAt > container.createdAt);
      if (phase.state === "exited")
        assert.ok(phase.finishedAt > phase.startedAt && phase.finishedAt > container.createdAt);
      const { state } = ContainerItem.decode(Buffer.from(containerItem(container).bytes));
      assert.equal(state, containerState(phase), "lists are up to date");
    }
    for (const sandbox of core.sandboxes.values()) {
      const { state } = PodSandbox.decode(Buffer.from(sandboxItem(sandbox).bytes));
      assert.equal(state, sandboxState(sandbox), "lists are up to date");
    }
  }

  async end(): Promise<void> {
    for (const sandbox of [...this.lab.core.sandboxes.values()]) this.#later(this.lab.sandboxes.remove(sandbox, never));
    await this.lab.clock.advance(60_000);
    await Promise.all(this.late);
    await settle();
    const { core, clock } = this.lab;
    assert.deepEqual([core.sandboxes.size, core.containers.size], [0, 0], "everything can be removed");
    assert.equal(clock.sleeping, 0, "and nothing of it waits on");
  }
}

test("calls in any order: no crash, consistent records, and everything can be removed", async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      const world = new World();
      for (const step of sequence) await world.step(step);
      await world.end();
    }),
    { numRuns: 60 },
  );
});

test("any script ends or waits, and the runtime continues", async () => {
  const words = fc.constantFrom(
    "echo",
    "if",
    "then",
    "fi",
    "while",
    "do",
    "done",
    "for",
    "x",
    "in",
    "$x",
    "$(",
    ")",
    "`",
    '"',
    "'",
    "|",
    "&",
    ";",
    "&&",
    "||",
    "(",
    "{",
    "}",
    ">",
    "<",
    "/tmp/f",
    "\\",
    "\n",
    "case",
    "esac",
    ";;",
    "*",
    "[",
    "]",
    "exit",
    "trap",
    "TERM",
    "sleep",
    "1",
    "!",
    "$((",
    "))",
    "${",
    "#",
  );
  const lab = new RuntimeLab();
  const container = lab.run({ command: ["sleep", "infinity"] });
  await fc.assert(
    fc.asyncProperty(fc.array(words, { maxLength: 12 }), async (parts) => {
      const script = parts.join(" ");
      const { running } = container;
      assert.ok(running !== undefined);
      const { machine, env, cwd } = running;
      const { BytesSource, NullSink } = await import("../../../src/cluster/shell/streams.js");
      const sink = new NullSink();
      const shell = machine.spawn({
        argv: ["sh", "-c", script],
        env,
        cwd,
        stdin: new BytesSource(),
        stdout: sink,
        stderr: sink,
        parentPid: 0,
      });
      await settle(5);
      shell.kill(9);
      const status = await shell.exited;
      assert.ok(status.kind === "exited" ? status.code >= 0 : status.signal === 9);
    }),
    { numRuns: 300 },
  );
  assert.equal((await lab.sh("echo still here", container)).stdout.toString(), "still here\n");
  lab.stop();
});
