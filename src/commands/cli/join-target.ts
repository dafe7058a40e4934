import { TOKEN_PATTERN } from "../../staging/cluster-bootstrap/token.js";
import type { JoinOptions, JoinPlan } from "../../testbed/node/join-plan.js";
import { releaseOf } from "../../testbed/target/server-release.js";
import type { Target, TargetOptions } from "../../testbed/target/target.js";
import { followAgentTime } from "../../testbed/time/agent-time.js";
import type { Trace } from "../../trace/trace.js";
import type { Clock } from "../../util/clock.js";
import { defined } from "../../util/defined.js";
import { LabError } from "../../util/errors.js";
import { pathFrom } from "../../util/os/paths.js";
import { OLDEST_RELEASE, parseKubeletVersion } from "../../util/release/facts.js";
import { oldestKubelet, skewProblem } from "../../util/release/skew.js";
import type { CliContext } from "./context.js";
import { targetOptions } from "./options.js";

/** The cluster that a node joins. */
export interface JoinTarget extends AsyncDisposable {
  /** undefined with --server: only the cluster's address is known */
  readonly target: Target | undefined;
  readonly clock: Clock;
  readonly trace: Trace;
  readonly kubeVersion: string;
}

/** @throws LabError USAGE */
function checkSkew(kubeletVersion: string, clusterVersion: string): void {
  const problem = skewProblem(kubeletVersion, clusterVersion);
  if (problem === undefined) return;
  throw new LabError(
    "USAGE",
    `the cluster is v${clusterVersion}; ${problem}`,
    `Use --kube-version ${oldestKubelet(clusterVersion)} to ${clusterVersion}.`,
  );
}

/**
 * Opens the cluster that the flags name, or announces the address that --server names. --kube-version is the kubelet's:
 * it may be older than the cluster.
 */
export async function openJoinTarget(
  context: CliContext,
  command: string,
  { discovery }: JoinPlan,
  options: TargetOptions,
): Promise<JoinTarget> {
  const { random } = context;
  const { kubeVersion: given, ...cluster } = targetOptions(options);
  const kubeletVersion = given === undefined ? undefined : parseKubeletVersion(given);
  if (discovery.kind !== "by-target") {
    const { clock, trace } = context.session({});
    await followAgentTime(clock, context.env, context.signal);
    const text = `kubelab ${command} on the cluster at ${discovery.server}`;
    trace.emit({ kind: "note", text }, { actor: "user" });
    const kubeVersion = kubeletVersion ?? OLDEST_RELEASE;
    return { target: undefined, clock, trace, kubeVersion, [Symbol.asyncDispose]: async () => {} };
  }
  const target = await context.openTarget(command, { ...cluster, ...defined({ kubeletVersion }) });
  const { clock, trace } = context.session({});
  try {
    const clusterVersion = await releaseOf(target, { clock, trace, random });
    const kubeVersion = kubeletVersion ?? clusterVersion;
    checkSkew(kubeVersion, clusterVersion);
    return { target, clock, trace, kubeVersion, [Symbol.asyncDispose]: () => target.close() };
  } catch (error) {
    await target.close();
    throw error;
  }
}

type BootstrapFlags = Pick<JoinOptions, "bootstrapKubeconfig" | "kubeconfig" | "context" | "server">;

/**
 * Loads the file of --bootstrap-kubeconfig, or of a --kubeconfig whose user has only a bootstrap token. The node then
 * requests its certificate as a kubelet does, without an administrator. Other flags stay unchanged.
 * @throws LabError BAD_FILE
 */
export async function withBootstrapIdentity<T extends BootstrapFlags>(context: CliContext, options: T): Promise<T> {
  const { bootstrapKubeconfig, kubeconfig, context: contextName, server } = options;
  const isNamed = typeof bootstrapKubeconfig === "string";
  const file = isNamed ? bootstrapKubeconfig : kubeconfig;
  if (file === undefined || (!isNamed && server !== undefined)) return options;
  const { loadKubeconfig } = await import("../../staging/client-go/clientcmd/kubeconfig.js");
  const { signal } = context;
  const loading = loadKubeconfig(pathFrom(context.cwd, file), { signal, ...defined({ context: contextName }) });
  if (isNamed) return { ...options, bootstrapKubeconfig: (await loading).config };
  // Opening the target reports what is wrong with the file.
  const config = await loading.then(
    (loaded) => loaded.config,
    () => undefined,
  );
  if (config?.clientCertificatePem !== undefined || !TOKEN_PATTERN.test(config?.token ?? "")) return options;
  const { kubeconfig: _file, context: _name, ...others } = options;
  return { ...(others as T), ...defined({ bootstrapKubeconfig: config }) };
}
