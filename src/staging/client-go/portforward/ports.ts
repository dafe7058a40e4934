import type { V1Service } from "@kubernetes/client-node";
import { LabError } from "../../../util/errors.js";
import { findPort, type V1Pod } from "../../apimachinery/api/pod.js";
import type { Wire } from "../../apimachinery/wire.js";

export interface ForwardedPort {
  /** 0: any free one */
  readonly local: number;
  readonly remote: number;
}

/** A port pair as the user wrote it. */
export interface RequestedPort {
  /** undefined: the same as the remote port */
  readonly local: number | undefined;
  /** a number, or the name of a container port */
  readonly remote: number | string;
}

/** The remote part is a number, or an IANA service name as container ports have it. */
const PORTS = /^(?:(\d*):)?(?:(\d+)|([a-z0-9](?:[-a-z0-9]{0,13}[a-z0-9])?))$/;

/**
 * Parses `80`, `8080:80`, `:80`, `8080:http`.
 *
 * Mirrors client-go/tools/portforward/portforward.go (parsePorts).
 * @throws LabError USAGE
 */
export function parsePorts(ports: readonly string[]): readonly RequestedPort[] {
  return ports.map((text) => {
    const match = PORTS.exec(text);
    const [, before, digits, name] = match ?? [];
    const local = before === undefined ? undefined : Number(before);
    const remote = name ?? Number(digits);
    const isPort = typeof remote === "string" || (remote >= 1 && remote <= 65_535);
    if (match !== null && isPort && (local ?? 0) <= 65_535) return { local, remote };
    const hint = "Write it as 80, 8080:80, 8080:NAME, or :80 for any free local port.";
    throw new LabError("USAGE", `${JSON.stringify(text)} is not a valid port argument`, hint);
  });
}

/**
 * Replaces port names with the numbers that the pod's containers declare.
 *
 * Mirrors k8s.io/kubectl/pkg/cmd/portforward/portforward.go (convertPodNamedPortToNumber).
 * @throws LabError USAGE if the pod has no port of that name
 */
export function resolvePorts(requested: readonly RequestedPort[], pod: V1Pod): readonly ForwardedPort[] {
  const declared = (pod.spec.containers ?? []).flatMap(
    (one) => (one["ports"] ?? []) as { readonly name?: string; readonly containerPort: number }[],
  );
  return requested.map(({ local, remote: wanted }) => {
    const remote = typeof wanted === "number" ? wanted : declared.find(({ name }) => name === wanted)?.containerPort;
    if (remote !== undefined) return { local: local ?? remote, remote };
    const named = declared.flatMap(({ name, containerPort }) =>
      name === undefined ? [] : [`${name} (${containerPort})`],
    );
    const hint = named.length === 0 ? "Its ports have no names: use a number." : `It has: ${named.join(", ")}.`;
    throw new LabError("USAGE", `the pod ${pod.metadata.name} has no port named ${wanted}`, hint);
  });
}

/**
 * Replaces the ports of a service with those of the pod behind it.
 *
 * Mirrors k8s.io/kubectl/pkg/cmd/portforward/portforward.go (translateServicePortToTargetPort, checkUDPPortInService).
 * @throws LabError USAGE if the service has no such port, or the pod no such target port
 */
export function resolveServicePorts(
  requested: readonly RequestedPort[],
  service: Wire<V1Service>,
  pod: V1Pod,
): readonly ForwardedPort[] {
  const ports = service.spec?.ports ?? [];
  const name = service.metadata.name ?? "";
  const known = ports.map((one) => (one.name === undefined ? `${one.port}` : `${one.name} (${one.port})`)).join(", ");
  return requested.map(({ local, remote: wanted }) => {
    const matching = ports.filter((one) => one.name === wanted || one.port === wanted);
    const found = matching.find(({ protocol = "TCP" }) => protocol === "TCP") ?? matching[0];
    if (found === undefined) {
      const what = typeof wanted === "number" ? `service port ${wanted}` : `named port ${wanted}`;
      throw new LabError("USAGE", `the service ${name} does not have a ${what}`, `It has: ${known}.`);
    }
    if (found.protocol === "UDP") {
      throw new LabError("USAGE", `UDP protocol is not supported for ${wanted}`, "Name a TCP port of the service.");
    }
    // Without a cluster IP, clients reach the pods at the port itself.
    const remote = service.spec?.clusterIP === "None" ? found.port : findPort(pod, { protocol: "TCP", ...found });
    if (remote !== undefined) return { local: local ?? found.port, remote };
    const why = `the pod ${pod.metadata.name} has no port named ${found.targetPort}`;
    throw new LabError(
      "USAGE",
      `${why}, to which port ${wanted} of the service leads`,
      "Its containers declare ports.",
    );
  });
}
