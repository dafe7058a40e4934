import type { ChalkInstance } from "chalk";
import type { KubeList, KubeObject } from "../../staging/apimachinery/api/meta.js";
import type { KubeClient } from "../../staging/client-go/rest/client.js";
import { createClient } from "../../staging/client-go/rest/create-client.js";
import { collectionPath, DEPLOYMENTS, objectPath, PODS, type ResourceRef } from "../../staging/client-go/rest/paths.js";
import { RequestTrace } from "../../testbed/fixtures/request-trace.js";
import type { Target, TargetOptions } from "../../testbed/target/target.js";
import type { TraceEvent } from "../../trace/events.js";
import { startMs, TraceGraph } from "../../trace/graph/graph.js";
import { versionOf } from "../../trace/scope.js";
import { ChildAbort } from "../../util/async/abort.js";
import { type Clock, SystemClock } from "../../util/clock.js";
import { LabError } from "../../util/errors.js";
import type { Say } from "../../util/i18n/sentences.js";
import { hasUnicode } from "../cli/colour.js";
import type { CliContext } from "../cli/context.js";
import type { OutputOptions } from "../cli/options.js";
import { inLanguage } from "../cli/result-language.js";
import { withKeys } from "../cli/terminal-keys.js";
import { InspectorKeys } from "../inspector/key-table.js";
import { timeKeys } from "../inspector/time-keys.js";
import { availableDeployment, type Goal, gonePod, gonePods, podsOf, runningPod } from "./goals.js";
import { type JourneyManifest, manifestFromFile, manifestFromWord } from "./manifest.js";
import { type Journey, journeyResult } from "./result.js";
import { journeySteps, storyOf } from "./steps.js";

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

const UNTIL_GONE = "from the request until it is gone";
/** A run that reports more than this is cut off. */
const MAX_FACTS = 200_000;

/**
 * Creates a pod or a Deployment and prints the steps of its life.
 * @throws LabError USAGE, BAD_FILE if neither is named; as `openTarget`; TIMED_OUT if the pod does not run or does not end
 */
export async function runJourney(context: CliContext, plan: JourneyPlan): Promise<void> {
  const { options } = plan;
  const manifest = await manifestOf(context, plan);
  const { clock, trace } = context.session({ wantsBodies: true });
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
    const isPod = manifest.kind === "Pod";
    const start = (goal: Goal) => begin(client, goal, context.signal);
    const keys = new InspectorKeys(timeKeys(clock, target.kind), trace);
    const press = (key: string) => keys.press(key, context.signal);
    const limits = { timeoutMs: options.timeout, clock };
    const following = (goal: BegunGoal) => (signal: AbortSignal) => follow(client, manifest, goal, limits, signal);
    const wait = (goal: BegunGoal) =>
      keys.keys.length === 0
        ? following(goal)(context.signal)
        : withKeys(context.streams, context.signal, following(goal), press);
    const goal = await start(isPod ? runningPod(manifest) : availableDeployment(manifest));
    // If the servers run in another process, only watch events show the pods of a Deployment.
    const isApart = !isPod && target.kind !== "embedded";
    const pods = isApart ? await start(podsOf(manifest)) : undefined;
    const created = await create(client, manifest, context.signal);
    using _pods = pods && watchAlong(client, pods, context.signal);
    const running = await wait(goal);
    const first = [...facts];
    const named = (options.verbosity ?? 1) >= 2;
    const way = isPod ? "from the request to Running" : "from the request to Available";
    const object = `${manifest.kind.toLowerCase()} ${manifest.namespace}/${manifest.name}`;
    const tell = ({ title, steps }: Journey) => trace.emit(storyOf(`${object}: ${title}`, steps), { actor: "user" });
    const life = (say?: Say, isNamed = named) => journeyOf(way, first, created, running, say, isNamed);
    tell(life(undefined, false));
    const ways = [life];
    if (options.delete === true) {
      facts.length = 0;
      const going = await start(isPod ? gonePod(manifest) : gonePods(manifest));
      await client.expect({
        method: "DELETE",
        path: objectPath(refOf(manifest), manifest.name),
        signal: context.signal,
      });
      const gone = await wait(going);
      const last = (say?: Say, isNamed = named) => journeyOf(UNTIL_GONE, facts, undefined, gone, say, isNamed);
      tell(last(undefined, false));
      ways.push(last);
    }
    const unicode = hasUnicode(context.env);
    const common = { target, explains: options.explain === true, isDetailed: named, unicode };
    const resultIn = (columns: number, chalk: ChalkInstance, say?: Say) => {
      const shown = ways.map((way) => way(say));
      return journeyResult(manifest, shown, { ...common, columns, chalk, say });
    };
    context.print(inLanguage(context, resultIn));
  });
}

async function manifestOf(context: CliContext, { pod, options }: JourneyPlan): Promise<JourneyManifest> {
  if (options.filename === undefined) return manifestFromWord(pod ?? "pod/web");
  if (pod !== undefined)
    throw new LabError("USAGE", `both ${pod} and ${options.filename} name an object`, "Give one of them.");
  return manifestFromFile(context, options.filename);
}

