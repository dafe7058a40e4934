import { type Command, InvalidArgumentError } from "commander";
import { createClient } from "../../staging/client-go/rest/create-client.js";
import { openStore, prepareNode } from "../../testbed/node/join.js";
import { JOIN_TIMEOUT_MS, type JoinOptions, joinDefaults, planJoin } from "../../testbed/node/join-plan.js";
import { NodeObserver } from "../../testbed/outage/node-observer.js";
import {
  isReady,
  type OutageResult,
  type OutageSession,
  runOutage,
  type StopAfter,
} from "../../testbed/outage/node-outage.js";
import { releaseOf } from "../../testbed/target/server-release.js";
import { numberSteps } from "../../trace/story/numbers.js";
import { leaseRule } from "../../trace/story/rules.js";
import { tellStory } from "../../trace/story/teller.js";
import { allUntilOneEnds } from "../../util/async/concurrency.js";
import { LabError } from "../../util/errors.js";
import { durationText } from "../../util/release/fact.js";
import type { CliContext, CommandResult } from "../cli/context.js";
import { addExamples } from "../cli/examples.js";
import {
  addDurationOption,
  addNodeOptions,
  addOutputOptions,
  addTargetOptions,
  addUiOption,
  parseDuration,
  targetOptions,
} from "../cli/options.js";
import { hasKeys, readKeys } from "../cli/terminal-keys.js";
import { InspectorKeys } from "../inspector/key-table.js";
import { futureOf, timeKeys } from "../inspector/time-keys.js";
import { leaseStatus, withStatusAbove } from "./status.js";

interface LeaseCommandOptions extends Omit<JoinOptions, "approve" | "timeout"> {
  readonly stopAfter?: StopAfter;
  readonly revive?: boolean;
  /** ms */
  readonly duration?: number;
}

/** `kubelab lease`: keep a node Ready, let it lapse, bring it back. */
export function addLeaseCommand(command: Command, context: CliContext): void {
  command.description(
    "Renews a node's Lease every 10 s and reports its status. Joins the node first if necessary. With --stop-after it stops the heartbeats and shows how the cluster reacts; --revive shows how the node becomes Ready again.",
  );
  addExamples(
    command,
    "kubelab lease --speed 10",
    "kubelab lease --stop-after 1 --revive --speed 30",
    "kubelab lease --node n1 --stop-after 30s --kubeconfig ~/.kube/config",
  );
  addNodeOptions(addTargetOptions(addDurationOption(addUiOption(addOutputOptions(command)))))
    .option("--stop-after <n>", "stop the heartbeats after n renewals or a time: 3, 30s", parseStopAfter)
    .option(
      "--revive",
      "start the heartbeats of a NotReady node, and show how it becomes Ready; in a new cluster the node falls silent first",
    )
    .action((options: LeaseCommandOptions) => runLease(context, options));
}

const LEAVE_OUT = "Leave out one of them.";

function parseStopAfter(text: string): StopAfter {
  if (/^[1-9]\d{0,5}$/.test(text)) return { renewals: Number(text) };
  if (/\d(ms|s|m|h|d)$/.test(text)) return { ms: parseDuration(text) };
  throw new InvalidArgumentError("expected 1 or more renewals, or a time such as 30s.");
}

async function runLease(context: CliContext, options: LeaseCommandOptions): Promise<void> {
  const { stopAfter, revive, duration } = options;
  const isOutage = stopAfter !== undefined || revive === true;
  if (isOutage && duration !== undefined) {
    const flag = stopAfter === undefined ? "--revive" : "--stop-after";
    throw new LabError("USAGE", `--duration is for a node that is kept Ready, and ${flag} ends by itself`, LEAVE_OUT);
  }
  const plan = planJoin({ ...options, approve: "auto", timeout: JOIN_TIMEOUT_MS }, joinDefaults(context));
  const { nodeName } = plan;
  const store = await openStore(plan);
  await using target = await context.openTarget("lease", targetOptions(options));
  const { clock, trace } = context.session({});
  const deps = { clock, trace, random: context.random };
  const kubeVersion = await releaseOf(target, deps);
  numberSteps(trace, leaseRule(nodeName));
  using _story = tellStory(trace, leaseRule(nodeName));
  const run = async () => {
    await using client = createClient(target.admin, { ...deps, actor: "user" });
    const isNew = target.kind === "embedded";
    if (revive === true && stopAfter === undefined && !isNew) {
      const nothing = { lapse: null, revival: null };
      if (await isReady({ client, trace }, nodeName, context.signal))
        return context.print(leaseResult(nodeName, nothing));
    }
    const join = { context, clock, trace, plan, kubeVersion, target, store };
    const node = await context.folded("starting a node", `node ${nodeName} has its identity`, () => prepareNode(join));
    await using _agent = node.agent;
    const observer = new NodeObserver({ ...deps, client }, nodeName, { isOnlyWitness: !isNew });
    const shown = { agent: node.agent, observer, clock, kubeVersion };
    const status = () => leaseStatus(shown);
    const above = withStatusAbove(context, status);
    const keys = new InspectorKeys(timeKeys(clock, target.kind), trace);
    const press = (key: string) => keys.press(key, context.signal);
    const future = futureOf(clock, target.kind);
    using _page = context.ui?.present({ tables: () => [status()], keys: () => keys.buttons, press, future });
    const isHeld = keys.keys.length > 0 && hasKeys(context.streams);
    if (isHeld) keys.show();
    const session = { ...join, context: above, client, observer, node };
    await allUntilOneEnds(context.signal, [
      (signal) => trace.detached(() => observer.run(signal)),
      ...(isHeld ? [(signal: AbortSignal) => readKeys(context.streams.stdin, press, signal)] : []),
      async (signal) => {
        if (isOutage) context.print(leaseResult(nodeName, await runOutage(session, options, signal)));
        else await keepReady(session, context, duration, signal);
      },
    ]);
  };
  await trace.sequence(() => trace.chapter("lease", run));
}

/** Renews the Lease, reports the status and rotates the certificate until Ctrl-C or the end of the time. */
async function keepReady(
  { node, clock, trace, store, plan, context: { progress } }: OutageSession,
  context: CliContext,
  durationMs: number | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { nodeName } = plan;
  await node.agent.start(signal);
  context.hasStarted();
  const end = durationMs === undefined ? "until it is stopped" : `for ${durationText(durationMs)}`;
  const text = `Keeping ${nodeName} Ready ${end}. --stop-after 3 shows what happens when heartbeats stop.`;
  trace.emit({ kind: "note", text }, { actor: "user" });
  using _line = progress(`${nodeName} is kept Ready; Ctrl-C ends it`);
  const timer = durationMs === undefined ? [] : [(inner: AbortSignal) => clock.sleep(durationMs, inner)];
  await allUntilOneEnds(signal, [(inner) => node.agent.keep(store, {}, inner), ...timer]);
}

/** The result of `kubelab lease --stop-after` or `--revive`. */
function leaseResult(node: string, result: OutageResult): CommandResult {
  return { text: textOf(node, result), json: { node, ...result }, isProse: true };
}

function textOf(nodeName: string, { lapse, revival }: OutageResult): string {
  if (lapse === null && revival === null) return `node ${nodeName} is Ready: nothing to revive`;
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
  if (revival !== null) {
    lines.push(
      `node ${nodeName} was Ready again ${revival.readyAfterSeconds} s after its first renewal, free of taints after ${revival.untaintedAfterSeconds} s`,
    );
  }
  return lines.join("\n");
}
