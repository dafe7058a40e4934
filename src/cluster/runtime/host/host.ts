import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { RpcError } from "../../../staging/cri/grpc/status.js";
import { currentScope } from "../../../trace/scope.js";
import type { Level, Trace } from "../../../trace/trace.js";
import { type ClockReading, SystemClock } from "../../../util/clock.js";
import { defined } from "../../../util/defined.js";
import { messageOf } from "../../../util/errors.js";
import { OffsetClock } from "../../../util/offset-clock.js";
import { makeTemporaryFolder } from "../../../util/os/temporary-folder.js";
import type { RemoteControl } from "../control/control.js";
import { makeRoot, networkSocketIn } from "../root-folder.js";
import type { RuntimeOptions } from "../start.js";
import type { RuntimeChange } from "../state/changes.js";
import { Listeners } from "../state/listeners.js";
import type { ControlMethod, ProcessMessage, ProcessOptions, WantedLevel } from "./messages.js";
import { RuntimeProcess } from "./runtime-process.js";

/** As for a runtime in this process. The clock must be a SystemClock; the other process has its own randomness. */
export interface HostOptions extends Omit<RuntimeOptions, "random"> {
  /** limit of the JavaScript objects of the runtime and its containers; default 256, enough for some thousand containers */
  readonly maxHeapMb?: number;
  /** whose timers those of the runtime are; default `runtime` */
  readonly owner?: string;
}

/** An embedded runtime in a separate process. */
export interface HostedRuntime extends AsyncDisposable {
  /** `unix:///tmp/.../runtime.sock`; the same after a restart */
  readonly endpoint: string;
  readonly control: RemoteControl;
  /** path of the socket of the pods' network, unless it is not served */
  readonly networkSocket: string | undefined;
  /** the node's address in the pods' network, if it has one */
  readonly nodeAddress: string | undefined;
  /** the PID of its process; undefined while it restarts after a crash */
  readonly pid: number | undefined;
  /** Ends the process with all containers, and removes the temporary folder. Safe to call twice. */
  close(): Promise<void>;
}

/** As in containerd.service (RestartSec). */
const RESTART_MS = 5_000;
const DEFAULT_MAX_HEAP_MB = 256;
/** The rest of the heap is for the runtime itself, and for garbage. */
const CONTAINERS_PART = 1 / 2;
const CHANGES_CAPACITY = 10_000;

/**
 * Starts the embedded runtime in a separate process, so that a container cannot crash the cluster. A process that ends
 * is reported and started again; its containers, images and faults are lost.
 * @throws LabError as `startRuntime`
 */
export async function hostRuntime(options: HostOptions): Promise<HostedRuntime> {
  const ownRoot = options.rootDir === undefined;
  const rootDir = options.rootDir ?? (await makeTemporaryFolder("runtime"));
  const host = new RuntimeHost(options, rootDir);
  try {
    if (!ownRoot) await makeRoot(rootDir);
    await host.start();
  } catch (error) {
    if (ownRoot) await rm(rootDir, { recursive: true, force: true });
    throw error;
  }
  let closed: Promise<void> | undefined;
  const close = async () => {
    await host.close();
    if (ownRoot) await rm(rootDir, { recursive: true, force: true });
  };
  const closeOnce = () => {
    closed ??= close();
    return closed;
  };
  const { endpoint, control } = host;
  return {
    endpoint,
    control,
    nodeAddress: options.network?.address,
    networkSocket: options.network === undefined ? undefined : networkSocketIn(rootDir),
    get pid() {
      return host.pid;
    },
    close: closeOnce,
    [Symbol.asyncDispose]: closeOnce,
  };
}

/** Keeps a process of the runtime running. */
class RuntimeHost {
  readonly control = remoteControl(this);
  readonly #changes = new Listeners<RuntimeChange>(CHANGES_CAPACITY);
  readonly #closing = new AbortController();
  #endpoint: string;
  #process: RuntimeProcess | undefined;
  #wantedLevel: WantedLevel = -1;
  #isWatched = false;
  #starts = 0;
  /** the rules of the last call of `restoreRules` */
  #rules: readonly unknown[] | undefined;
  #restarting: Promise<void> = Promise.resolve();
  #following: Disposable | undefined;

  readonly #clock: SystemClock;
  /** how wrong the machine's clock is, in ms */
  readonly #offsetMs: number;
  /** the process knows no chapter */
  readonly #chapter = defined({ chapter: currentScope()?.chapter });

  constructor(
    readonly options: HostOptions,
    readonly rootDir: string,
  ) {
    const { clock } = options;
    const right = clock instanceof OffsetClock && clock.rate === 1 ? clock.clock : clock;
    assert(right instanceof SystemClock, "another process cannot follow this clock");
    this.#clock = right;
    this.#offsetMs = clock instanceof OffsetClock ? clock.offsetMs : 0;
    this.#endpoint = options.listen ?? `unix://${join(rootDir, "runtime.sock")}`;
  }

  get endpoint(): string {
    return this.#endpoint;
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  async start(): Promise<void> {
    await this.#launch();
    this.#following = this.#clock.addFollower({
      follow: (reading) => this.#process?.send({ type: "clock", reading: this.#shown(reading) }),
      // A process that ended has nothing to do.
      settle: async () => (await this.#settle().catch(() => undefined)) ?? { wasActive: false, timers: [] },
    });
  }

  async #settle() {
    const answer = await this.#process?.settle();
    const { owner: who = "runtime" } = this.options;
    return (
      answer && {
        ...answer,
        timers: answer.timers.map(({ dueMs, wait, ...one }) => {
          return { ...one, dueMs: dueMs - this.#offsetMs, ...(wait === undefined ? {} : { wait: { who, ...wait } }) };
        }),
      }
    );
  }

