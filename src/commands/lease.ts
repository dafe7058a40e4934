import { type Command, InvalidArgumentError, Option } from "commander";
import type { CliContext } from "../cli/context.js";
import { addOutputOptions, addTargetOptions, parseDuration, targetOptions } from "../cli/options.js";
import { isSuccess, refusal } from "../client-go/rest/answers.js";
import type { KubeClient } from "../client-go/rest/client.js";
import { createClient } from "../client-go/rest/create-client.js";
import { identityInWords } from "../client-go/rest/identity.js";
import { NODES, objectPath } from "../client-go/rest/paths.js";
import { conditionOf, type NodeObject } from "../kubelet/nodestatus/node.js";
import { startEvictionFixture } from "../testbed/eviction-fixture.js";
import { type JoinSession, openStore, type PreparedNode, prepareNode } from "../testbed/join.js";
import { type JoinOptions, planJoin } from "../testbed/join-plan.js";
import { type LapseResult, watchLapse } from "../testbed/lapse.js";
import { NodeObserver } from "../testbed/node-observer.js";
import { type ReviveResult, revive } from "../testbed/revive.js";
import { releaseOf } from "../testbed/server-release.js";
import type { Target } from "../testbed/target.js";
import type { Trace } from "../trace/trace.js";
import { LabError } from "../util/errors.js";
import { allUntilOneEnds } from "../util/loops.js";
import { addNodeOptions, joinDefaults } from "./bootstrap.js";
import { addExamples } from "./examples.js";

/** When to fall silent: after so many renewals, or after so long. */
type StopAfter = { readonly renewals: number } | { readonly ms: number };

interface LeaseCommandOptions extends Omit<JoinOptions, "approve" | "timeout"> {
  readonly stopAfter?: StopAfter;
  readonly revive?: boolean;
}

/** `kubelab lease`: keep a node Ready, let it lapse, bring it back. */
export function addLeaseCommand(program: Command, context: CliContext): void {
  const command = program
    .command("lease")
    .summary("keep a node Ready, or stop and watch who declares it dead")
    .description(
      "Renews a node's Lease every 10 s and reports its status, joining the node first if need be. With --stop-after it falls silent and shows who decides what; --revive shows the way back.",
    );
  addExamples(
    command,
    "kubelab lease --speed 10",
    "kubelab lease --stop-after 1 --revive --speed 30",
    "kubelab lease --node n1 --stop-after 30s --kubeconfig ~/.kube/config",
  );
  addNodeOptions(addTargetOptions(addOutputOptions(command)))
    .addOption(
      new Option("--stop-after <n>", "fall silent after n renewals (3), or after a time (30s)").argParser(
        parseStopAfter,
      ),
    )
    .option("--revive", "start renewing for a node that is NotReady, and show the way back")
    .action((options: LeaseCommandOptions) => runLease(context, options));
}

function parseStopAfter(text: string): StopAfter {
  if (/^[1-9]\d{0,5}$/.test(text)) return { renewals: Number(text) };
  if (!/\d(ms|s|m|h|d)$/.test(text)) {
    throw new InvalidArgumentError("expected 1 or more renewals, or a time such as 30s.");
  }
  return { ms: parseDuration(text) };
}

interface LeaseSession extends JoinSession {
  readonly context: CliContext;
  readonly target: Target;
  readonly observer: NodeObserver;
  readonly node: PreparedNode;
}

async function runLease(context: CliContext, options: LeaseCommandOptions): Promise<void> {
  const plan = planJoin({ ...options, approve: "auto", timeout: 3_600_000 }, joinDefaults(context));
  const store = await openStore(plan);
  await using target = await context.openTarget("lease", targetOptions(options));
  const { clock, trace } = context.session({});
  const kubeVersion = await releaseOf(target, { clock, trace, random: context.random });
  await trace.chapter("lease", async () => {
    const session: JoinSession & { readonly context: CliContext } = {
      context,
      clock,
      trace,
      plan,
      kubeVersion,
      target,
      store,
    };
    const node = await prepareNode(session);
    await using _agent = node.agent;
    const deps = { clock, trace, random: context.random };
    await using client = createClient(target.admin, { ...deps, actor: "user" });
    const observer = new NodeObserver({ ...deps, client }, plan.nodeName, {
      isOnlyWitness: target.kind !== "embedded",
    });
    await allUntilOneEnds(context.signal, [
      (signal) => trace.detached(() => observer.run(signal)),
      async (signal) => {
        const all = { ...session, target, observer, node };
        if (options.stopAfter === undefined && options.revive !== true) return keepReady(all, signal);
        const result = await showLapseAndRevival(all, options, client, signal);
        context.print({ text: resultText(plan.nodeName, result), json: { node: plan.nodeName, ...result } });
      },
    ]);
  });
}

