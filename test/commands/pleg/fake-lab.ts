import type { LabAction, LabRuntime, LabTarget } from "../../../src/testbed/runtime/lab-runtime.js";
import { LabError } from "../../../src/util/errors.js";

/** A lab runtime that records its calls. */
export class FakeLab implements LabRuntime {
  readonly endpoint = "unix:///nowhere";
  readonly actions: readonly LabAction[] = [
    { id: "kill", key: "k", label: "kill it", short: "kill", on: "container" },
    { id: "not-ready", key: "n", label: "make it not ready", short: "not ready", on: "sandbox" },
    { id: "hang", key: "h", label: "let lists hang", short: "lists hang", on: "runtime" },
  ];
  readonly done: string[] = [];

  things: LabTarget[] = [
    { kind: "container", id: "p1-c", sandboxId: "p1-s", pod: "default/p1", name: "app", state: "running" },
    { kind: "sandbox", id: "p1-s", sandboxId: "p1-s", pod: "default/p1", name: "sandbox", state: "running" },
  ];

  async targets(): Promise<readonly LabTarget[]> {
    return this.things;
  }

  faults(): readonly string[] {
    return [];
  }

  async act(actionId: string, targetId: string | undefined): Promise<string> {
    if (!this.actions.some(({ id }) => id === actionId))
      throw new LabError("USAGE", `no action ${actionId}`, "ask /state");
    this.done.push(`${actionId} ${targetId ?? "-"}`);
    return `did ${actionId}`;
  }

  async close(): Promise<void> {}
  async [Symbol.asyncDispose](): Promise<void> {}
}