async function refuseRealCluster(
  context: CliContext,
  target: Target,
  { kind, namespace, name }: JourneyManifest,
  { yes }: JourneyOptions,
): Promise<void> {
  if (target.kind !== "real") return;
  const question = `This creates the ${kind} ${namespace}/${name} on ${target.description}. Continue?`;
  if (await context.confirm(question, { ...(yes === undefined ? {} : { yes }), flag: "--yes" })) return;
  throw new LabError(
    "DECLINED",
    "nothing was created",
    "Without --kubeconfig, --context and --real the cluster is embedded.",
  );
}

async function startNode(context: CliContext, target: Target, story: RequestTrace): Promise<AsyncDisposable> {
  using _line = context.progress("starting a node");
  const { startSampleNode } = await import("../../testbed/fixtures/sample-node.js");
  const { clock } = context.session({});
  const { close } = await startSampleNode({ context, clock, story }, target, [], "started");
  return { [Symbol.asyncDispose]: close };
}

function refOf({ kind, namespace }: JourneyManifest): ResourceRef {
  return { ...(kind === "Pod" ? PODS : DEPLOYMENTS), namespace };
}

async function create(client: KubeClient, manifest: JourneyManifest, signal: AbortSignal): Promise<KubeObject> {
  const { untilAccount } = await import("../../testbed/node/register.js");
  await untilAccount(client, manifest.namespace, signal);
  return await client.expect({ method: "POST", path: collectionPath(refOf(manifest)), body: manifest.body, signal });
}

/** A goal whose watch continues a list, so that it has every change since then, however long the next request takes. */
interface BegunGoal extends Goal {
  readonly query: Goal["query"] & { readonly resourceVersion: string };
}

async function begin(client: KubeClient, goal: Goal, signal: AbortSignal): Promise<BegunGoal> {
  const list = await client.expect<KubeList>({ method: "GET", path: goal.path, query: goal.query, signal });
  for (const object of list.items) goal.isReached("ADDED", object);
  return { ...goal, query: { ...goal.query, resourceVersion: list.metadata.resourceVersion ?? "" } };
}

/** Reports a watch's events until it is disposed. An error ends it, because it only accompanies another wait. */
function watchAlong(client: KubeClient, { path, query }: BegunGoal, signal: AbortSignal): Disposable {
  const stop = new ChildAbort(signal);
  const watch = async () => {
    for await (const _event of client.watch(path, query, stop.signal));
  };
  watch().catch(() => undefined);
  return {
    [Symbol.dispose]: () => {
      stop.abort();
      stop[Symbol.dispose]();
    },
  };
}

/** @returns the object as the watch showed it then @throws LabError TIMED_OUT */
async function follow(
  client: KubeClient,
  { kind, namespace, name }: JourneyManifest,
  { path, query, isReached, inWords }: BegunGoal,
  { timeoutMs, clock }: { readonly timeoutMs: number; readonly clock: Clock },
  signal: AbortSignal,
): Promise<KubeObject> {
  using limit = new ChildAbort(signal);
  const wall = new SystemClock();
  // Uses the wall clock, because people wait in real time at any --speed. Who holds the time is still reading.
  const begin = () =>
    wall.timer(timeoutMs, () => {
      if (clock instanceof SystemClock && clock.isPaused) timer = begin();
      else limit.abort();
    });
  let timer = begin();
  let last = "no event of it arrived";
  try {
    for await (const { type, object } of client.watch(path, query, limit.signal)) {
      if (isReached(type, object)) return object;
      last = inWords(object);
    }
  } finally {
    timer.stop();
  }
  signal.throwIfAborted();
  const what = kind.toLowerCase();
  const hint = `Look why: kubectl describe ${what} ${name} -n ${namespace}; or wait longer: --timeout 5m.`;
  throw new LabError("TIMED_OUT", `${what} ${namespace}/${name}: ${last} after ${timeoutMs / 1000} s`, hint);
}

/** @param first the object as the first request answered; undefined: the first DELETE began it */
function journeyOf(
  title: string,
  facts: readonly TraceEvent[],
  first: KubeObject | undefined,
  last: KubeObject,
  say: Say | undefined,
  named: boolean,
): Journey {
  const graph = TraceGraph.of(facts);
  const begins = first === undefined ? undefined : versionOf(first);
  const root = facts.find(
    (event) =>
      event.kind === "request" &&
      event.actor === "user" &&
      (begins === undefined ? event.method === "DELETE" : event.version === begins),
  );
  const factOf = (id: string) => graph.get(id);
  if (root === undefined) return { title, steps: [], factOf, tookMs: 0, isWhole: false };
  const version = versionOf(last);
  const stored = facts.find((event) => event.kind === "state" && event.version === version);
  const until = stored ?? facts.find((event) => event.kind === "watch" && event.causedBy === version);
  const steps = journeySteps(graph, root, until, say, named);
  return { title, steps, factOf, tookMs: (until ?? root).atMs - startMs(root), isWhole: stored !== undefined };
}
