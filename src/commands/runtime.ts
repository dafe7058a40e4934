import { dirname, join } from "node:path";
import { type Command, InvalidArgumentError, Option } from "commander";
import type { CliContext } from "../cli/context.js";
import { addOutputOptions, parseDuration, parsePath, parseSpeed } from "../cli/options.js";
import { type Loop, stay } from "../cli/stay.js";
import { RpcError } from "../cri/status.js";
import { parseReference } from "../runtime/images/reference.js";
import type { RunningRuntime } from "../runtime/start.js";
import { parseCidr } from "../runtime/state/cidr.js";
import { stateFolder } from "../testbed/state-folder.js";
import type { Trace } from "../trace/trace.js";
import { defined } from "../util/defined.js";
import { LabError } from "../util/errors.js";
import { describeFileError, makeFolder } from "../util/files.js";
import { untilAborted } from "../util/loops.js";
import { pathFrom } from "../util/paths.js";
import { hasKeys } from "./inspector/terminal-keys.js";
import { serveKeys } from "./pleg/keys.js";

interface UpOptions {
  readonly listen?: string;
  readonly control?: string;
  readonly streamingAddress?: string;
  readonly rootDir?: string;
  readonly pullTime: number;
  readonly image: readonly string[];
  readonly podCidr: string;
  readonly seed?: number;
  readonly speed?: number;
}

/** `kubelab runtime up`: the embedded container runtime as a server of its own. */
export function addRuntimeCommand(program: Command, context: CliContext): void {
  const runtime = program
    .command("runtime")
    .summary("run the embedded container runtime for a kubelet or crictl")
    .description(
      "Runs the embedded container runtime. It speaks the Container Runtime Interface: crictl, a kubelet and `kubelab pleg --cri` can use it. Its containers are simulated: they touch nothing of this machine but the logs and the mounts that their kubelet names.",
    );
  addOutputOptions(runtime.command("up").description("start it; Ctrl-C ends it. Prints its endpoint"))
    .addOption(
      new Option("--listen <endpoint>", "unix:///path or tcp://127.0.0.1:PORT; default: a socket in the state folder"),
    )
    .addOption(
      new Option(
        "--control <address>",
        "serve the control API there: 127.0.0.1:PORT, 0 for a free port; GET / lists its paths",
      ),
    )
    .addOption(
      new Option(
        "--streaming-address <address>",
        "address for exec, attach and port-forward (default: a free port of 127.0.0.1)",
      ),
    )
    .addOption(
      new Option("--root-dir <folder>", "folder for the runtime's files (default: a temporary folder)").argParser(
        parsePath,
      ),
    )
    .addOption(
      new Option("--pull-time <duration>", "how long a pull takes").argParser(parseDuration).default(400, "400ms"),
    )
    .addOption(
      new Option("--image <name>", "an image that exists from the start; can be repeated")
        .argParser((name: string, before: readonly string[]) => [...before, parseImage(name)])
        .default([], "none but pause"),
    )
    .addOption(new Option("--pod-cidr <network>", "addresses of pods").argParser(parseNetwork).default("10.244.0.0/16"))
    .addOption(new Option("--seed <number>", "derive all IDs from this number").argParser(parseSeed))
    .addOption(new Option("--speed <factor>", "run its clock this many times as fast").argParser(parseSpeed))
    .action((options: UpOptions) => runUp(context, options));
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

/** `$XDG_STATE_HOME/kubelab/runtime.sock`, by default below `~/.local/state`. */
function defaultEndpoint(env: CliContext["env"]): string {
  return `unix://${join(stateFolder(env), "runtime.sock")}`;
}

async function runUp(context: CliContext, options: UpOptions): Promise<void> {
  const { clock, trace } = context.session(defined({ speed: options.speed }));
  const { startRuntime } = await import("../runtime/start.js");
  const listen = options.listen ?? defaultEndpoint(context.env);
  if (options.listen === undefined) await makeSocketFolder(dirname(listen.slice("unix://".length)));
  await using runtime = await startRuntime({
    clock,
    trace,
    random: context.random,
    listen,
    pullMs: options.pullTime,
    podCidr: options.podCidr,
    images: options.image,
    ...defined({ streamingAddress: options.streamingAddress, seed: options.seed }),
    ...(options.rootDir === undefined ? {} : { rootDir: pathFrom(context.cwd, options.rootDir) }),
  });
  await using control = await openControl(runtime, options);
  announce(context, trace, runtime, control?.url);
  await stay(context, { clock }, [untilAborted, ...(await keysOf(context, trace, runtime))]);
}

async function makeSocketFolder(folder: string): Promise<void> {
  try {
    await makeFolder(folder, 0o700);
  } catch (cause) {
    const hint = "Name another with XDG_STATE_HOME, or an endpoint with --listen.";
    throw new LabError("BAD_FILE", `cannot make the folder ${folder}: ${describeFileError(cause)}`, hint, { cause });
  }
}

async function openControl(runtime: RunningRuntime, { control }: UpOptions) {
  if (control === undefined) return undefined;
  const { serveControl } = await import("../runtime/control/http.js");
  return serveControl(runtime.control, control);
}

/** On a terminal, keys change the runtime without its kubelet's knowledge. */
async function keysOf(context: CliContext, trace: Trace, runtime: RunningRuntime): Promise<readonly Loop[]> {
  const { streams } = context;
  if (!hasKeys(streams)) return [];
  const { EmbeddedLab } = await import("../testbed/runtime/embedded-lab.js");
  const lab = new EmbeddedLab(runtime);
  return [(signal) => serveKeys({ lab, trace, stdin: streams.stdin, progress: context }, signal)];
}

/** Prints the endpoint on stdout, for scripts. */
function announce(context: CliContext, trace: Trace, { endpoint }: RunningRuntime, control: string | undefined): void {
  const say = (text: string) => trace.emit({ kind: "note", text }, { actor: "user", level: 0 });
  say(`the embedded runtime listens; look with:\n  crictl --runtime-endpoint ${endpoint} pods`);
  if (control !== undefined) say(`show its state: curl ${control}/state; list the API: curl ${control}/`);
  context.print({ text: endpoint, json: { endpoint, ...defined({ control }) } });
}
