import { createCriClient } from "../../staging/cri/remote/create-cri-client.js";
import { NODE_NAME, RequestTrace } from "../../testbed/fixtures/request-trace.js";
import { type RuntimeServers, startRuntimeServers } from "../../testbed/fixtures/runtime-servers.js";
import type { ContainerRef, SandboxPod } from "../../testbed/fixtures/sandbox-pods.js";
import { traceOfNode } from "../../trace/view.js";
import { defined } from "../../util/defined.js";
import { LabError } from "../../util/errors.js";
import { parseKubeVersion } from "../../util/release/facts.js";
import type { CliContext } from "../cli/context.js";
import type { StreamEnvironment } from "./environment.js";
import { tellHops } from "./hops.js";

export interface CriEnvironmentOptions {
  readonly endpoint: string;
  readonly kubeVersion: string | undefined;
  /** `--speed` */
  readonly speed: number | undefined;
}

export interface FoundContainer {
  readonly pod: SandboxPod;
  readonly container: ContainerRef;
}

/** Access to one container of an existing runtime. */
export interface CriEnvironment extends StreamEnvironment {
  readonly found: FoundContainer;
}

/**
 * Starts an API server and a kubelet's server in front of a runtime, for one command.
 * @param wanted the container's name, or its ID or the beginning of that
 * @throws LabError RUNTIME_UNREACHABLE; USAGE unless exactly one container matches
 */
export async function openCriEnvironment(
  context: CliContext,
  wanted: string,
  { endpoint, kubeVersion: release, speed }: CriEnvironmentOptions,
): Promise<CriEnvironment> {
  const kubeVersion = parseKubeVersion(release ?? "1.25");
  const { clock, trace } = context.session(defined({ speed }));
  const story = new RequestTrace(trace);
  const ofNode = traceOfNode(story.trace, NODE_NAME);
  const { random, signal } = context;
  const cri = await createCriClient(endpoint, { clock, trace: ofNode, actor: "kubelet" }, {}, signal);
  try {
    const options = { kubeVersion, apiServerPort: 0, kubeletPort: 0, plainHttp: false };
    const servers = await startRuntimeServers({ clock, random, trace: ofNode, cri }, options, signal);
    const telling = tellHops(trace);
    const close = async () => {
      await servers[Symbol.asyncDispose]();
      await cri.close();
      // The servers report the end of the connection while they close.
      telling[Symbol.dispose]();
    };
    try {
      const { runtimeName, runtimeVersion } = cri.version;
      const text = `kubelab exec through an API server at ${servers.url} and a kubelet's server at ${servers.kubeletUrl} to ${runtimeName} ${runtimeVersion} at ${endpoint}`;
      trace.emit({ kind: "note", text }, { actor: "user" });
      for (const text of servers.leftOut) trace.emit({ kind: "note", text }, { actor: "user", level: 1 });
      const client = { config: servers.controlPlane.admin, clock, random, trace, story };
      const found = findContainer(servers, wanted, endpoint);
      const unknownPodHint = "The pod was removed meanwhile: run the command again.";
      return { client, unknownPodHint, kubeVersion, isPodStarted: false, found, [Symbol.asyncDispose]: close };
    } catch (error) {
      await servers[Symbol.asyncDispose]();
      throw error;
    }
  } catch (error) {
    await cri.close();
    throw error;
  }
}

/** @throws LabError USAGE */
function findContainer({ pods, leftOut }: RuntimeServers, wanted: string, endpoint: string): FoundContainer {
  const all = pods.flatMap((pod) =>
    pod.containers.filter(({ isRunning }) => isRunning).map((container) => ({ pod, container })),
  );
  const matches = all.filter(({ container }) => container.name === wanted || container.containerId.startsWith(wanted));
  const [first, second] = matches;
  const label = ({ pod, container }: FoundContainer) =>
    `${container.containerId.slice(0, 13)} (${container.name} of ${pod.namespace}/${pod.name})`;
  if (first !== undefined && second === undefined) return first;
  if (first !== undefined) {
    const hint = `Use the beginning of an ID: ${matches.map(label).join(", ")}`;
    throw new LabError("USAGE", `${JSON.stringify(wanted)} matches more than one container at ${endpoint}`, hint);
  }
  const running = all.length === 0 ? "No container runs there." : `Running: ${all.map(label).join(", ")}`;
  const hint = [running, ...leftOut].join("\n");
  throw new LabError("USAGE", `no running container at ${endpoint} has the name or ID ${JSON.stringify(wanted)}`, hint);
}
