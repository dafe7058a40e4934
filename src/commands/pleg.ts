import { type Command, Option } from "commander";
import type { CliContext } from "../cli/context.js";
import { addOutputOptions, parseDuration, parseSpeed } from "../cli/options.js";
import { type CriClient, createCriClient } from "../kubelet/cri/create-cri-client.js";
import { RemotePodReader } from "../kubelet/kuberuntime/remote-pod-reader.js";
import { durationText } from "../release/fact-table.js";
import { constantsFor, parseKubeVersion } from "../release/facts.js";
import type { Trace } from "../trace/trace.js";
import type { Clock } from "../util/clock.js";
import { defined } from "../util/defined.js";
import { isAbortError } from "../util/errors.js";
import { allUntilOneEnds } from "../util/loops.js";
import { addExamples } from "./examples.js";
import { parseHttpAddress } from "./inspector/http-address.js";
import type { PageServer } from "./inspector/page-server.js";
import { hasKeys } from "./inspector/terminal-keys.js";
import { serveKeys } from "./pleg/keys.js";
import { servePlegPage } from "./pleg/page/server.js";
import { checkOptions, type PlegCommandOptions, parseRelistPeriod } from "./pleg/plan.js";
import { Pleg } from "./pleg/pleg.js";
import { summaryResult, versionResult } from "./pleg/result.js";
import { openRuntime, type RuntimeTarget } from "./pleg/runtime-target.js";

/** `kubelab pleg`: how the kubelet finds out what happened to its containers. */
export function addPlegCommand(program: Command, context: CliContext): void {
  const command = program
    .command("pleg")
    .summary("watch how the kubelet notices what happens to containers")
    .description(
      "Lists the containers of a runtime again and again, compares, and tells what happened: the kubelet's Pod Lifecycle Event Generator. Without --cri an embedded runtime is started, with two pods to play with.",
    );
  addExamples(
    command,
    "kubelab pleg",
    "kubelab pleg --http 127.0.0.1:8080 --speed 2",
    "kubelab pleg --evented --duration 30s",
    "kubelab pleg --cri unix:///run/containerd/containerd.sock",
  );
  addOutputOptions(command)
    .addOption(new Option("--mock", "the embedded runtime (the default)"))
    .addOption(new Option("--cri <endpoint>", "a real runtime: unix:///path or tcp://host:port; it is only looked at"))
    .addOption(new Option("--evented", "take events from the runtime too, and relist seldom"))
    .addOption(new Option("--relist-period <time>", "between two relists (1s)").argParser(parseRelistPeriod))
    .addOption(new Option("--http <address>", "serve a page there: 127.0.0.1:8080").argParser(parseHttpAddress))
    .addOption(new Option("--duration <time>", "end after this long").argParser(parseDuration))
    .addOption(new Option("--version-only", "print name, version and API version of the runtime, and end"))
    .addOption(new Option("--kube-version <release>", "behave like the kubelet of this release").default("1.25"))
    .addOption(
      new Option("--speed <factor>", "run the clock this many times as fast (embedded only)").argParser(parseSpeed),
    )
    .action((options: PlegCommandOptions) => runPleg(context, options));
}

interface Session {
  readonly context: CliContext;
  readonly options: PlegCommandOptions;
  readonly clock: Clock;
  readonly trace: Trace;
  readonly target: RuntimeTarget;
  readonly client: CriClient;
}

async function runPleg(context: CliContext, options: PlegCommandOptions): Promise<void> {
  checkOptions(options);
  const kubeVersion = parseKubeVersion(options.kubeVersion ?? "1.25");
  const { clock, trace } = context.session(defined({ speed: options.speed }));
  await using target = await openRuntime(context, { clock, trace }, options);
  const deps = { clock, trace, actor: "kubelet" } as const;
  await using client = await createCriClient(target.endpoint, deps, {}, context.signal);
  if (options.versionOnly === true) {
    context.print(versionResult(client));
    return;
  }
  trace.emit({ kind: "note", text: `kubelab pleg on ${target.description}` }, { actor: "user" });
  const service = new RemotePodReader(client.runtime);
  const { evented = false, relistPeriod } = options;
  const period = defined({ relistPeriodMs: relistPeriod });
  const pleg = new Pleg({ service, clock, trace }, { kubeVersion, evented, ...period });
  const startMs = clock.now();
  const session = { context, options, clock, trace, target, client };
  let end: unknown;
  try {
    await trace.chapter("pleg", () => watch(session, pleg, kubeVersion));
  } catch (error) {
    // Ctrl-C is the usual end: what was seen is still told.
    if (!isAbortError(error)) throw error;
    end = error;
  }
  context.print(summaryResult(pleg, client, clock.now() - startMs));
  if (end !== undefined) throw end;
}

/** Until Ctrl-C, `q`, or the time is over. */
async function watch(session: Session, pleg: Pleg, kubeVersion: string): Promise<void> {
  const { context, options, clock, trace, target } = session;
  const { lab } = target;
  sayHow(trace, pleg, kubeVersion);
  await using _page = options.http === undefined ? undefined : await openPage(session, pleg);
  const { duration } = options;
  const { stdin } = context.streams;
  const loops: ((signal: AbortSignal) => Promise<void>)[] = [(signal) => pleg.run(signal)];
  if (duration !== undefined) loops.push((signal) => clock.sleep(duration, signal));
  if (lab !== undefined && hasKeys(context.streams)) loops.push((signal) => serveKeys({ lab, trace, stdin }, signal));
  await allUntilOneEnds(context.signal, loops);
}

async function openPage({ client, trace, target, options }: Session, pleg: Pleg): Promise<PageServer> {
  const { runtimeName, runtimeVersion } = client.version;
  const address = options.http ?? { host: "127.0.0.1", port: 0 };
  const page = await servePlegPage(
    { pleg, trace, runtime: `${runtimeName} ${runtimeVersion}`, lab: target.lab },
    address,
  );
  trace.emit({ kind: "note", text: `Page: ${page.url}` }, { actor: "user" });
  return page;
}

/** How changes will be found, and how late. */
function sayHow(trace: Trace, pleg: Pleg, kubeVersion: string): void {
  const every = durationText(pleg.generic.duration.relistPeriodMs);
  const fact =
    pleg.evented === undefined
      ? {
          what: `relist every ${every}`,
          why: "changes are found by comparing two lists: the period is how late they may be seen",
          constants: constantsFor(kubeVersion, "plegRelistPeriod", "plegRelistThreshold"),
        }
      : {
          what: `take the runtime's events, and relist every ${every}`,
          why: "events say what changed as it changes; the relist is there for what they may have missed",
          constants: constantsFor(kubeVersion, "eventedPleg", "eventedPlegRelistPeriod", "eventedPlegRelistThreshold"),
        };
  const upstream = { file: "pkg/kubelet/kubelet.go", func: "NewMainKubelet" };
  trace.emit({ kind: "decision", ...fact, upstream }, { actor: "kubelet" });
}
