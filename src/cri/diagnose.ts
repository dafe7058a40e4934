import { lstatSync } from "node:fs";
import type { Clock } from "../util/clock.js";
import { LabError } from "../util/errors.js";
import type { Endpoint } from "./endpoint.js";
import { type Probe, probeEndpoint } from "./probe.js";
import type { RpcFailure } from "./status.js";

const START_HINT =
  "Start the runtime or name its endpoint: containerd has unix:///run/containerd/containerd.sock, CRI-O unix:///var/run/crio/crio.sock; `kubelab runtime up` starts the embedded one.";

/**
 * Why an endpoint cannot be used, in one sentence: looks at the socket file, and says hello in HTTP/2 and in TLS.
 * @param failure what the call that failed brought
 * @throws the signal's reason
 */
export async function diagnoseEndpoint(
  endpoint: Endpoint,
  failure: RpcFailure,
  clock: Clock,
  signal: AbortSignal,
): Promise<LabError> {
  const says = (explanation: Explanation) =>
    new LabError("RUNTIME_UNREACHABLE", `${endpoint.url} ${explanation.says}`, explanation.hint, {
      cause: new Error(failure.text),
    });
  const file = endpoint.kind === "unix" ? explainFile(endpoint.path) : undefined;
  if (file !== undefined) return says(file);
  const probe = await probeEndpoint(endpoint, clock, signal);
  const explanation = explainProbe(probe, failure);
  const { speed = 1 } = clock;
  return says(probe.finds === "silence" && speed >= FAST ? { ...explanation, hint: fastHint(speed) } : explanation);
}

/** Two minutes of the kubelet's patience are a tenth of a second by the wall's clock: any runtime may need more. */
const FAST = 1000;

function fastHint(speed: number): string {
  return `With --speed ${speed} a kubelet's two minutes are ${Math.round(120_000 / speed)} ms: take a smaller one.`;
}

interface Explanation {
  readonly says: string;
  readonly hint: string;
}

const NO_PERMISSION: Explanation = {
  says: "may not be used by this user: permission denied",
  hint: "A runtime's socket belongs to root as a rule: run this as root, or let your user into the socket's group.",
};

/** What the socket file itself tells; undefined when it looks as it should. */
function explainFile(path: string): Explanation | undefined {
  try {
    const file = lstatSync(path);
    // A link is followed by connecting to it.
    if (file.isSocket() || file.isSymbolicLink()) return undefined;
    const kind = file.isDirectory() ? "a folder" : file.isFile() ? "a regular file" : "a special file";
    return { says: `is ${kind}, not a socket`, hint: START_HINT };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EACCES" || code === "EPERM") return NO_PERMISSION;
    return { says: "does not exist: no container runtime has made this socket", hint: START_HINT };
  }
}

function explainProbe(probe: Probe, failure: RpcFailure): Explanation {
  switch (probe.finds) {
    case "no-connection":
      return explainConnectError(probe.error);
    case "http1":
      return {
        says: "speaks HTTP/1, not gRPC",
        hint: "Another server is at this address: check the endpoint (a runtime's streaming and metrics ports are not it).",
      };
    case "tls":
      return {
        says: "speaks TLS, where a container runtime speaks in the clear",
        hint: "Another server (an API server, a kubelet) is at this address: check the endpoint.",
      };
    case "hang-up":
      return {
        says: "hangs up as soon as it is spoken to",
        hint: "Check that a container runtime is at this address.",
      };
    case "silence":
      return {
        says: "takes connections but does not answer",
        hint: "The runtime hangs, or something else is at this address: look at its process and its log.",
      };
    case "other":
      return {
        says: `does not speak gRPC: it says ${JSON.stringify(probe.greeting)}`,
        hint: "Another server is at this address: check the endpoint.",
      };
    case "http2":
      return {
        says: `does not answer as a container runtime: ${failure.text}`,
        hint: "Check the endpoint, and the runtime's log.",
      };
  }
}

function explainConnectError(error: NodeJS.ErrnoException): Explanation {
  switch (error.code) {
    case "EACCES":
    case "EPERM":
      return NO_PERMISSION;
    case "ECONNREFUSED":
      return { says: "refuses the connection: nobody listens there", hint: START_HINT };
    case "ENOENT":
      return { says: "is a link that leads nowhere", hint: START_HINT };
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return { says: "has a host name that cannot be resolved", hint: "Check the spelling of the host's name." };
    case "ETIMEDOUT":
      return { says: "does not answer: the connection timed out", hint: "Check the address and the network." };
    case "EHOSTUNREACH":
    case "ENETUNREACH":
      return { says: "cannot be reached: no route leads there", hint: "Check the address and the network." };
    default:
      return { says: `cannot be connected to: ${error.message}`, hint: START_HINT };
  }
}
