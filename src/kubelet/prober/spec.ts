import type { V1Container } from "../../apimachinery/api/pod.js";
import { listOf } from "../envvars/spec.js";

/** Probes as a pod's spec has them. Mirrors k8s.io/api/core/v1/types.go (Probe, ProbeHandler). */

export type ProbeType = "liveness" | "readiness" | "startup";

export interface HttpGetAction {
  readonly path?: string;
  readonly port: number | string;
  /** default: the pod's IP */
  readonly host?: string;
  readonly scheme?: string;
  readonly httpHeaders?: readonly { readonly name: string; readonly value: string }[] | null;
}

export interface ProbeSpec {
  readonly exec?: { readonly command?: readonly string[] } | null;
  readonly httpGet?: HttpGetAction | null;
  readonly tcpSocket?: { readonly port: number | string; readonly host?: string } | null;
  readonly grpc?: { readonly port: number; readonly service?: string | null } | null;
  readonly initialDelaySeconds?: number;
  readonly timeoutSeconds?: number;
  readonly periodSeconds?: number;
  readonly successThreshold?: number;
  readonly failureThreshold?: number;
}

export const PROBE_TYPES: readonly ProbeType[] = ["startup", "readiness", "liveness"];

/** @returns undefined: the container has no such probe */
export function probeOf(container: V1Container, type: ProbeType): ProbeSpec | undefined {
  const probe = container[`${type}Probe`];
  return typeof probe === "object" && probe !== null ? (probe as ProbeSpec) : undefined;
}

export type PortResult = { readonly port: number } | { readonly problem: string };

/** A number, the name of one of the container's ports, or a number as text. Mirrors ResolveContainerPort in pkg/probe/util.go. */
export function resolveContainerPort(port: number | string, container: V1Container): PortResult {
  const ports = listOf<{ readonly name?: string; readonly containerPort: number }>(container["ports"]);
  const named = typeof port === "string" ? ports.find(({ name }) => name === port)?.containerPort : port;
  if (named === undefined && !/^[+-]?\d+$/.test(String(port))) {
    return { problem: `strconv.Atoi: parsing ${JSON.stringify(port)}: invalid syntax` };
  }
  const number = named ?? Number(port);
  return number > 0 && number < 65536 ? { port: number } : { problem: `invalid port number: ${number}` };
}
