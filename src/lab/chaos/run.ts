import { join } from "node:path";
import { ServerFaults } from "../../cluster/apiserver/endpoints/faults/server-faults.js";
import type { KubeletHooks } from "../../kubelet/app/kubelet.js";
import type { KubeClient } from "../../staging/client-go/rest/client.js";
import { createClient } from "../../staging/client-go/rest/create-client.js";
import type { NodeContext } from "../../testbed/context.js";
import { createUnlessThere } from "../../testbed/create-unless-there.js";
import { startEmbeddedControlPlane } from "../../testbed/target/embedded-control-plane.js";
import { HeldTime } from "../../testbed/time/held-time.js";
import type { TraceEvent } from "../../trace/events.js";
import { Disposables } from "../../util/async/disposables.js";
import { SystemClock } from "../../util/clock.js";
import { defined } from "../../util/defined.js";
import { makeUniqueFolder, removeOwn } from "../../util/os/temporary-folder.js";
import type { SeededRandom } from "../../util/seeded-random.js";
import { pathOf, resourceOf } from "../kubectl/resources.js";
import { ApiServerPod } from "../labs/environment/api-server-pod.js";
import type { InjectionArguments } from "../labs/environment/environment.js";
import { LabFacts } from "../labs/environment/facts.js";
import { inject } from "../labs/environment/injections.js";
import { contextOf, LabNodes } from "../labs/environment/nodes.js";
import { labFolderPrefix } from "../labs/environment/orphaned-processes.js";
import { FAULTS } from "./faults.js";
import type { Scenario } from "./scenario.js";
import { type Judgement, judge, Watch } from "./verdict.js";

const KUBE_VERSION = "1.25";
/** Conditions are looked at this often, in ms of the cluster's clock. */
const LOOK_MS = 1_000;

/** The cluster of a scenario, in this process. Its time stands still. */
interface Stage {
  readonly clock: SystemClock;
  readonly facts: LabFacts;
  readonly nodes: LabNodes;
  readonly faults: ServerFaults;
  /** undefined unless the scenario restarts it: its state is on disk, which takes longer */
  readonly apiServer: ApiServerPod | undefined;
  /** the administrator's; its requests are in no trace */
  readonly client: KubeClient;
}

interface Deps {
  readonly context: NodeContext;
  readonly random: SeededRandom;
  /** of each kubelet; default: none */
  readonly hooks?: KubeletHooks;
  /** called with each fact of the cluster */
  readonly onFact?: (event: TraceEvent) => void;
}

/**
 * Runs a scenario on a cluster of its own in this process, in virtual time.
 * @returns the judgements: one for each expectation, then one for each fault whose `when` was never met
 * @throws LabError REFUSED for an object that the API server refuses; as `inject`; the signal's reason
 */
export async function runScenario(deps: Deps, scenario: Scenario): Promise<readonly Judgement[]> {
  const open = new Disposables();
  // Times of objects have whole seconds: the same offset from the start makes them the same in each run.
  const clock = new SystemClock(1, new SystemClock().now() % 1000);
  clock.pause();
  try {
    const { signal } = deps.context;
    const stage = await new HeldTime(clock, true).during(() => openStage(deps, clock, scenario, open), signal);
    for (const object of scenario.objects) {
      const known = await resourceOf(stage.client, object, signal);
      await createUnlessThere(stage.client, pathOf(known, object.metadata.namespace ?? "default"), object, signal);
    }
    return await play(stage, scenario, open, signal);
  } finally {
    // Closing needs time that passes.
    clock.resume();
    await open.close();
  }
}

async function openStage(
  { context, random, hooks, onFact }: Deps,
  clock: SystemClock,
  scenario: Scenario,
  open: Disposables,
): Promise<Stage> {
  const facts = new LabFacts(clock);
  const trace = facts.openTrace();
  if (onFact !== undefined) facts.passTo({ level: facts.level, write: onFact });
  const folder = await makeUniqueFolder(labFolderPrefix());
  open.defer(() => removeOwn(folder));
  const faults = new ServerFaults();
  const settings = { clock, random, trace, kubeVersion: KUBE_VERSION, verifyKubelets: false, faults };
  const isRestarted = scenario.do.some(({ fault }) => fault === "apiserver-restart");
  const apiServer = isRestarted ? await ApiServerPod.open(settings, join(folder, "etcd")) : undefined;
  const { admin, close } = apiServer?.first ?? (await startEmbeddedControlPlane(settings));
  open.defer(() => apiServer?.[Symbol.asyncDispose]() ?? close());
  const nothing = async () => {};
  const description = "the scenario's cluster";
  const nodes = await LabNodes.open(
    { context: contextOf(context, random, context.signal), clock, facts },
    {
      count: scenario.nodes,
      prefix: "node-",
      folder,
      target: {
        kind: "joined",
        admin,
        description,
        kubeVersion: KUBE_VERSION,
        close: nothing,
        [Symbol.asyncDispose]: nothing,
      },
      settings: { verbosity: 1, pullMs: 400, kubeProxy: false, link: true },
      ...defined({ hooks }),
    },
  );
  open.defer(() => nodes[Symbol.asyncDispose]());
  const client = createClient(admin, { clock, random, trace: facts.reads, actor: "user" });
  open.defer(() => client.close());
  open.defer(async () => faults.writes.set(0));
  return { clock, facts, nodes, faults, apiServer, client };
}

