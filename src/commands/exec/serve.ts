import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Command, Option } from "commander";
import type { CliContext } from "../../cli/context.js";
import { addOutputOptions } from "../../cli/options.js";
import type { RestConfig } from "../../client/client.js";
import { kubeconfigText } from "../../client/kubeconfig-text.js";
import { createCriClient } from "../../kubelet/cri/create-cri-client.js";
import { parseKubeVersion } from "../../release/facts.js";
import type { Trace } from "../../trace/trace.js";
import type { Clock } from "../../util/clock.js";
import { makeFolder, writeFileAtomic } from "../../util/files.js";
import { untilAborted } from "../../util/loops.js";
import { addExamples } from "../examples.js";
import { parsePort } from "./options.js";
import { PLAYED_PODS } from "./played-pods.js";
import { startTwoServers, type TwoServers } from "./two-servers.js";

interface ServeOptions {
  readonly apiserverPort: number;
  readonly kubeletPort: number;
  readonly plainHttp?: boolean;
  readonly cri?: string;
  readonly kubeVersion: string;
}

/** `kubelab exec serve`: the two servers of the chain, for other clients. */
export function addServeCommand(exec: Command, context: CliContext): void {
  const command = exec
    .command("serve")
    .summary("keep the API server and the kubelet's server up for other clients")
    .description(
      "Starts an API server and a kubelet's server in front of a container runtime and keeps them up: for kubectl, client-go or curl. Every request that goes through them is told. The pods are the sandboxes that the runtime has when it starts; nothing in it is changed.",
    );
  addExamples(
    command,
    "kubelab exec serve --apiserver-port 6443 --kubelet-port 9090",
    "kubelab exec serve --plain-http   # then: curl http://127.0.0.1:6443/version",
    "kubelab exec serve --cri unix:///run/containerd/containerd.sock",
  );
  addOutputOptions(command)
    .addOption(new Option("--apiserver-port <port>", "0: a free one").argParser(parsePort).default(6443))
    .addOption(new Option("--kubelet-port <port>", "0: a free one").argParser(parsePort).default(9090))
    .addOption(
      new Option("--plain-http", "both without TLS: whoever is on this machine may do everything (127.0.0.1 only)"),
    )
    .addOption(new Option("--cri <endpoint>", "a real runtime: unix:///path or tcp://host:port (default: embedded)"))
    .addOption(new Option("--kube-version <release>", "behave like this release").default("1.25"))
    .action((_options: unknown, self: Command) => runServe(context, self.optsWithGlobals<ServeOptions>()));
}

async function runServe(context: CliContext, options: ServeOptions): Promise<void> {
  const kubeVersion = parseKubeVersion(options.kubeVersion);
  const { clock, trace } = context.session({});
  const { random, signal } = context;
  await using runtime = options.cri === undefined ? await startPlayedRuntime(context, clock, trace) : undefined;
  const endpoint = options.cri ?? runtime?.endpoint ?? "";
  await using cri = await createCriClient(endpoint, { clock, trace, actor: "kubelet" }, {}, signal);
  const { apiserverPort: apiServerPort, kubeletPort, plainHttp = false } = options;
  await using servers = await startTwoServers(
    { clock, random, trace, cri },
    { kubeVersion, apiServerPort, kubeletPort, plainHttp },
    signal,
  );
  await using kubeconfig = await writeKubeconfig(servers, plainHttp);
  announce(context, trace, servers, kubeconfig.path, plainHttp);
  await untilAborted(signal);
}

/** The embedded runtime with the pods that are known by name, made behind everybody's back. */
async function startPlayedRuntime(context: CliContext, clock: Clock, trace: Trace) {
  const { startRuntime } = await import("../../runtime/start.js");
  const { random } = context;
  const logs = await mkdtemp(join(tmpdir(), "kubelab-serve-logs-"));
  const runtime = await startRuntime({ clock, trace, random, traceLevel: 2 });
  for (const [name, { containers }] of PLAYED_PODS) {
    const seeds = (containers ?? []).map(({ name: container, image = name }) => {
      return { name: container, image, logPath: `${container}.log` };
    });
    const logDirectory = join(logs, name);
    await makeFolder(logDirectory);
    runtime.control.runPod({ name, namespace: "default", uid: random.uuid(), logDirectory, containers: seeds });
  }
  const close = async () => {
    await runtime.close();
    await rm(logs, { recursive: true, force: true });
  };
  return { endpoint: runtime.endpoint, [Symbol.asyncDispose]: close };
}

/** For kubectl: goes with the servers. */
async function writeKubeconfig({ controlPlane, url }: TwoServers, plainHttp: boolean) {
  const folder = await mkdtemp(join(tmpdir(), "kubelab-serve-"));
  const path = join(folder, "kubeconfig");
  const config: RestConfig = plainHttp ? { server: url } : controlPlane.admin;
  const names = { cluster: "kubelab", user: "kubelab-admin", context: "kubelab" };
  await writeFileAtomic(path, kubeconfigText(config, names), { mode: 0o600 });
  return { path, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}

function announce(
  context: CliContext,
  trace: Trace,
  { url, kubeletUrl, pods }: TwoServers,
  kubeconfig: string,
  plainHttp: boolean,
): void {
  const say = (text: string) => trace.emit({ kind: "note", text }, { actor: "user", level: 0 });
  if (plainHttp) say("No TLS: whoever can connect on this machine may do everything there.");
  const names = pods.map(({ namespace, name }) => `${namespace}/${name}`);
  say(`API server ${url}, kubelet ${kubeletUrl}, pods: ${names.length === 0 ? "none" : names.join(", ")}`);
  say("Until Ctrl-C.");
  context.print({
    text: `kubectl --kubeconfig ${kubeconfig}`,
    json: { server: url, kubelet: kubeletUrl, kubeconfig, pods: names },
  });
}