  /** A reading of the right clock, as this machine has it. */
  #shown(reading: ClockReading): ClockReading {
    return { ...reading, clockMs: reading.clockMs + this.#offsetMs };
  }

  async #launch(): Promise<void> {
    this.#wantedLevel = wantedLevel(this.options.trace);
    const { maxHeapMb = DEFAULT_MAX_HEAP_MB } = this.options;
    const { endpoint, process } = await RuntimeProcess.start(this.#processOptions(), maxHeapMb, {
      onMessage: (message) => this.#take(message),
      onLook: () => this.#updateLevel(),
      onEnd: (why) => this.#onEnd(why),
    });
    this.#endpoint = endpoint;
    this.#process = process;
    if (this.#isWatched) process.send({ type: "watch" });
    // A kernel keeps its rules when containers end.
    if (this.#rules !== undefined) process.call({ method: "restoreRules", given: this.#rules }).catch(() => {});
  }

  #processOptions(): ProcessOptions {
    const {
      clock: _clock,
      trace: _trace,
      maxHeapMb = DEFAULT_MAX_HEAP_MB,
      seed,
      owner: _owner,
      ...rest
    } = this.options;
    const start = this.#starts++;
    return {
      memoryBytes: maxHeapMb * CONTAINERS_PART * 2 ** 20,
      ...rest,
      // IDs of an earlier process are not used again.
      ...(seed === undefined ? {} : { seed: seed + start }),
      rootDir: this.rootDir,
      listen: this.#endpoint,
      clock: this.#shown(this.#clock.reading),
      wantedLevel: this.#wantedLevel,
    };
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#following?.[Symbol.dispose]();
    await this.#restarting;
    await this.#process?.close();
    this.#changes.close();
  }

  call(method: ControlMethod, given: readonly unknown[]): Promise<unknown> {
    // Only people use the control, through a key, a flag or a fault of a lab.
    const scope = this.options.trace.wantsCauses ? (currentScope() ?? { origin: "command" as const }) : undefined;
    if (method === "restoreRules") this.#rules = given;
    if (this.#process !== undefined) return this.#process.call({ method, given, ...defined({ scope }) });
    return Promise.reject(new RpcError("Unavailable", "the container runtime is not running"));
  }

  changes(signal: AbortSignal): AsyncGenerator<RuntimeChange> {
    if (!this.#isWatched) this.#process?.send({ type: "watch" });
    this.#isWatched = true;
    return this.#changes.listen(signal);
  }

  #take(message: Extract<ProcessMessage, { readonly type: "fact" | "change" }>): void {
    if (this.#closing.signal.aborted) return;
    if (message.type === "change") this.#changes.tell(message.change);
    else this.options.trace.relay({ ...this.#chapter, ...message.event });
  }

  #updateLevel(): void {
    const wanted = wantedLevel(this.options.trace);
    if (wanted === this.#wantedLevel) return;
    this.#wantedLevel = wanted;
    this.#process?.send({ type: "level", wantedLevel: wanted });
  }

  #onEnd(why: string): void {
    // The caller of the start reports a process that never listened.
    if (this.#process === undefined) return;
    this.#process = undefined;
    this.#report(why);
    this.#restarting = this.#restart().catch(() => {});
  }

  /** Mirrors containerd.service (Restart=always). @throws the reason of `closing` */
  async #restart(): Promise<void> {
    const { clock, trace } = this.options;
    for (;;) {
      await clock.sleep(RESTART_MS, this.#closing.signal);
      try {
        await this.#launch();
        trace.emit(
          { kind: "state", subject: "runtime", what: "process", from: "ended", to: "running, without containers" },
          { actor: "runtime" },
        );
        return;
      } catch (error) {
        this.#report(`did not start again: ${messageOf(error)}`);
      }
    }
  }

  #report(why: string): void {
    const message = `the container runtime ${why}; its containers are gone`;
    const hint = `It starts again in ${RESTART_MS / 1_000} s, and its kubelet then creates the pods again.`;
    const { trace } = this.options;
    trace.detached(() => trace.emit({ kind: "error", message, hint }, { actor: "runtime" }), "observed");
  }
}

/** The highest level of facts that a sink of the trace keeps. */
function wantedLevel(trace: Trace): WantedLevel {
  const levels: readonly Level[] = [4, 3, 2, 1, 0];
  return levels.find((level) => trace.wants(level)) ?? -1;
}

const METHODS = {
  snapshot: true,
  runPod: true,
  runContainer: true,
  startContainer: true,
  runAgain: true,
  killContainer: true,
  loadContainer: true,
  setSandboxNotReady: true,
  removeContainer: true,
  removeSandbox: true,
  setFault: true,
  clearFaults: true,
  dropEvents: true,
  repeatEvents: true,
  setDisk: true,
  setDown: true,
  setNetworkCut: true,
  breakEventStreams: true,
  restoreRules: true,
  rules: true,
  setCondition: true,
  setPullFault: true,
  setPullTime: true,
  resetPulls: true,
} satisfies Record<ControlMethod, true>;

function remoteControl(host: RuntimeHost): RemoteControl {
  const methods = Object.keys(METHODS) as ControlMethod[];
  const calls = methods.map((method) => [method, (...given: readonly unknown[]) => host.call(method, given)]);
  return { ...Object.fromEntries(calls), changes: (signal: AbortSignal) => host.changes(signal) } as RemoteControl;
}
