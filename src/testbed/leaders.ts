import type { V1Lease } from "@kubernetes/client-node";
import type { Wire } from "../apimachinery/wire.js";
import { electionIdentity } from "../client-go/leaderelection/identity.js";
import type { RestConfig } from "../client-go/rest/client.js";
import { createClient } from "../client-go/rest/create-client.js";
import { objectPath } from "../client-go/rest/paths.js";
import type { Ctx } from "../trace/ctx.js";
import { clusterServerId } from "./cluster-state.js";

const LEASES = { apiVersion: "coordination.k8s.io/v1", resource: "leases", namespace: "kube-system" } as const;
const COMPONENTS = ["kube-controller-manager", "kube-scheduler"];

export interface LeaderLine {
  readonly component: string;
  /** "": none */
  readonly holder: string;
  /** it is the server that runs as the cluster */
  readonly isHere: boolean;
}

/** The name in elections of the server that runs as this cluster. */
export function electedName(env: Parameters<typeof clusterServerId>[0], cluster: string): string {
  return electionIdentity(clusterServerId(env, cluster));
}

/** Which server runs the controllers, and which the scheduler. @throws LabError CLUSTER_UNREACHABLE, UNAUTHORIZED */
export async function listLeaders(
  config: RestConfig,
  deps: Ctx,
  own: string,
  signal: AbortSignal,
): Promise<readonly LeaderLine[]> {
  await using client = createClient(config, { ...deps, actor: "user" });
  const holderOf = async (component: string) => {
    const path = objectPath(LEASES, component);
    const { status, body } = await client.request<Wire<V1Lease>>({ method: "GET", path, signal });
    const holder = status === 200 ? (body.spec?.holderIdentity ?? "") : "";
    return { component, holder, isHere: holder === own };
  };
  return await Promise.all(COMPONENTS.map(holderOf));
}