/** Moves the time, causes each fault at its moment and watches for the conditions, until nothing is open. */
async function play(
  stage: Stage,
  scenario: Scenario,
  open: Disposables,
  signal: AbortSignal,
): Promise<readonly Judgement[]> {
  const { clock } = stage;
  const time = new HeldTime(clock, true);
  const startMs = clock.now();
  const endMs = startMs + Math.max(...scenario.expect.map(({ from, within }) => from + within));
  const watch = (text: string, fromMs: number, untilMs: number) => {
    const made = new Watch(text, stage, fromMs, untilMs);
    open.defer(async () => made[Symbol.dispose]());
    return made;
  };
  const expected = scenario.expect.map((entry) => {
    const fromMs = startMs + entry.from;
    return { entry, watch: watch(entry.condition, fromMs, fromMs + entry.within) };
  });
  const planned = scenario.do.map((entry) => new PlannedFault(entry, startMs, (text) => watch(text, startMs, endMs)));
  const causes = new Causes(stage, signal);
  for (;;) {
    const nowMs = clock.now();
    // Before the faults of this moment, so that a fact of their begin is seen.
    for (const { watch: one } of expected) await one.look(nowMs, signal);
    for (const one of planned) {
      await one.watch?.look(nowMs, signal);
      for (const [name, args] of one.due(nowMs)) causes.start(name, args);
    }
    causes.throwIfFailed();
    const isDecided = expected.every(({ watch: one }) => one.metMs !== undefined || nowMs >= one.endMs);
    if (isDecided || nowMs >= endMs) break;
    const moments = planned.map(({ nextMs }) => nextMs);
    await time.jump(Math.max(1, Math.min(nowMs + LOOK_MS, endMs, ...moments) - nowMs), signal);
  }
  const neverMet = planned.filter(({ isStarted }) => !isStarted);
  return [
    ...expected.map(({ entry, watch: one }) => judge(entry, one, startMs)),
    ...neverMet.map(({ entry, whenText }) => ({ condition: whenText, holds: false, wanted: `fault ${entry.fault}` })),
  ];
}

/** A fault of the scenario: when it begins, and when it is taken back. */
class PlannedFault {
  /** undefined for a fault that begins at a moment */
  readonly watch: Watch | undefined;
  /** Unix ms of its begin, then of its end; infinite if neither is known */
  nextMs: number;
  isStarted = false;

  constructor(
    readonly entry: Scenario["do"][number],
    startMs: number,
    watch: (text: string) => Watch,
  ) {
    const { when } = entry;
    this.watch = typeof when === "string" ? watch(when) : undefined;
    this.nextMs = typeof when === "string" ? Number.POSITIVE_INFINITY : startMs + when.at;
  }

  get whenText(): string {
    const { when } = this.entry;
    return typeof when === "string" ? when : `at ${when.at / 1000} s`;
  }

  /** The injections that are due. */
  due(nowMs: number): readonly (readonly [name: string, args: InjectionArguments])[] {
    const { fault, with: args, for: lengthMs } = this.entry;
    if (!this.isStarted) {
      if (nowMs < this.nextMs && this.watch?.metMs === undefined) return [];
      this.isStarted = true;
      this.nextMs = nowMs + (lengthMs ?? Number.POSITIVE_INFINITY);
      return [[fault, args]];
    }
    if (nowMs < this.nextMs) return [];
    this.nextMs = Number.POSITIVE_INFINITY;
    const back = FAULTS[fault]?.undo?.(args);
    return back === undefined ? [] : [back];
  }
}

/** Injections that run while the time goes on, because they may wait for timers. */
class Causes {
  #failure: unknown;

  constructor(
    readonly stage: Stage,
    readonly signal: AbortSignal,
  ) {}

  start(name: string, args: InjectionArguments): void {
    const { clock, facts, nodes, faults, apiServer } = this.stage;
    const run = () => inject({ clock, nodes, faults, apiServer, setSpeed: async () => {} }, name, args, this.signal);
    facts.injection(name, args, run).catch((error: unknown) => {
      this.#failure ??= error;
    });
  }

  throwIfFailed(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }
}
