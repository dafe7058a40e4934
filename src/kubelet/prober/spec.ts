import type { V1Probe } from "@kubernetes/client-node";
import type { V1Container } from "../../staging/apimachinery/api/pod.js";
import type { Wire } from "../../staging/apimachinery/wire.js";

export type ProbeType = "liveness" | "readiness" | "startup";

export const PROBE_TYPES: readonly ProbeType[] = ["startup", "readiness", "liveness"];

/** @returns undefined if the container has no such probe */
export function probeOf(container: V1Container, type: ProbeType): Wire<V1Probe> | undefined {
  return container[`${type}Probe`] ?? undefined;
}

export type PortResult = { readonly port: number } | { readonly problem: string };

/** A number, the name of one of the container's ports, or a number as a string. Mirrors ResolveContainerPort in pkg/probe/util.go. */
export function resolveContainerPort(port: number | string, container: V1Container): PortResult {
  const ports = container.ports ?? [];
  const named = typeof port === "string" ? ports.find(({ name }) => name === port)?.containerPort : port;
  if (named === undefined && !/^[+-]?\d+$/.test(String(port))) {
    return { problem: `strconv.Atoi: parsing ${JSON.stringify(port)}: invalid syntax` };
  }
  const number = named ?? Number(port);
  return number > 0 && number < 65536 ? { port: number } : { problem: `invalid port number: ${number}` };
}
