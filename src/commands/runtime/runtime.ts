import { type Command, InvalidArgumentError, Option } from "commander";
import type { HostedRuntime } from "../../cluster/runtime/host/host.js";
import { parseReference } from "../../cluster/runtime/images/reference.js";
import { parseCidr } from "../../cluster/runtime/network/cidr.js";
import { RpcError } from "../../staging/cri/grpc/status.js";
import type { CriVersion } from "../../staging/cri/server.js";
import { NODE_NAME } from "../../testbed/fixtures/request-trace.js";
import { openDefaultEndpoint } from "../../testbed/runtime/default-endpoint.js";
import { clockOfNamedCluster } from "../../testbed/target/cluster-clock.js";
import type { Trace } from "../../trace/trace.js";
import { traceOfNode } from "../../trace/view.js";
import { untilAborted } from "../../util/async/concurrency.js";
import { SystemClock } from "../../util/clock.js";
import { defined } from "../../util/defined.js";
import type { Say } from "../../util/i18n/sentences.js";
import { pathFrom } from "../../util/os/paths.js";
import type { CliContext } from "../cli/context.js";
import { imagesOption } from "../cli/images-option.js";
import { addOutputOptions, addPlainOptions, durationOption, parsePath, parseSpeed } from "../cli/options.js";
import { type Loop, stay } from "../cli/stay.js";
import { hasKeys } from "../cli/terminal-keys.js";
import { columnsOf } from "../cli/width.js";
import { LabKeys, serveKeys } from "../pleg/keys.js";

interface UpOptions {
  readonly listen?: string;
  readonly control?: string;
  readonly streamingAddress?: string;
  readonly rootDir?: string;
  readonly pullTime: number;
  readonly image?: readonly string[];
  readonly images?: "known" | "any";
  readonly podCidr: string;
  readonly seed?: number;
  readonly criVersion?: CriVersion;
  readonly speed?: number;
}

/** Tests of kubelets and of PLEG run ten thousand containers in it. */
const MAX_HEAP_MB = 1_024;

/** `kubelab runtime`: the embedded container runtime as a server of its own, and the images that it can pull. */
export function addRuntimeCommand(runtime: Command, context: CliContext): void {
  runtime.description(
    "Runs the embedded container runtime. It speaks the Container Runtime Interface: crictl, a kubelet and `kubelab pleg --cri` can use it. Its containers are simulated: on this machine they only touch the logs and mounts that their kubelet names.",
  );
  addOutputOptions(runtime.command("up").description("start the runtime and print its endpoint; Ctrl-C ends it"))
    .option("--listen <endpoint>", "unix:///path or tcp://127.0.0.1:PORT (default: a socket in the state folder)")
    .option("--control <address>", "serve the control API at 127.0.0.1:PORT, 0 for a free port; GET / lists its paths")
    .option(
      "--streaming-address <address>",
      "address for exec, attach and port-forward (default: a free port of 127.0.0.1)",
    )
    .option("--root-dir <folder>", "folder of the runtime's files (default: a temporary folder)", parsePath)
    .addOption(durationOption("--pull-time <duration>", "how long an image pull takes", "400ms"))
    .option(
      "--image <name>",
      "an image that exists from the start; several: repeat it (default: only pause)",
      (name: string, before: readonly string[] = []) => [...before, parseImage(name)],
    )
    .addOption(imagesOption())
    .option("--pod-cidr <network>", "address range of pods", parseNetwork, "10.244.0.0/16")
    .addOption(
      new Option("--cri-version <version>", "serve only this version of the CRI (default: both)").choices([
        "v1",
        "v1alpha2",
      ]),
    )
    .option("--seed <number>", "derive all IDs from this number", parseSeed)
    .option("--speed <factor>", "run the clock this many times as fast", parseSpeed)
    .action((options: UpOptions) => runUp(context, options));
  addPlainOptions(runtime.command("images").description("list the images of the embedded registry")).action(
    async () => {
      const { listImages } = await import("./images.js");
      const imagesIn = (say?: Say) => listImages(columnsOf(context.streams.stdout), say);
      context.print({ ...imagesIn(), text: (say) => imagesIn(say).text });
    },
  );
}

/** @throws InvalidArgumentError for an invalid image reference */
function parseImage(text: string): string {
  return checked(text, parseReference);
}

function parseNetwork(text: string): string {
  return checked(text, parseCidr);
}

function checked(text: string, check: (text: string) => unknown): string {
  try {
    check(text);
    return text;
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    throw new InvalidArgumentError(`${error.message}.`);
  }
}

function parseSeed(text: string): number {
  const seed = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(seed)) return seed;
  throw new InvalidArgumentError("expected a whole number from 0.");
}

async function runUp(context: CliContext, options: UpOptions): Promise<void> {
  const { speed } = options;
  const { clock, trace: own } = context.session(
    speed === undefined ? ((await clockOfNamedCluster(context.env)) ?? {}) : { speed },
  );
  const trace = traceOfNode(own, NODE_NAME);
  const { hostRuntime } = await import("../../cluster/runtime/host/host.js");
  const listen = options.listen ?? (await openDefaultEndpoint(context.env));
  await using runtime = await hostRuntime({
    clock,
    trace,
    listen,
    pullMs: options.pullTime,
    podCidr: options.podCidr,
    images: options.image ?? [],
    maxHeapMb: MAX_HEAP_MB,
    // Host ports and hostNetwork listeners of its pods are open on this machine, as on a node.
    network: {},
    ...defined({
      anyImage: options.images === "any",
      streamingAddress: options.streamingAddress,
      seed: options.seed,
      criVersion: options.criVersion,
    }),
    ...(options.rootDir === undefined ? {} : { rootDir: pathFrom(context.cwd, options.rootDir) }),
  });
  await using control = await openControl(runtime, trace, options);
  announce(context, trace, runtime, control?.url);
  await stay(context, { clock }, [untilAborted, ...(await keysOf(context, trace, runtime))]);
}

async function openControl(runtime: HostedRuntime, trace: Trace, { control }: UpOptions) {
  if (control === undefined) return undefined;
  const { serveControl } = await import("../../cluster/runtime/control/http.js");
  return serveControl(runtime.control, control, trace);
}

/** On a terminal, keys change the runtime without its kubelet's knowledge. */
async function keysOf(context: CliContext, trace: Trace, runtime: HostedRuntime): Promise<readonly Loop[]> {
  const { streams } = context;
  if (!hasKeys(streams)) return [];
  const { EmbeddedLab } = await import("../../testbed/runtime/embedded-lab.js");
  const keys = new LabKeys(new EmbeddedLab(runtime), trace);
  return [(signal) => serveKeys({ keys, stdin: streams.stdin, progress: context, clock: new SystemClock() }, signal)];
}

/** Prints the endpoint on stdout, for scripts. */
function announce(context: CliContext, trace: Trace, { endpoint }: HostedRuntime, control: string | undefined): void {
  const say = (text: string) => trace.emit({ kind: "note", text }, { actor: "user", level: 0 });
  say(`the embedded runtime listens; look with:\n  crictl --runtime-endpoint ${endpoint} pods`);
  if (control !== undefined) say(`show its state: curl ${control}/state; list the API: curl ${control}/`);
  context.print({ text: endpoint, json: { endpoint, ...defined({ control }) } });
}
