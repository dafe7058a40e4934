import type { V1Pod } from "../../apimachinery/api/pod.js";
import { hasUnicode } from "../../cli/colour.js";
import type { CliContext } from "../../cli/context.js";
import type { OutputOptions } from "../../cli/options.js";
import type { KubeClient } from "../../client-go/rest/client.js";
import { createClient } from "../../client-go/rest/create-client.js";
import { collectionPath, objectPath, PODS } from "../../client-go/rest/paths.js";
import { RequestTrace } from "../../testbed/request-trace.js";
import type { Target, TargetOptions } from "../../testbed/target.js";
import type { TraceEvent } from "../../trace/events.js";
import { startMs, TraceGraph } from "../../trace/graph.js";
import { versionOf } from "../../trace/scope.js";
import { ChildAbort } from "../../util/abort.js";
import { SystemClock } from "../../util/clock.js";
import { LabError } from "../../util/errors.js";
import { type PodManifest, podFromFile, podFromWord } from "./manifest.js";
import { type Journey, journeyResult } from "./result.js";
import { journeySteps } from "./steps.js";

export interface JourneyOptions extends TargetOptions, OutputOptions {
  readonly filename?: string;
  readonly delete?: boolean;
  readonly explain?: boolean;
  /** ms */
  readonly timeout: number;
}

export interface JourneyPlan {
  /** `pod/web`; undefined: the default, or a file */
  readonly pod: string | undefined;
  readonly options: JourneyOptions;
  readonly target: TargetOptions;
}

/** A run that reports more than this is cut off. */
const MAX_FACTS = 200_000;

/**
 * Creates a pod and prints the steps of its life.
 * @throws LabError USAGE, BAD_FILE for what names no pod; as `openTarget`; TIMED_OUT if the pod does not run or does not go
 */
export async function runJourney(context: CliContext, plan: JourneyPlan): Promise<void> {
  const { options } = plan;
  const manifest = await manifestOf(context, plan);
  const { clock, trace } = context.session({});
  const facts: TraceEvent[] = [];
  trace.addSink({ write: (event) => void (facts.length < MAX_FACTS && facts.push(event)) });
  const story = new RequestTrace(trace);
  await using target = await context.openTarget("journey", plan.target, () => story.trace);
  await refuseRealCluster(context, target, manifest, options);
  await using _node = target.kind === "embedded" ? await startNode(context, target, story) : undefined;
  await using client = createClient(target.admin, { clock, trace: story.trace, random: context.random, actor: "user" });
  // The node's start is not a part of the journey.
  facts.length = 0;
  await trace.chapter("journey", async () => {
    const created = await create(client, manifest, context.signal);
    const running = await follow(client, manifest, options.timeout, context.signal, isRunning);
    const ways = [journeyOf("from the request to Running", facts, created, running)];
    if (options.delete === true) {
      facts.length = 0;
      const path = objectPath({ ...PODS, namespace: manifest.namespace }, manifest.name);
      const gone = follow(client, manifest, options.timeout, context.signal, isGone);
      await client.expect({ method: "DELETE", path, signal: context.signal });
      ways.push(journeyOf("from the request until it is gone", facts, undefined, await gone));
    }
    const explains = options.explain === true;
    const style = { columns: columnsOf(context), unicode: hasUnicode(context.env) };
    context.print(journeyResult(manifest, ways, { target, explains, ...style }));
  });
}

async function manifestOf(context: CliContext, { pod, options }: JourneyPlan): Promise<PodManifest> {
  if (options.filename === undefined) return podFromWord(pod ?? "pod/web");
  if (pod !== undefined)
    throw new LabError("USAGE", `both ${pod} and ${options.filename} name a pod`, "Give one of them.");
  return podFromFile(context, options.filename);
}

async function refuseRealCluster(
  context: CliContext,
  target: Target,
  { namespace, name }: PodManifest,
  { yes }: JourneyOptions,
): Promise<void> {
  if (target.kind !== "real") return;
  const question = `This creates the pod ${namespace}/${name} on ${target.description}. Continue?`;
  if (await context.confirm(question, { ...(yes === undefined ? {} : { yes }), flag: "--yes" })) return;
  throw new LabError(
    "DECLINED",
    "nothing was created",
    "Without --kubeconfig, --context and --real the cluster is embedded.",
  );
}

async function startNode(context: CliContext, target: Target, story: RequestTrace): Promise<AsyncDisposable> {
  using _line = context.progress("starting a node");
  const { startSampleNode } = await import("../../testbed/sample-node.js");
  const { clock } = context.session({});
  const { close } = await startSampleNode({ context, clock, story }, target, [], "started");
  return { [Symbol.asyncDispose]: close };
}

async function create(client: KubeClient, manifest: PodManifest, signal: AbortSignal): Promise<V1Pod> {
  const { untilAccount } = await import("../../testbed/register.js");
  await untilAccount(client, manifest.namespace, signal);
  const path = collectionPath({ ...PODS, namespace: manifest.namespace });
  return await client.expect<V1Pod>({ method: "POST", path, body: manifest.body, signal });
}

type Reached = (type: string, pod: V1Pod) => boolean;
const isRunning: Reached = (_type, { status }) => ["Running", "Succeeded", "Failed"].includes(status.phase ?? "");
const isGone: Reached = (type) => type === "DELETED";

/** @returns the pod as the watch showed it then @throws LabError TIMED_OUT */
async function follow(
  client: KubeClient,
  { namespace, name }: PodManifest,
  timeoutMs: number,
  signal: AbortSignal,
  reached: Reached,
): Promise<V1Pod> {
  using limit = new ChildAbort(signal);
  // People wait on the wall clock, at any speed of the lab's.
  const timer = new SystemClock().timer(timeoutMs, () => limit.abort());
  let last = "no event of it arrived";
  try {
    const query = { fieldSelector: `metadata.name=${name}` };
    for await (const { type, object } of client.watch(collectionPath({ ...PODS, namespace }), query, limit.signal)) {
      const pod = object as V1Pod;
      if (reached(type, pod)) return pod;
      last = `it is ${pod.status.phase ?? "without a phase"}`;
    }
  } finally {
    timer.stop();
  }
  signal.throwIfAborted();
  const hint = `Look why: kubectl describe pod ${name} -n ${namespace}; or wait longer: --timeout 5m.`;
  throw new LabError("TIMED_OUT", `pod ${namespace}/${name}: ${last} after ${timeoutMs / 1000} s`, hint);
}

/** @param first the object as the first request answered; undefined: the first DELETE began it */
function journeyOf(title: string, facts: readonly TraceEvent[], first: V1Pod | undefined, last: V1Pod): Journey {
  const graph = TraceGraph.of(facts);
  const begins = first === undefined ? undefined : versionOf(first);
  const root = facts.find(
    (event) =>
      event.kind === "request" &&
      event.actor === "user" &&
      (begins === undefined ? event.method === "DELETE" : event.version === begins),
  );
  if (root === undefined) return { title, steps: [], tookMs: 0, isWhole: false };
  const version = versionOf(last);
  const stored = facts.find((event) => event.kind === "state" && event.version === version);
  const until = stored ?? facts.find((event) => event.kind === "watch" && event.causedBy === version);
  const steps = journeySteps(graph, root, until);
  return { title, steps, tookMs: (until ?? root).atMs - startMs(root), isWhole: stored !== undefined };
}

function columnsOf({ streams: { stdout } }: CliContext): number {
  return stdout.isTTY === true ? (stdout.columns ?? 80) : 100;
}
