import assert from "node:assert";
import type { ChalkInstance } from "chalk";
import type { ControlPlane } from "../../cluster/control-plane/control-plane.js";
import { isSuccess, statusMessage } from "../../staging/client-go/rest/answers.js";
import type { KubeClient, KubeResponse, RestConfig } from "../../staging/client-go/rest/client.js";
import { createClient } from "../../staging/client-go/rest/create-client.js";
import { RequestTrace } from "../../testbed/fixtures/request-trace.js";
import { untilAccount } from "../../testbed/node/register.js";
import { startEmbeddedControlPlane } from "../../testbed/target/embedded-control-plane.js";
import { type EtcdOptions, etcdConfig } from "../../testbed/target/etcd-options.js";
import type { TraceEvent } from "../../trace/events.js";
import type { Trace } from "../../trace/trace.js";
import { ChildAbort } from "../../util/async/abort.js";
import { type Clock, SystemClock } from "../../util/clock.js";
import { defined } from "../../util/defined.js";
import type { Say } from "../../util/i18n/sentences.js";
import { parseKubeVersion } from "../../util/release/facts.js";
import { hasUnicode } from "../cli/colour.js";
import type { CliContext } from "../cli/context.js";
import type { OutputOptions } from "../cli/options.js";
import { inLanguage } from "../cli/result-language.js";
import {
  type Asked,
  type AskedOptions,
  addressOf,
  createBefore,
  type Plan,
  planOf,
  watchedCollection,
} from "./plan.js";
import { requestResult } from "./result.js";
import { isDispatch, storyOf, wayOf } from "./way.js";

export interface RequestOptions extends AskedOptions, EtcdOptions, OutputOptions {
  readonly as?: string;
  readonly with?: readonly string[];
  readonly watchers: number;
  readonly kubeVersion: string;
}

/** How long the watch event of a write may take: from etcd it comes over the network. */
const EVENT_PATIENCE_MS = 2_000;
/** The server refused the request. */
const REFUSED_EXIT_CODE = 4;

/**
 * Starts a control plane, sends one request, and prints its stages.
 * @throws LabError USAGE, BAD_FILE for a request that cannot be made; as `startControlPlane`; REFUSED when an object of --with is
 */
export async function runRequest(context: CliContext, asked: Asked, options: RequestOptions): Promise<void> {
  const { random } = context;
  const plan = await planOf(context, asked, options);
  const kubeVersion = parseKubeVersion(options.kubeVersion);
  const etcd = etcdConfig(options);
  const { clock, trace } = context.session({});
  const facts: TraceEvent[] = [];
  trace.addSink({ level: 3, write: (event) => void facts.push(event) });
  const story = new RequestTrace(trace);
  await using controlPlane = await starting(context, () =>
    startEmbeddedControlPlane({ clock, random, trace: story.trace, kubeVersion, ...defined({ etcd }) }),
  );
  await followRequest(context, { controlPlane, clock, trace, story, facts }, plan, options);
}

/** A control plane in this process, and its facts. */
export interface FollowedControlPlane {
  readonly controlPlane: ControlPlane;
  readonly clock: Clock;
  readonly trace: Trace;
  /** of the control plane */
  readonly story: RequestTrace;
  /** the facts of `trace` at level 3; emptied before the request */
  readonly facts: TraceEvent[];
}

/** Sends the request, and prints its stages. @throws LabError as `runRequest` */
export async function followRequest(
  context: CliContext,
  { controlPlane, clock, trace, story, facts }: FollowedControlPlane,
  plan: Plan,
  options: RequestOptions,
): Promise<void> {
  const { signal, random } = context;
  const deps = { clock, trace: story.trace, random, actor: "user" } as const;
  const { admin } = controlPlane;
  await using administrator = createClient(admin, deps);
  await using client = createClient(options.as === undefined ? admin : impersonating(admin, options.as), deps);
  await untilAccount(administrator, "default", signal);
  for (const what of options.with ?? []) await createBefore(administrator, context, what, options.namespace);
  const addressed = await addressOf(administrator, plan, options, signal);
  const { method, path } = addressed;
  const watched = method === "GET" ? undefined : await watchedCollection(administrator, path, signal);
  facts.length = 0;
  await using _watchers = watchAll(administrator, watched, options.watchers, signal);
  const watchers = watched === undefined ? 0 : options.watchers;
  await until(() => facts.filter(isOpenWatch).length >= watchers, signal);
  const factId = trace.newId();
  const response = await trace.chapter("request", () => client.request({ ...addressed, factId, signal }));
  const request = facts.find(({ id }) => id === factId);
  assert(request?.kind === "request");
  const stored = facts.filter((event) => event.kind === "state" && event.causedBy === factId);
  // Without watches there is no event to wait for.
  const events = watchers === 0 ? 0 : stored.length;
  await until(() => wayOf(facts, request).filter(isDispatch).length >= events, signal);
  const problem = problemOf(response);
  const unicode = hasUnicode(context.env);
  const named = (options.verbosity ?? 1) >= 2;
  const isBrief = options.verbosity === undefined;
  const factOf = (id: string) => facts.find((event) => event.id === id);
  const resultIn = (columns: number, chalk: ChalkInstance, say?: Say) =>
    requestResult(request, problem, wayOf(facts, request, say, named), {
      columns,
      chalk,
      unicode,
      factOf,
      say,
      isBrief,
    });
  trace.emit(storyOf(wayOf(facts, request)), { actor: "user" });
  context.print(inLanguage(context, resultIn));
  if (!isSuccess(response)) context.exitWith(REFUSED_EXIT_CODE);
}

function isOpenWatch(event: TraceEvent): boolean {
  return event.kind === "request" && event.actor === "user" && event.status === 200;
}

async function starting<T>(context: CliContext, start: () => Promise<T>): Promise<T> {
  using _line = context.progress("starting a control plane");
  return await start();
}

function impersonating(admin: RestConfig, user: string): RestConfig {
  return {
    ...admin,
    impersonatedUser: user,
    authorize: async (headers) => {
      headers["Impersonate-User"] = user;
    },
  };
}

/** Opens watches as clients of the resource, and reads them. */
function watchAll(client: KubeClient, path: string | undefined, count: number, signal: AbortSignal): AsyncDisposable {
  const stop = new ChildAbort(signal);
  const watches = path === undefined ? [] : Array.from({ length: count }, () => client.watch(path, {}, stop.signal));
  // A failed watch does not end the others.
  const watching = Promise.allSettled(watches.map(readAll));
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await watching;
    },
  };
}

async function readAll(events: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of events);
}

/** Waits on the wall clock. @returns also after a timeout */
async function until(isDone: () => boolean, signal: AbortSignal): Promise<void> {
  const clock = new SystemClock();
  const endMs = clock.now() + EVENT_PATIENCE_MS;
  while (!isDone() && clock.now() < endMs) await clock.sleep(5, signal);
}

function problemOf(response: KubeResponse): string | undefined {
  return isSuccess(response) ? undefined : `The server refused it: ${statusMessage(response)}`;
}
