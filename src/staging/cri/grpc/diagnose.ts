import { lstatSync } from "node:fs";
import type { Clock } from "../../../util/clock.js";
import { LabError } from "../../../util/errors.js";
import type { Endpoint } from "./endpoint.js";
import { type Probe, probeEndpoint } from "./probe.js";
import type { RpcFailure } from "./status.js";

const START_HINT =
  "Start the runtime or name its endpoint: containerd has unix:///run/containerd/containerd.sock, CRI-O unix:///var/run/crio/crio.sock; `kubelab runtime up` starts the embedded one.";

/**
 * Explains in one sentence why an endpoint cannot be used: checks the socket file, then tries HTTP/2 and TLS.
 * @param failure the failure of the first call
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

/** At this speed the kubelet's two minutes are 0.12 s of real time, which may be too short for any runtime. */
const FAST = 1000;

function fastHint(speed: number): string {
  return `With --speed ${speed} a kubelet's two minutes are ${Math.round(120_000 / speed)} ms: use a lower speed.`;
}

interface Explanation {
  readonly says: string;
  readonly hint: string;
}

const NO_PERMISSION: Explanation = {
  says: "cannot be used by this user: permission denied",
  hint: "A runtime's socket usually belongs to root: run this as root, or add your user to the socket's group.",
};

/** Explains the problem of the socket file; undefined if it is a socket. */
function explainFile(path: string): Explanation | undefined {
  try {
    const file = lstatSync(path);
    // Connecting follows a link.
    if (file.isSocket() || file.isSymbolicLink()) return undefined;
    const kind = file.isDirectory() ? "a folder" : file.isFile() ? "a regular file" : "a special file";
    return { says: `is ${kind}, not a socket`, hint: START_HINT };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EACCES" || code === "EPERM") return NO_PERMISSION;
    return { says: "does not exist: no container runtime has created this socket", hint: START_HINT };
  }
}

function explainProbe(probe: Probe, failure: RpcFailure): Explanation {
  switch (probe.finds) {
    case "no-connection":
      return explainConnectError(probe.error);
    case "http1":
      return {
        says: "speaks HTTP/1, not gRPC",
        hint: "Another server is at this address: check the endpoint (it is not the runtime's streaming or metrics port).",
      };
    case "tls":
      return {
        says: "speaks TLS, but a container runtime speaks plain text",
        hint: "Another server (an API server, a kubelet) is at this address: check the endpoint.",
      };
    case "hang-up":
      return {
        says: "closes the connection immediately",
        hint: "Check that a container runtime is at this address.",
      };
    case "silence":
      return {
        says: "accepts connections but does not answer",
        hint: "The runtime hangs, or another program is at this address: check its process and its log.",
      };
    case "other":
      return {
        says: `does not speak gRPC: it answers ${JSON.stringify(probe.greeting)}`,
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
      return { says: "refuses the connection: no server is listening", hint: START_HINT };
    case "ENOENT":
      return { says: "is a dangling symbolic link", hint: START_HINT };
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return { says: "has a host name that cannot be resolved", hint: "Check the spelling of the host's name." };
    case "ETIMEDOUT":
      return { says: "does not answer: the connection timed out", hint: "Check the address and the network." };
    case "EHOSTUNREACH":
    case "ENETUNREACH":
      return { says: "cannot be reached: there is no route to the host", hint: "Check the address and the network." };
    default:
      return { says: `cannot be connected to: ${error.message}`, hint: START_HINT };
  }
}
