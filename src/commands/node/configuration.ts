import { type KubeletConfiguration, setDefaults } from "../../kubelet/apis/config/defaults.js";
import type { ConfigField, KubeletConfigurationFields } from "../../kubelet/apis/config/fields.js";
import type { ConfigFile } from "../../kubelet/apis/config/load.js";
import { aggregateText } from "../../kubelet/sync/runtime-state.js";
import { type JoinDefaults, type JoinPlan, planJoin } from "../../testbed/node/join-plan.js";
import { joinFields, type MachineKind } from "../../testbed/node/kubelet-config.js";
import type { Trace } from "../../trace/trace.js";
import { defined } from "../../util/defined.js";
import { LabError } from "../../util/errors.js";
import { pathFrom } from "../../util/os/paths.js";
import type { CliContext } from "../cli/context.js";
import { kubeletFields, mergedFields } from "./kubelet-flags.js";
import { type NodeCommandOptions, toJoinOptions } from "./options.js";

/** The kubelet's configuration in force, and where it comes from. */
export interface NodeConfiguration {
  readonly config: KubeletConfiguration;
  readonly file: ConfigFile | undefined;
  /** what the flags set */
  readonly flags: KubeletConfigurationFields;
  /** ports that the file or a flag names */
  readonly fixedPorts: readonly ConfigField[];
}

const PORTS = ["port", "readOnlyPort", "healthzPort"] as const satisfies readonly ConfigField[];

/**
 * The configuration of `kubelab node`. Flags override the file, which overrides kubelab's own values, which override upstream's defaults.
 * @throws LabError BAD_FILE, with all that is wrong
 */
export async function readConfiguration(
  { cwd }: Pick<CliContext, "cwd">,
  options: NodeCommandOptions,
  kubeVersion: string,
): Promise<NodeConfiguration> {
  const file = options.config === undefined ? undefined : await readFile(pathFrom(cwd, options.config), kubeVersion);
  const machine: MachineKind = options.cri === undefined ? "simulated" : "real";
  const own = Object.entries(joinFields(machine)).filter(([name]) => !file?.named.includes(name as ConfigField));
  const flags = fieldsOfFlags(cwd, options);
  const config = setDefaults(mergedFields({ ...Object.fromEntries(own), ...file?.fields }, flags), kubeVersion);
  if (file !== undefined || Object.keys(flags).length > 0) await checkConfiguration(config, file, kubeVersion);
  await checkThresholds(config, kubeVersion, { file, flags });
  const isNamed = (name: ConfigField) => flags[name] !== undefined || file?.named.includes(name) === true;
  return { config, file, flags, fixedPorts: PORTS.filter(isNamed) };
}

/**
 * Reads a node's configuration and plans how it joins: everything that `kubelab node` refuses before it contacts the cluster.
 * @throws LabError USAGE, BAD_FILE
 */
export async function readNode(
  options: NodeCommandOptions,
  place: JoinDefaults,
  kubeVersion: string,
): Promise<NodeConfiguration & { readonly plan: JoinPlan }> {
  const { checkNodeAllocatable } = await import("../../kubelet/cm/reservations.js");
  const { checkNamedFiles } = await import("../../kubelet/app/named-files.js");
  const configuration = await readConfiguration(place, options, kubeVersion);
  const { config } = configuration;
  const plan = planJoin(toJoinOptions(options, config), place);
  checkNodeAllocatable(config, plan.resources);
  await checkNamedFiles(config);
  return { ...configuration, plan };
}

async function readFile(path: string, kubeVersion: string): Promise<ConfigFile> {
  const { loadConfigFile } = await import("../../kubelet/apis/config/load.js");
  return loadConfigFile(path, kubeVersion);
}

/** @throws LabError BAD_FILE, without a file USAGE, with all that is wrong with the configuration */
async function checkConfiguration(
  config: KubeletConfiguration,
  file: ConfigFile | undefined,
  kubeVersion: string,
): Promise<void> {
  const { validateKubeletConfiguration } = await import("../../kubelet/apis/config/validation.js");
  const problems = validateKubeletConfiguration(config, kubeVersion);
  if (problems.length === 0) return;
  const message = `failed to validate kubelet configuration, error: ${aggregateText(problems)}`;
  if (file === undefined) throw new LabError("USAGE", message, "`kubelab node config` prints the defaults.");
  const hint = "Mend the file: `kubelab node config` prints one with the defaults.";
  throw new LabError("BAD_FILE", `${message}, path: ${file.path}`, hint);
}

/** Where the fields of a configuration come from. */
interface Sources {
  readonly file: ConfigFile | undefined;
  readonly flags: KubeletConfigurationFields;
}

const SYSCTLS_HINT = "Name sysctls of a namespace, such as net.core.somaxconn or kernel.msg*.";

