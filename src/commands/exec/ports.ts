import type { V1Pod } from "../../apimachinery/api/pod.js";
import { LabError } from "../../util/errors.js";
import { containerPorts } from "./pod.js";

export interface Forward {
  /** 0: any free one */
  readonly local: number;
  readonly remote: number;
}

/** As it was written: what is remote may be a name, which only the pod can tell. */
export interface WantedForward {
  /** undefined: the same as the remote one */
  readonly local: number | undefined;
  readonly remote: number | string;
}

/** A number, or an IANA service name as ports of a container have it. */
const WANTED = /^(?:(\d*):)?(?:(\d+)|([a-z0-9](?:[-a-z0-9]{0,13}[a-z0-9])?))$/;

/**
 * `80`, `8080:80`, `:80`, `8080:http`.
 *
 * Mirrors client-go/tools/portforward/portforward.go (parsePorts).
 * @throws LabError USAGE
 */
export function parseForwards(ports: readonly string[]): readonly WantedForward[] {
  return ports.map((text) => {
    const match = WANTED.exec(text);
    const [, before, digits, name] = match ?? [];
    const local = before === undefined ? undefined : Number(before);
    const remote = name ?? Number(digits);
    const isPort = typeof remote === "string" || (remote >= 1 && remote <= 65_535);
    if (match !== null && isPort && (local ?? 0) <= 65_535) return { local, remote };
    const hint = "Write it as 80, 8080:80, 8080:NAME, or :80 for any free port here.";
    throw new LabError("USAGE", `${JSON.stringify(text)} names no ports`, hint);
  });
}

/**
 * Finds what a pod's ports are called.
 *
 * Mirrors k8s.io/kubectl/pkg/cmd/portforward/portforward.go (convertPodNamedPortToNumber).
 * @throws LabError USAGE for a name that none of the pod's ports has
 */
export function resolveForwards(forwards: readonly WantedForward[], pod: V1Pod): readonly Forward[] {
  const ports = containerPorts(pod);
  return forwards.map(({ local, remote: wanted }) => {
    const remote = typeof wanted === "number" ? wanted : ports.find(({ name }) => name === wanted)?.containerPort;
    if (remote !== undefined) return { local: local ?? remote, remote };
    const named = ports.flatMap(({ name, containerPort }) =>
      name === undefined ? [] : [`${name} (${containerPort})`],
    );
    const hint = named.length === 0 ? "None of its ports has a name: use a number." : `It has: ${named.join(", ")}.`;
    throw new LabError("USAGE", `the pod ${pod.metadata.name} has no port of the name ${wanted}`, hint);
  });
}
