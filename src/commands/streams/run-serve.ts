import { rm } from "node:fs/promises";
import { join } from "node:path";
import { kubeconfigText } from "../../staging/client-go/clientcmd/kubeconfig-text.js";
import type { RestConfig } from "../../staging/client-go/rest/client.js";
import { createCriClient } from "../../staging/cri/remote/create-cri-client.js";
import { NODE_NAME } from "../../testbed/fixtures/request-trace.js";
import { type RuntimeServers, startRuntimeServers } from "../../testbed/fixtures/runtime-servers.js";
import { SAMPLE_PODS } from "../../testbed/fixtures/sample-pods.js";
import type { Trace } from "../../trace/trace.js";
import { traceOfNode } from "../../trace/view.js";
import { untilAborted } from "../../util/async/concurrency.js";
import type { Clock } from "../../util/clock.js";
import { makeFolder, writeFileAtomic } from "../../util/os/files.js";
import { makeTemporaryFolder } from "../../util/os/temporary-folder.js";
import { parseKubeVersion } from "../../util/release/facts.js";
import type { CliContext } from "../cli/context.js";
import { stay } from "../cli/stay.js";

export interface ServeOptions {
  readonly apiserverPort: number;
  readonly kubeletPort: number;
  readonly plainHttp?: boolean;
  readonly cri?: string;
  readonly kubeVersion: string;
}

/**
 * Starts the API server and the kubelet's server, prints their addresses, and keeps them up until Ctrl-C.
 * @throws LabError as `startRuntimeServers`
 */
export async function runServe(context: CliContext, options: ServeOptions): Promise<void> {
  const kubeVersion = parseKubeVersion(options.kubeVersion);
  const { clock, trace: own } = context.session({});
  const trace = traceOfNode(own, NODE_NAME);
  const { random, signal } = context;
  await using runtime = options.cri === undefined ? await startSampleRuntime(context, clock, trace) : undefined;
  const endpoint = options.cri ?? runtime?.endpoint ?? "";
  await using cri = await createCriClient(endpoint, { clock, trace, actor: "kubelet" }, {}, signal);
  const { apiserverPort: apiServerPort, kubeletPort, plainHttp = false } = options;
  await using servers = await startRuntimeServers(
    { clock, random, trace, cri },
    { kubeVersion, apiServerPort, kubeletPort, plainHttp },
    signal,
  );
  await using kubeconfig = await writeKubeconfig(servers, plainHttp);
  announce(context, trace, servers, kubeconfig.path, plainHttp);
  await stay(context, { clock, status: "the servers run" }, [untilAborted]);
}

/** Starts the embedded runtime with the sample pods, without an API server or a kubelet. */
async function startSampleRuntime(context: CliContext, clock: Clock, trace: Trace) {
  const { hostRuntime } = await import("../../cluster/runtime/host/host.js");
  const { random } = context;
  const logs = await makeTemporaryFolder("serve-logs");
  const runtime = await hostRuntime({ clock, trace, traceLevel: 2 });
  for (const [name, { containers }] of SAMPLE_PODS) {
    const seeds = (containers ?? []).map(({ name: container, image = name }) => {
      return { name: container, image, logPath: `${container}.log` };
    });
    const logDirectory = join(logs, name);
    await makeFolder(logDirectory);
    await runtime.control.runPod({ name, namespace: "default", uid: random.uuid(), logDirectory, containers: seeds });
  }
  const close = async () => {
    await runtime.close();
    await rm(logs, { recursive: true, force: true });
  };
  return { endpoint: runtime.endpoint, [Symbol.asyncDispose]: close };
}

/** Writes a kubeconfig for kubectl; disposing removes it. */
async function writeKubeconfig({ controlPlane, url }: RuntimeServers, plainHttp: boolean) {
  const folder = await makeTemporaryFolder("serve");
  const path = join(folder, "kubeconfig");
  const config: RestConfig = plainHttp ? { server: url } : controlPlane.admin;
  const names = { cluster: "kubelab", user: "kubelab-admin", context: "kubelab" };
  await writeFileAtomic(path, kubeconfigText(config, names), { mode: 0o600 });
  return { path, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}

function announce(
  context: CliContext,
  trace: Trace,
  { url, kubeletUrl, pods, leftOut }: RuntimeServers,
  kubeconfig: string,
  plainHttp: boolean,
): void {
  const note = (text: string) => trace.emit({ kind: "note", text }, { actor: "user", level: 0 });
  if (plainHttp) note("No TLS: every user of this machine has full access to the servers.");
  const names = pods.map(({ namespace, name }) => `${namespace}/${name}`);
  note(`API server ${url}, kubelet ${kubeletUrl}, pods: ${names.length === 0 ? "none" : names.join(", ")}`);
  for (const text of leftOut) note(text);
  context.print({
    text: `kubectl --kubeconfig ${kubeconfig}`,
    json: { server: url, kubelet: kubeletUrl, kubeconfig, pods: names },
  });
}
