import assert from "node:assert/strict";
import { type Command, Help, InvalidArgumentError, Option } from "commander";
import type { TargetOptions } from "../../testbed/target/target.js";
import type { Level } from "../../trace/trace.js";
import { defined } from "../../util/defined.js";
import { LANGUAGES, type Language } from "../../util/i18n/language.js";
import { TRACE_ENDINGS } from "./trace-endings.js";

/** Flags of every command: how results and the trace are written. */
export interface OutputOptions {
  readonly json?: boolean;
  /** undefined: without -v, a terminal shows the calm form of level 1 */
  readonly verbosity?: Level;
  readonly trace?: string;
  /** port of the live page; true: a free one */
  readonly ui?: number | true;
  /** commander's form of --no-color */
  readonly color: boolean;
  /** of the trace; default: the terminal's language */
  readonly lang?: Language;
}

/** Headings of the help for flags that several commands have. The flags of one command alone come first. */
const OUTPUT_GROUP = "Output:";
const CLUSTER_GROUP = "Cluster:";
const NODE_GROUP = "Node:";

/** Adds --json, -v, --trace and --no-color. */
export function addOutputOptions(command: Command): Command {
  command.optionsGroup(OUTPUT_GROUP).option("--json", "print the result as one JSON document on stdout");
  return addTraceOptions(command);
}

/** Adds -v, --trace and --no-color, for a command whose stdout is another program's output. */
export function addTraceOptions(command: Command): Command {
  const levels =
    "trace: 0 errors, 1 steps with their reasons, 2 requests, 3 servers' decisions, 4 bodies (default: 1, on a terminal without reasons)";
  const grouped = command
    .configureHelp({ ...command.configureHelp(), groupItems })
    .optionsGroup(OUTPUT_GROUP)
    .option("-v, --verbosity <level>", levels, parseVerbosity)
    .option("-o, --trace <file>", `also write the trace to this file (${TRACE_ENDINGS})`, parsePath)
    .addOption(languageOption("of the trace"))
    .option("--no-color", "plain text (also: NO_COLOR)")
    .optionsGroup("");
  return addAlias(grouped, "--v", "--verbosity");
}

/** Adds another name for a flag, which no help lists. @param name `--v` @param of the flag's long name */
export function addAlias(command: Command, name: string, of: string): Command {
  const known = command.options.find(({ long }) => long === of);
  assert(known !== undefined, `${command.name()} has ${of}`);
  const alias = new Option(`${name} ${known.flags.slice(known.flags.indexOf("<"))}`).hideHelp();
  if (known.parseArg !== undefined) alias.argParser(known.parseArg);
  return command.addOption(alias).on(`option:${alias.name()}`, () => {
    const value: unknown = command.getOptionValue(alias.attributeName());
    command.setOptionValueWithSource(known.attributeName(), value, "cli");
  });
}

/** --lang */
export function languageOption(what: string): Option {
  return new Option("--lang <language>", `the language ${what}: en or zh (default: the terminal's)`).choices(LANGUAGES);
}

/** Adds --ui, for a command that keeps running. */
export function addUiOption(command: Command): Command {
  return command
    .optionsGroup(OUTPUT_GROUP)
    .option("--ui [port]", "show it live in a browser, at a port of 127.0.0.1 (default: a free one)", parsePort)
    .optionsGroup("");
}

/** Adds --json, --lang and --no-color, for a command that reports no facts. */
export function addPlainOptions(command: Command): Command {
  return command
    .configureHelp({ ...command.configureHelp(), groupItems })
    .optionsGroup(OUTPUT_GROUP)
    .option("--json", "print the result as one JSON document on stdout")
    .addOption(languageOption("of the result"))
    .option("--no-color", "plain text (also: NO_COLOR)")
    .optionsGroup("");
}

const KEPT_IN_ETCD = "keep the cluster in this etcd, and continue the one that it has: http://…[,…] (default: memory)";

/** Adds the flags that name the cluster's etcd. */
export function addEtcdOptions(command: Command, description = KEPT_IN_ETCD): Command {
  return command
    .option("--etcd <urls>", description)
    .option("--etcd-cafile <file>", "CA of etcd's certificate, for https://", parsePath)
    .option("--etcd-certfile <file>", "client certificate for etcd", parsePath)
    .option("--etcd-keyfile <file>", "its key", parsePath);
}

/** A command's own flags come first in its help, the flags for its output last. */
const groupItems: Help["groupItems"] = (all, visible, groupOf) => {
  const rank = (heading: string) => ["Options:", OUTPUT_GROUP].indexOf(heading);
  const order = [0, -1, 1];
  const groups = new Help().groupItems(all, visible, groupOf);
  return new Map([...groups].sort(([a], [b]) => order.indexOf(rank(a)) - order.indexOf(rank(b))));
};

/** Adds the flags that choose a cluster; see docs/targets.md. */
export function addTargetOptions(command: Command): Command {
  const grouped = command
    .optionsGroup(CLUSTER_GROUP)
    .option("--mock", "the embedded control plane (the default): a running one is joined, else one is started")
    .option("--kubeconfig <file>", "use the real cluster of this kubeconfig", parsePath)
    .option("--context <name>", "use the real cluster of this context")
    .option("--real", "use the real cluster that kubectl would use")
    .option("--cluster <name>", "use the running cluster of this name: see `kubelab cluster up`")
    .option("-y, --yes", "do not ask before writing to a real cluster")
    .option("--kube-version <release>", "behave like this release (embedded only; default: 1.25)")
    .option("--speed <factor>", "run every clock this many times as fast (embedded only)", parseSpeed);
  return addEtcdOptions(grouped).optionsGroup("");
}