/** Until Ctrl-C: renewals, heartbeats, rotation. */
async function keepReady({ node, trace, store, plan }: LeaseSession, signal: AbortSignal): Promise<void> {
  await node.agent.start(signal);
  const text = `Keeping ${plan.nodeName} Ready until Ctrl-C; --stop-after 3 shows what happens without.`;
  trace.emit({ kind: "note", text }, { actor: "kubelet" });
  await node.agent.keep(store, {}, signal);
}

interface LeaseResult {
  readonly lapse: LapseResult | null;
  readonly revival: ReviveResult | null;
}

async function showLapseAndRevival(
  session: LeaseSession,
  options: LeaseCommandOptions,
  client: KubeClient,
  signal: AbortSignal,
): Promise<LeaseResult> {
  const { observer, node, clock, trace, target, plan, kubeVersion, context } = session;
  const { nodeName } = plan;
  const isFresh = target.kind === "embedded";
  // A cluster that has just begun has no dead node to revive: this one dies first.
  const stopAfter = options.stopAfter ?? (isFresh ? { renewals: 1 } : undefined);
  const ending = new AbortController();
  let neighbour: Promise<void> = Promise.resolve();
  let lapse: LapseResult | null = null;
  try {
    if (stopAfter !== undefined) {
      await node.agent.start(signal);
      if (isFresh) {
        const deps = { target, client, clock, trace, random: context.random };
        const until = AbortSignal.any([signal, ending.signal]);
        ({ neighbour } = await startEvictionFixture(deps, node.agent, { nodeName, kubeVersion }, until));
      }
      await keepFor(session, stopAfter, signal);
      const silentSinceMs = node.agent.lastHeartbeatMs ?? clock.now();
      const explain = target.kind !== "embedded";
      lapse = await watchLapse(
        { context, clock, trace, client, observer },
        { nodeName, kubeVersion, silentSinceMs, explain },
        signal,
      );
    } else {
      if (await isReady(client, nodeName, trace, signal)) return { lapse, revival: null };
      await observer.until((view) => view.node !== undefined, signal);
    }
    const revival =
      options.revive === true
        ? await revive({ agent: node.agent, observer, clock, trace }, { nodeName, kubeVersion }, signal)
        : null;
    return { lapse, revival };
  } finally {
    ending.abort();
    await neighbour;
  }
}

/**
 * Asks how the node is, and says so.
 * @throws LabError REFUSED when there is no such Node
 */
async function isReady(client: KubeClient, nodeName: string, trace: Trace, signal: AbortSignal): Promise<boolean> {
  const path = objectPath(NODES, nodeName);
  const answer = await client.request<NodeObject>({ method: "GET", path, signal });
  if (answer.status === 404) {
    const hint = `Only a node that was there can come back: kubelab bootstrap --node ${nodeName}`;
    throw new LabError("REFUSED", `there is no Node ${nodeName} to revive`, hint);
  }
  if (!isSuccess(answer)) throw refusal(answer, `GET ${path}`, identityInWords(client.config));
  const ready = conditionOf(answer.body, "Ready");
  const isReady = ready?.status === "True";
  const what = `${nodeName} is ${isReady ? "Ready: there is nothing to revive" : "not Ready: revive it"}`;
  const why = ready === undefined ? "it has no condition Ready" : `${ready.reason}: ${ready.message}`;
  trace.emit({ kind: "decision", what, why }, { actor: "user" });
  return isReady;
}

/** Heartbeats until it is time to fall silent. */
async function keepFor({ node, clock }: LeaseSession, stopAfter: StopAfter, signal: AbortSignal): Promise<void> {
  if ("renewals" in stopAfter) {
    // The start has renewed once already.
    let left = stopAfter.renewals - 1;
    if (left === 0) return;
    await node.agent.renewLoop(signal, () => --left > 0);
    return;
  }
  const over = new AbortController();
  const limited = AbortSignal.any([signal, over.signal]);
  const loop = node.agent.renewLoop(limited).catch((error: unknown) => {
    if (!over.signal.aborted) throw error;
  });
  await Promise.race([clock.sleep(stopAfter.ms, signal), loop]);
  over.abort();
  await loop;
}

function resultText(nodeName: string, { lapse, revival }: LeaseResult): string {
  const lines: string[] = [];
  if (lapse !== null) {
    lines.push(`node ${nodeName} was declared Unknown ${lapse.unknownAfterSeconds} s after its last heartbeat`);
    lines.push(`  taints  ${lapse.taints.join(", ") || "none"}`);
    for (const { pod, evictedAfterSeconds } of lapse.pods) {
      const when =
        evictedAfterSeconds === undefined ? "not evicted yet" : `evicted ${evictedAfterSeconds} s after that heartbeat`;
      lines.push(`  pod     ${pod}: ${when}`);
    }
  }
  if (lapse === null && revival === null) lines.push(`node ${nodeName} is Ready: nothing to revive`);
  if (revival !== null) {
    lines.push(
      `node ${nodeName} was Ready again ${revival.readyAfterSeconds} s after its first renewal, free of taints after ${revival.untaintedAfterSeconds} s`,
    );
  }
  return lines.join("\n");
}
