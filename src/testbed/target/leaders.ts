import type { V1Endpoints, V1Lease } from "@kubernetes/client-node";
import type { Wire } from "../../staging/apimachinery/wire.js";
import { electionIdentity } from "../../staging/client-go/leaderelection/identity.js";
import type { RestConfig } from "../../staging/client-go/rest/client.js";
import { createClient } from "../../staging/client-go/rest/create-client.js";
import { objectPath } from "../../staging/client-go/rest/paths.js";
import type { Ctx } from "../../trace/ctx.js";
import { defined } from "../../util/defined.js";
import { clusterNames, clusterServerId } from "./cluster-state.js";

const LEASES = { apiVersion: "coordination.k8s.io/v1", resource: "leases", namespace: "kube-system" } as const;
const SERVERS = { apiVersion: "v1", resource: "endpoints", namespace: "default" } as const;
const COMPONENTS = ["kube-controller-manager", "kube-scheduler"];

export interface LeaderLine {
  readonly component: string;
  /** "": none */
  readonly holder: string;
  /** it is the cluster's own server */
  readonly isHere: boolean;
  /** it runs as this cluster of the same state folder */
  readonly cluster?: string;
}

/** The clusters of a state folder by the names that their servers have in elections. */
export async function electedClusters(
  env: Parameters<typeof clusterServerId>[0],
): Promise<ReadonlyMap<string, string>> {
  const names = await clusterNames(env);
  return new Map(names.map((name) => [electionIdentity(clusterServerId(env, name)), name]));
}

/**
 * The servers that run the controllers and the scheduler.
 * @param clusters see `electedClusters`
 * @param own the cluster that answers
 * @throws LabError CLUSTER_UNREACHABLE, UNAUTHORIZED
 */
export async function listLeaders(
  config: RestConfig,
  deps: Ctx,
  { clusters, own }: { readonly clusters: ReadonlyMap<string, string>; readonly own: string },
  signal: AbortSignal,
): Promise<readonly LeaderLine[]> {
  await using client = createClient(config, { ...deps, actor: "user" });
  const holderOf = async (component: string) => {
    const path = objectPath(LEASES, component);
    const { status, body } = await client.request<Wire<V1Lease>>({ method: "GET", path, signal });
    const holder = status === 200 ? (body.spec?.holderIdentity ?? "") : "";
    const cluster = clusters.get(holder);
    return { component, holder, isHere: cluster === own, ...defined({ cluster }) };
  };
  return await Promise.all(COMPONENTS.map(holderOf));
}

/** The addresses of the cluster's API servers, as its service has them. @throws LabError CLUSTER_UNREACHABLE, UNAUTHORIZED */
export async function listServers(config: RestConfig, deps: Ctx, signal: AbortSignal): Promise<readonly string[]> {
  await using client = createClient(config, { ...deps, actor: "user" });
  const path = objectPath(SERVERS, "kubernetes");
  const { status, body } = await client.request<Wire<V1Endpoints>>({ method: "GET", path, signal });
  const subsets = status === 200 ? (body.subsets ?? []) : [];
  return subsets.flatMap(({ addresses = [], ports = [] }) =>
    addresses.flatMap(({ ip }) => ports.map(({ port }) => `https://${ip.includes(":") ? `[${ip}]` : ip}:${port}`)),
  );
}