/** Adds the resources that a kubelet reports; without --pods, its configuration's maxPods. */
export function addKubeletCapacityOptions(command: Command): Command {
  return addMachineOptions(command).addOption(podsOption()).optionsGroup("");
}

function addMachineOptions(command: Command): Command {
  return command
    .optionsGroup(NODE_GROUP)
    .option("--cpu <quantity>", "CPU capacity that the node reports", "100")
    .option("--memory <quantity>", "memory capacity that the node reports", "32Gi")
    .option("--disk <quantity>", "disk capacity that the node reports", "100Gi");
}

function podsOption(): Option {
  return new Option("--pods <number>", "pod capacity that the node reports");
}

/** Adds the flags for joining a cluster without its administrator's kubeconfig. */
export function addServerOptions(command: Command): Command {
  const collect = (value: string, list: readonly string[] = []) => [...list, value];
  return command
    .optionsGroup(CLUSTER_GROUP)
    .option("--server <url>", "join the cluster at this address, without a kubeconfig")
    .option("--token <token>", "bootstrap token (default: the administrator creates one)")
    .option("--ca-cert-hash <hash...>", "for --server: sha256:… of the public key of the cluster's CA", collect)
    .option("--bootstrap-kubeconfig <file>", "join with the token in this kubeconfig, as a kubelet does", parsePath)
    .optionsGroup("");
}

/** Adds the flags of a node that renews its Lease, for every command that may have to join one. */
export function addNodeOptions(command: Command): Command {
  const folder = "~/.local/state/kubelab/nodes/<name>";
  addNodeNameOption(command.optionsGroup(NODE_GROUP), "node-1")
    .option("--dir <folder>", `folder of kubelet.key, .pem and .config (default: ${folder})`, parsePath)
    .addOption(new Option("--out-dir <folder>").hideHelp().argParser(parsePath));
  return addMachineOptions(command)
    .addOption(podsOption().default("110"))
    .option("--jitter", "renew the Lease up to 4 % late at random, as upstream does")
    .optionsGroup("");
}

/** Adds --node, with its former name and the name of the kubelet's own flag as aliases. */
export function addNodeNameOption(command: Command, nodeName: string): Command {
  const named = command.option("--node <name>", "name of the node", nodeName);
  return addAlias(addAlias(named, "--name", "--node"), "--hostname-override", "--node");
}

/** Adds the flags of a kubelet that runs pods. */
export function addKubeletOptions(command: Command, nodeName: string): Command {
  return addNodeNameOption(addDurationOption(command), nodeName)
    .option("--manifest-dir <folder>", "static pods: a folder of manifests, or one manifest", parsePath)
    .option("--cri <endpoint>", "container runtime: unix:///path or tcp://host:port (default: embedded)");
}

export function addDurationOption(command: Command): Command {
  const description = "end this long after the start; a start that takes longer (and at least 10s) is an error";
  return command.option("--duration <time>", description, parseDuration);
}

/** An option with a duration. @param preset its default, as users write it: `1h` */
export function durationOption(flags: string, description: string, preset: string): Option {
  return new Option(flags, description).argParser(parseDuration).default(parseDuration(preset), preset);
}

/** Picks the target flags from a command's options. */
export function targetOptions(options: TargetOptions): TargetOptions {
  const { mock, kubeconfig, context, real, cluster, yes, kubeVersion, speed } = options;
  const { etcd, etcdCafile, etcdCertfile, etcdKeyfile } = options;
  const place = { etcd, etcdCafile, etcdCertfile, etcdKeyfile };
  return defined({ mock, kubeconfig, context, real, cluster, yes, kubeVersion, speed, ...place });
}

/** Accepts `-v=2` as Go's flags do. Levels of klog above kubelab's highest one count as the highest. */
function parseVerbosity(text: string): Level {
  const [, digits = ""] = /^=?(\d|10)$/.exec(text) ?? [];
  const level = digits === "" ? undefined : Math.min(Number(digits), 4);
  if (level === 0 || level === 1 || level === 2 || level === 3 || level === 4) return level;
  throw new InvalidArgumentError("expected 0, 1, 2, 3 or 4 (5 to 10 are as 4).");
}

export function parseSpeed(text: string): number {
  const factor = Number(text);
  if (Number.isFinite(factor) && factor >= 0.01 && factor <= 10_000) return factor;
  throw new InvalidArgumentError("expected a number from 0.01 to 10000, for example 10.");
}

/** @throws InvalidArgumentError: commander names the flag */
export function parsePort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError("expected a port from 0 to 65535.");
}

/**
 * Checks a path argument. An empty one, usually from an unset shell variable, would mean the current folder.
 * @throws InvalidArgumentError: commander names the flag
 */
export function parsePath(text: string): string {
  if (text.trim() !== "") return text;
  throw new InvalidArgumentError("expected a path: it is empty.");
}

const DURATION_UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The longest duration of Go: an int64 of nanoseconds. */
const MAX_DURATION_MS = 2 ** 63 / 1e6;

/**
 * Parses a duration as Go writes it (`90s`, `10m`, `1h30m`, `0`), plus days (`2d`).
 * @returns milliseconds
 * @throws InvalidArgumentError for anything else: commander names the flag
 */
export function parseDuration(text: string): number {
  if (text === "0") return 0;
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/gy)];
  if (parts.length === 0 || parts.map((part) => part[0]).join("") !== text) {
    throw new InvalidArgumentError("expected a duration such as 90s, 10m or 1h30m.");
  }
  const durationMs = parts.reduce((sum, part) => sum + Number(part[1]) * (DURATION_UNITS_MS[part[2] ?? ""] ?? 0), 0);
  if (durationMs <= MAX_DURATION_MS) return durationMs;
  throw new InvalidArgumentError("expected a duration of at most 292 years.");
}
