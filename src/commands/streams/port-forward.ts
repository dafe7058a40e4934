import { isIP } from "node:net";
import { type Command, InvalidArgumentError, Option } from "commander";
import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import type { PortForwardProtocol } from "../../staging/client-go/portforward/dialer.js";
import { forwardPorts, type ListeningPort } from "../../staging/client-go/portforward/portforward.js";
import {
  type ForwardedPort,
  parsePorts,
  type RequestedPort,
  resolvePorts,
  resolveServicePorts,
} from "../../staging/client-go/portforward/ports.js";
import { createClient } from "../../staging/client-go/rest/create-client.js";
import { LabError } from "../../util/errors.js";
import { factFor } from "../../util/release/facts.js";
import type { CliContext, CommandResult } from "../cli/context.js";
import { addExamples } from "../cli/examples.js";
import { addOutputOptions, addTargetOptions, targetOptions } from "../cli/options.js";
import { openStreamEnvironment, type StreamEnvironment } from "./environment.js";
import { type ForwardTarget, type FoundPod, findPod, parseForwardTarget } from "./forward-target.js";
import { addNamespaceOption, framesOption, type PodOptions } from "./options.js";
import { podPath, withPod } from "./pod.js";

interface PortForwardOptions extends PodOptions {
  readonly protocol?: PortForwardProtocol;
  readonly frames?: boolean;
  readonly address: readonly string[];
}

const LOOPBACK = "127.0.0.1";
const DEFAULT_ADDRESSES: readonly string[] = [LOOPBACK];
const UPSTREAM = { file: "staging/src/k8s.io/kubectl/pkg/cmd/portforward/portforward.go", func: "RunPortForward" };

/** `kubelab port-forward`: local ports that lead to ports of a pod, or of a service's. */
export function addPortForwardCommand(command: Command, context: CliContext): void {
  command
    .description(
      "Listens on this machine and carries each connection through API server, kubelet and runtime to a port of the pod, until Ctrl-C. Reports when a connection opens, how many bytes it carries, and how it ends. --json prints one list once all ports listen, each as {address, local, remote}.",
    )
    .argument("<target>", "name of the pod, or TYPE/NAME: pod, service, deployment, …; then one of its pods is chosen")
    .argument("<ports...>", "[LOCAL:]REMOTE, a number or a port's name; :REMOTE takes any free local port");
  addExamples(
    command,
    "kubelab port-forward nginx 8080:80       # then: curl 127.0.0.1:8080",
    "kubelab port-forward web 8080:http",
    "kubelab port-forward svc/web 8080:80     # a pod of the service",
    "kubelab port-forward nginx :80 --frames",
    "kubelab port-forward nginx 8080:80 --protocol spdy",
  );
  addNamespaceOption(addTargetOptions(addOutputOptions(command)))
    .addOption(
      new Option("--address <ips>", "local addresses to listen on: IPs or localhost, with commas; can be repeated")
        .argParser(addAddresses)
        .default(DEFAULT_ADDRESSES, LOOPBACK),
    )
    .addOption(
      new Option(
        "--protocol <name>",
        "tunnel (SPDY in a WebSocket) or spdy; without it, as kubectl does: spdy before 1.31, then tunnel with a fallback to spdy",
      ).choices(["tunnel", "spdy"]),
    )
    .addOption(framesOption())
    .action((text: string, ports: readonly string[], options: PortForwardOptions) =>
      runPortForward(context, text, ports, options),
    );
}

async function runPortForward(
  context: CliContext,
  text: string,
  ports: readonly string[],
  options: PortForwardOptions,
): Promise<void> {
  const forwarded = parseForwardTarget(text, options.namespace);
  const requested = parsePorts(ports);
  const target = targetOptions(options);
  // The sample pods are for commands that name them.
  const wanted = forwarded.type === "pod" ? forwarded.name : { namespace: options.namespace, name: text };
  await using environment = await openStreamEnvironment(context, "port-forward", target, wanted, "running");
  const { name, service } = await podOf(context, environment, forwarded);
  const step = { title: `Forward ports to ${name.name}`, upstream: UPSTREAM };
  await withPod(context, environment, name, step, async (pod) => {
    if (pod.status.phase !== "Running") {
      const message = `unable to forward port because pod is not running. Current status=${pod.status.phase ?? ""}`;
      throw new LabError("FAILED", message, "Wait until it runs: kubectl describe pod shows the reason.");
    }
    const { address, protocol, frames: showsFrames = false } = options;
    const protocols = protocolsOf(protocol, environment.kubeVersion);
    const path = podPath(name, "portforward");
    const addresses = address.map((one) => (one === "localhost" ? [LOOPBACK, "::1"] : [one]));
    const request = { path, addresses, ports: portsOf(requested, service, pod), protocols, showsFrames };
    await forwardPorts(environment.client, request, (opened) => context.print(listeningResult(opened)), context.signal);
  });
}

async function podOf(context: CliContext, { client }: StreamEnvironment, forwarded: ForwardTarget): Promise<FoundPod> {
  if (forwarded.type === "pod") return { name: forwarded.name, service: undefined };
  const { config, clock, random, trace } = client;
  const { kind, name } = forwarded;
  const upstream = {
    file: "staging/src/k8s.io/kubectl/pkg/polymorphichelpers/attachablepodforobject.go",
    func: "attachablePodForObject",
  };
  return trace.chapter("exec", () =>
    trace.step("user", `Choose a pod of the ${kind.kind.toLowerCase()} ${name.name}`, { upstream }, async () => {
      await using kube = createClient(config, { clock, random, trace, actor: "user" });
      return await findPod(kube, forwarded, context.signal);
    }),
  );
}

function portsOf(
  requested: readonly RequestedPort[],
  service: FoundPod["service"],
  pod: V1Pod,
): readonly ForwardedPort[] {
  return service === undefined ? resolvePorts(requested, pod) : resolveServicePorts(requested, service, pod);
}

/** The protocols of the kubectl of the cluster's release. @param kubeVersion undefined: unknown, so the newest kubectl's */
function protocolsOf(
  flag: PortForwardProtocol | undefined,
  kubeVersion: string | undefined,
): readonly PortForwardProtocol[] {
  if (flag !== undefined) return [flag];
  const isOld = kubeVersion !== undefined && !factFor("portForwardWebsockets", kubeVersion);
  return isOld ? ["spdy"] : ["tunnel", "spdy"];
}

/** No name is looked up elsewhere. Mirrors parseAddresses in client-go/tools/portforward/portforward.go. */
function addAddresses(text: string, before: readonly string[]): readonly string[] {
  const added = text.split(",");
  for (const one of added) {
    if (isIP(one) !== 0 || one === "localhost") continue;
    throw new InvalidArgumentError(`${one === "" ? "an empty text" : one} is not a valid IP.`);
  }
  return [...new Set(before === DEFAULT_ADDRESSES ? added : [...before, ...added])];
}

/** One document for all ports. Mirrors the lines of client-go/tools/portforward (listenOnPort). */
function listeningResult(opened: readonly ListeningPort[]): CommandResult {
  const lines = opened.map(({ address, local, remote }) => {
    const host = address.includes(":") ? `[${address}]` : address;
    return `Forwarding from ${host}:${local} -> ${remote}`;
  });
  return { text: lines.join("\n"), json: opened };
}