const FILE_HINT =
  'A threshold in a file: `evictionHard: {memory.available: 500Mi, nodefs.available: "10%"}`; a grace period: `memory.available: 1m30s`.';

/** Upstream checks these when it creates the kubelet; kubelab checks them before the node joins. @throws LabError USAGE, BAD_FILE */
async function checkThresholds(
  config: KubeletConfiguration,
  kubeVersion: string,
  { file, flags }: Sources,
): Promise<void> {
  const { evictionConfig } = await import("../../kubelet/eviction/config.js");
  const { checkImageGcPolicy, imageGcPolicy } = await import("../../kubelet/images/image-gc-policy.js");
  const { logRotatePolicy } = await import("../../kubelet/logs/container-log-manager.js");
  const { checkReserved } = await import("../../kubelet/cm/reservations.js");
  const { StatementError } = await import("../../kubelet/eviction/parse.js");
  const { allowedSysctlsProblem } = await import("../../kubelet/lifecycle/sysctl-allowlist.js");
  const problem = allowedSysctlsProblem(config.allowedUnsafeSysctls ?? []);
  if (problem !== undefined) throw new LabError("USAGE", problem, SYSCTLS_HINT);
  try {
    evictionConfig(config, kubeVersion);
  } catch (error) {
    const cause = error instanceof LabError ? error.cause : undefined;
    if (!(cause instanceof StatementError)) throw error;
    const { field, statement } = cause;
    const isOfFile = file?.named.includes(field) === true && flags[field] === undefined;
    if (isOfFile) throw new LabError("BAD_FILE", `${file.path}: ${cause.message}`, FILE_HINT, { cause });
    const flag = `--${field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    throw new LabError("USAGE", `${flag} ${statement}`, (error as LabError).hint, { cause });
  }
  logRotatePolicy(config);
  checkReserved(config);
  checkImageGcPolicy(imageGcPolicy(config));
}

/** The fields that a flag of the command line sets. */
function fieldsOfFlags(cwd: string, options: NodeCommandOptions): KubeletConfigurationFields {
  const { manifestDir, manifestUrl, port, pods, registerWithTaints, registerNode } = options;
  const fields = defined({
    staticPodPath: manifestDir === undefined ? undefined : pathFrom(cwd, manifestDir),
    staticPodURL: manifestUrl,
    port: port === 0 ? undefined : port,
    serverTLSBootstrap: options.rotateServerCertificates,
    clusterDNS: options.clusterDns,
    clusterDomain: options.clusterDomain,
    maxPods: pods === undefined ? undefined : Number(pods),
    registerWithTaints,
    registerNode,
  });
  const absolute = (path: string | undefined) => (path ? pathFrom(cwd, path) : path);
  const { authentication, tlsCertFile, tlsPrivateKeyFile, resolvConf, ...others } = kubeletFields(options);
  const clientCAFile = absolute(authentication?.x509?.clientCAFile);
  const files = defined({
    tlsCertFile: absolute(tlsCertFile),
    tlsPrivateKeyFile: absolute(tlsPrivateKeyFile),
    resolvConf: absolute(resolvConf),
    authentication: clientCAFile === undefined ? authentication : { ...authentication, x509: { clientCAFile } },
  });
  return { ...others, ...files, ...fields };
}

/** Reports fields of the file and of flags that this kubelet does not know or ignores. */
export async function reportConfiguration({ file, flags }: NodeConfiguration, trace: Trace): Promise<void> {
  const { withoutEffect } = await import("../../kubelet/apis/config/effects.js");
  const named = Object.keys(flags) as ConfigField[];
  const ignored = withoutEffect({ named, fields: flags });
  if (ignored.length > 0) {
    trace.emit(
      { kind: "note", text: `Flags set fields without an effect in this kubelet: ${ignored.join(", ")}.` },
      ACTOR,
    );
  }
  if (file !== undefined) reportFile(file, withoutEffect(file), trace);
}

function reportFile({ path, named, warning }: ConfigFile, idle: readonly string[], trace: Trace): void {
  const upstream = { file: "cmd/kubelet/app/server.go", func: "loadConfigFile" };
  const what = `configure the kubelet by ${path}`;
  trace.emit({ kind: "decision", what, why: `--config names it; it sets ${named.join(", ")}`, upstream }, ACTOR);
  if (warning !== undefined) {
    const hint = "The kubelet continues without them.";
    trace.emit({ kind: "error", message: warning, hint }, { ...ACTOR, level: 0 });
  }
  if (idle.length === 0) return;
  trace.emit({ kind: "note", text: `Fields of ${path} without an effect in this kubelet: ${idle.join(", ")}.` }, ACTOR);
}

const ACTOR = { actor: "kubelet" } as const;
