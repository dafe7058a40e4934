import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { InjectionArguments, LabEnvironment } from "../../src/lab/labs/environment/environment.js";
import { LabFacts } from "../../src/lab/labs/environment/facts.js";
import type {
  CommandResult,
  CommandRunner,
  KeptCommand,
  OutputListener,
} from "../../src/lab/labs/environment/runner.js";
import type { Clock } from "../../src/util/clock.js";
import { MemoryClient } from "./memory-client.js";

/** Every sleep returns at once. */
export class InstantClock implements Clock {
  #nowMs = 1_700_000_000_000;

  now(): number {
    return this.#nowMs;
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    this.#nowMs += ms;
    await Promise.resolve();
  }

  timer(): never {
    throw new Error("nothing here sets a timer");
  }
}

type Script = (objects: Map<string, unknown>, words: readonly string[]) => Partial<CommandResult>;

/** The effects of the tiny lab's commands. */
const SCRIPTS: Readonly<Record<string, Script>> = {
  "kubelab lab": () => ({}),
  "kubelab join": (objects, [, , name = ""]) => {
    objects.set(`/api/v1/nodes/${name}`, { metadata: { name }, status: { phase: "Ready" } });
    return { stdout: `joined ${name}\n` };
  },
  "kubectl delete": (objects, [, , , name = ""]) => {
    objects.delete(`/api/v1/nodes/${name}`);
    return { stdout: "deleted\n" };
  },
};

/** An environment without a cluster: objects by path, commands as functions. */
export class MemoryPlace implements LabEnvironment, CommandRunner {
  readonly folder = mkdtempSync(join(tmpdir(), "kubelab-place-"));
  readonly objects = new Map<string, unknown>();
  readonly lines: string[] = [];
  readonly injected: [string, InjectionArguments][] = [];
  readonly outputs = new Map<string, CommandResult>();
  readonly clock = new InstantClock();
  readonly facts = new LabFacts(this.clock);
  readonly seesWrites = true;
  readonly wall = this.clock;
  readonly patienceMs = 0;
  readonly given = { server: "https://memory", kubeconfig: "/none", kubeVersion: "1.30", folder: this.folder };
  readonly place = { folder: "/lab", programs: "/lab/.bin", variables: { KUBECONFIG: "/lab/kubeconfig" } };
  readonly runner: CommandRunner = this;
  speed = 1;
  readonly canSetSpeed = true;
  readonly jump = undefined;
  isClosed = false;
  keptCount = 0;

  constructor(readonly scripts: Readonly<Record<string, Script>> = SCRIPTS) {}

  readonly client = new MemoryClient(({ path }) => {
    const found = this.objects.get(path);
    if (found !== undefined) return { status: 200, body: found };
    const items = [...this.objects].flatMap(([at, one]) => (at.startsWith(`${path}/`) ? [one] : []));
    return /s$/.test(path) ? { status: 200, body: { items } } : { status: 404, body: { message: "not found" } };
  });

  async run(line: string, onOutput: OutputListener | undefined, signal: AbortSignal): Promise<CommandResult> {
    signal.throwIfAborted();
    this.lines.push(line);
    const words = line.split(" ");
    const script = this.scripts[words.slice(0, 2).join(" ")];
    const result = { code: script === undefined ? 127 : 0, stdout: "", stderr: "", ...script?.(this.objects, words) };
    if (result.stdout !== "") onOutput?.("stdout", result.stdout);
    return result;
  }

  keep(line: string, onOutput: OutputListener | undefined): KeptCommand {
    this.keptCount += 1;
    this.lines.push(line);
    const result = { code: undefined, stdout: `kept ${line}\n`, stderr: "" };
    onOutput?.("stdout", result.stdout);
    let isRunning = true;
    return {
      result,
      ended: Promise.resolve({ ...result, code: 130 }),
      stop: async () => {
        if (isRunning) this.keptCount -= 1;
        isRunning = false;
      },
    };
  }

  async setSpeed(factor: number): Promise<void> {
    this.speed = factor;
  }

  output(name: string): CommandResult | undefined {
    return this.outputs.get(name);
  }

  async inject(name: string, args: InjectionArguments): Promise<void> {
    this.injected.push([name, args]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.isClosed = true;
  }
}
