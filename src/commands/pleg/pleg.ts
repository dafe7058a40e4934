import type { Command } from "commander";
import { RemotePodReader } from "../../kubelet/kuberuntime/remote-pod-reader.js";
import { createCriClient } from "../../staging/cri/remote/create-cri-client.js";
import { NODE_NAME } from "../../testbed/fixtures/request-trace.js";
import { Pleg } from "../../testbed/pleg/pleg.js";
import { openRuntime } from "../../testbed/pleg/runtime-target.js";
import { keysRule } from "../../trace/story/rules.js";
import { tellStory } from "../../trace/story/teller.js";
import { traceOfNode } from "../../trace/view.js";
import { SystemClock } from "../../util/clock.js";
import { defined } from "../../util/defined.js";
import { OwnedClock } from "../../util/owned-clock.js";
import { parseKubeVersion } from "../../util/release/facts.js";
import type { CliContext } from "../cli/context.js";
import { addExamples } from "../cli/examples.js";
import { addDurationOption, addOutputOptions, addUiOption, parseSpeed } from "../cli/options.js";
import { type Loop, printAtEnd, stay } from "../cli/stay.js";
import { hasKeys } from "../cli/terminal-keys.js";
import { addHttpOption } from "../inspector/options.js";
import { futureOf, timeKeys } from "../inspector/time-keys.js";
import { servePlegPage } from "./endpoints.js";
import { LabKeys, serveKeys } from "./keys.js";
import { checkOptions, type PlegCommandOptions, parseRelistPeriod } from "./plan.js";
import { summaryResult, versionResult } from "./result.js";
import { plegWindow } from "./window.js";

/** `kubelab pleg`: how the kubelet learns what happened to its containers. */
export function addPlegCommand(command: Command, context: CliContext): void {
  command.description(
    "The kubelet's Pod Lifecycle Event Generator: lists the containers of a runtime again and again, compares the lists, and reports what happened. Without --cri it starts an embedded runtime with two sample pods.",
  );
  addExamples(
    command,
    "kubelab pleg",
    "kubelab pleg --http 127.0.0.1:8080 --speed 2",
    "kubelab pleg --evented --duration 30s",
    "kubelab pleg --cri unix:///run/containerd/containerd.sock",
  );
  addHttpOption(
    addDurationOption(addUiOption(addOutputOptions(command))),
    "serve a page at this address: 127.0.0.1:8080",
  )
    .option("--mock", "the embedded runtime (the default)")
    .option("--cri <endpoint>", "a real runtime, which is never changed: unix:///path or tcp://host:port")
    .option("--evented", "also use the runtime's event stream, and relist rarely")
    .option("--relist-period <time>", "time between two relists (default: 1s)", parseRelistPeriod)
    .option("--version-only", "print the name, version and API version of the runtime, and exit")
    .option("--kube-version <release>", "behave like the kubelet of this release", "1.25")
    .option("--speed <factor>", "run the clock this many times as fast (embedded only)", parseSpeed)
    .action((options: PlegCommandOptions) => runPleg(context, options));
}

async function runPleg(context: CliContext, options: PlegCommandOptions): Promise<void> {
  checkOptions(options);
  const kubeVersion = parseKubeVersion(options.kubeVersion ?? "1.25");
  const { clock, trace: own } = context.session(defined({ speed: options.speed }));
  const trace = traceOfNode(own, NODE_NAME);
  const open = () => openRuntime({ clock, trace, random: context.random }, options.cri);
  await using target = await context.folded("starting a runtime", "the sample pods have started", open);
  await using client = await createCriClient(
    target.endpoint,
    { clock, trace, actor: "kubelet" },
    { kubeVersion },
    context.signal,
  );
  if (options.versionOnly === true) {
    context.print(versionResult(client));
    return;
  }
  trace.emit({ kind: "note", text: `kubelab pleg on ${target.description}` }, { actor: "user" });
  const { evented = false, relistPeriod, http, duration } = options;
  const service = new RemotePodReader(client.runtime);
  const period = defined({ relistPeriodMs: relistPeriod });
  let keys: LabKeys | undefined;
  const causeOf = (id: string) => keys?.causeOf(id);
  const owned = new OwnedClock(clock, `kubelet ${NODE_NAME}`);
  const pleg = new Pleg({ service, clock: owned, trace, causeOf }, { kubeVersion, evented, ...period });
  const startMs = clock.now();
  using _story = tellStory(trace, keysRule("the first relist"));
  const watch = async () => {
    const { runtimeName, runtimeVersion } = client.version;
    const { lab } = target;
    const deps = { pleg, trace, runtime: `${runtimeName} ${runtimeVersion}`, lab };
    const { stdin } = context.streams;
    keys = lab && new LabKeys(lab, trace, timeKeys(clock, "embedded"), context.signal);
    const future = futureOf(clock, lab === undefined ? "real" : "embedded");
    const window = { ...plegWindow(pleg, lab, keys), future };
    await using _page = http === undefined ? undefined : await servePlegPage(deps, window, http);
    using _live = context.ui?.present(window);
    const loops: Loop[] = [(signal) => pleg.run(signal)];
    const served = keys;
    if (served !== undefined && hasKeys(context.streams))
      loops.push((signal) =>
        serveKeys({ keys: served, pleg, stdin, progress: context, clock: new SystemClock() }, signal),
      );
    const status = loops.length > 1 ? undefined : "PLEG runs";
    await stay(context, { clock, durationMs: duration, status }, loops);
  };
  const result = () => summaryResult(pleg, client, clock.now() - startMs);
  await printAtEnd(context, () => trace.chapter("pleg", watch), result);
}
