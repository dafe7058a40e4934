import { createClient } from "../../staging/client-go/rest/create-client.js";
import type { NodeContext } from "../../testbed/context.js";
import { createUnlessThere } from "../../testbed/create-unless-there.js";
import { startEmbeddedControlPlane } from "../../testbed/target/embedded-control-plane.js";
import { HeldTime } from "../../testbed/time/held-time.js";
import { Disposables } from "../../util/async/disposables.js";
import { SystemClock } from "../../util/clock.js";
import { makeUniqueFolder, removeOwn } from "../../util/os/temporary-folder.js";
import type { SeededRandom } from "../../util/seeded-random.js";
import { pathOf, resourceOf } from "../kubectl/resources.js";
import { LabFacts } from "../labs/environment/facts.js";
import { inject } from "../labs/environment/injections.js";
import { LabNodes } from "../labs/environment/nodes.js";
import { labFolderPrefix } from "../labs/environment/orphaned-processes.js";
import { FAULTS } from "./faults.js";
import type { Scenario } from "./scenario.js";
import { type Judgement, judge, Watch } from "./verdict.js";

const KUBE_VERSION = "1.25";
/** Conditions are looked at this often, in ms of the cluster's clock. */
const LOOK_MS = 1_000;

/**
 * Runs a scenario on a cluster of its own in this process, in virtual time.
 * @returns the judgements: one for each expectation, then one for each fault whose `when` was never met
 * @throws LabError REFUSED for an object that the API server refuses; as `inject`; the signal's reason
 */
export async function runScenario(
  { context, random }: { readonly context: NodeContext; readonly random: SeededRandom },
  scenario: Scenario,
): Promise<readonly Judgement[]> {
  const { signal } = context;
  const open = new Disposables();
  try {
    const clock = new SystemClock();
    open.defer(async () => clock.resume());
    const facts = new LabFacts(clock);
    const trace = facts.openTrace();
    const folder = await makeUniqueFolder(labFolderPrefix());
    open.defer(() => removeOwn(folder));
    const settings = { clock, random, trace, kubeVersion: KUBE_VERSION, verifyKubelets: false };
    const controlPlane = await startEmbeddedControlPlane(settings);
    open.defer(() => controlPlane.close());
    const close = async () => {};
    const nodes = await LabNodes.open(
      { context: withRandom(context, random), clock, facts },
      {
        count: scenario.nodes,
        prefix: "node-",
        folder,
        target: {
          kind: "joined",
          admin: controlPlane.admin,
          description: "the scenario's cluster",
          kubeVersion: KUBE_VERSION,
          close,
          [Symbol.asyncDispose]: close,
        },
        settings: { verbosity: 1, pullMs: 400, kubeProxy: false, link: false },
      },
    );
    open.defer(() => nodes[Symbol.asyncDispose]());
    // Closing needs time that passes.
    open.defer(async () => clock.resume());
    const client = createClient(controlPlane.admin, { clock, random, trace: facts.reads, actor: "user" });
    open.defer(() => client.close());
    const time = new HeldTime(clock);
    clock.pause();
    await time.settle();
    for (const object of scenario.objects) {
      const known = await resourceOf(client, object, signal);
      const path = pathOf(known, object.metadata.namespace ?? "default");
      await createUnlessThere(client, path, object, signal);
    }
    const startMs = clock.now();
    const endMs = startMs + Math.max(...scenario.expect.map(({ from, within }) => from + within));
    const watch = (text: string, fromMs: number, untilMs: number) => {
      const made = new Watch(text, { client, facts }, fromMs, untilMs);
      open.defer(async () => made[Symbol.dispose]());
      return made;
    };
    const expected = scenario.expect.map((entry) => ({
      entry,
      watch: watch(entry.condition, startMs + entry.from, startMs + entry.from + entry.within),
    }));
    const planned = scenario.do.map((entry) => ({
      entry,
      watch: typeof entry.when === "string" ? watch(entry.when, startMs, endMs) : undefined,
      dueMs: typeof entry.when === "string" ? Number.POSITIVE_INFINITY : startMs + entry.when.at,
      backMs: Number.POSITIVE_INFINITY,
      isDone: false,
    }));
    let failure: unknown;
    const deps = { clock, nodes, setSpeed: async () => {} };
    // An injection may wait for timers, so time goes on meanwhile.
    const start = (name: string, args: Scenario["do"][number]["with"]) =>
      void facts
        .injection(name, args, () => inject(deps, name, args, signal))
        .catch((error: unknown) => {
          failure ??= error;
        });
    for (;;) {
      const nowMs = clock.now();
      for (const one of planned) {
        const { entry } = one;
        await one.watch?.look(nowMs, signal);
        if (!one.isDone && (nowMs >= one.dueMs || one.watch?.metMs !== undefined)) {
          one.isDone = true;
          start(entry.fault, entry.with);
          if (entry.for !== undefined) one.backMs = nowMs + entry.for;
        } else if (nowMs >= one.backMs) {
          one.backMs = Number.POSITIVE_INFINITY;
          const back = FAULTS[entry.fault]?.undo?.(entry.with);
          if (back !== undefined) start(...back);
        }
      }
      for (const { watch: one } of expected) await one.look(nowMs, signal);
      if (failure !== undefined) throw failure;
      if (nowMs >= endMs || isDecided(expected, nowMs)) break;
      const moments = planned.flatMap((one) => [one.isDone ? Number.POSITIVE_INFINITY : one.dueMs, one.backMs]);
      await time.jump(Math.max(1, Math.min(nowMs + LOOK_MS, endMs, ...moments) - nowMs), signal);
    }
    const neverMet = planned.filter(({ isDone }) => !isDone);
    return [
      ...expected.map(({ entry, watch: one }) => judge(entry, one, startMs)),
      ...neverMet.map(({ entry: { when, fault } }) => ({
        condition: typeof when === "string" ? when : `at ${when.at / 1000} s`,
        holds: false,
        wanted: `fault ${fault}`,
      })),
    ];
  } finally {
    await open.close();
  }
}

/** Whether nothing that may still happen changes a judgement. */
function isDecided(
  expected: readonly { readonly entry: Scenario["expect"][number]; readonly watch: Watch }[],
  nowMs: number,
): boolean {
  return expected.every(({ watch }) => watch.metMs !== undefined || nowMs >= watch.endMs);
}

/** The same process with the randomness of the seed. */
function withRandom(context: NodeContext, random: SeededRandom): NodeContext {
  return {
    random,
    signal: context.signal,
    confirm: (question, options) => context.confirm(question, options),
    progress: (text) => context.progress(text),
  };
}
