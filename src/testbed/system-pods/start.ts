import { join } from "node:path";
import { createClient } from "../../staging/client-go/rest/create-client.js";
import { collectionPath, NODES, objectPath, SERVICES } from "../../staging/client-go/rest/paths.js";
import type { Ctx } from "../../trace/ctx.js";
import { defined } from "../../util/defined.js";
import { makeFolder, writeFileAtomic } from "../../util/os/files.js";
import { stringify } from "../../util/yaml.js";
import { createUnlessThere } from "../create-unless-there.js";
import type { NodeSpec } from "../node/cluster-nodes.js";
import type { ClusterState } from "../target/cluster-state.js";
import type { Target } from "../target/target.js";
import { addons } from "./addons.js";
import { controlPlanePods } from "./static-pods.js";

const ROLE = "node-role.kubernetes.io/control-plane";
/** The first one; see `NodeNames` for those of other servers. */
export const CONTROL_PLANE_NODE = "control-plane";
/** the service of the name server */
const NAME_SERVER = "kubelab-name-server";
const SYSTEM_SERVICES = { ...SERVICES, namespace: "kube-system" };

/**
 * Writes the manifests of the control plane's static pods.
 * @param name of the node
 * @param folder of the cluster's nodes
 * @returns the node that runs them, as `kubeadm init` makes it. Mirrors InitConfiguration's default taint.
 */
export async function controlPlaneNode(
  name: string,
  folder: string,
  { admin, kubeVersion }: Target,
  { etcd }: Pick<ClusterState, "etcd">,
): Promise<NodeSpec> {
  const manifestDir = join(folder, `${name}-manifests`);
  await makeFolder(manifestDir, 0o700);
  for (const pod of controlPlanePods({ kubeVersion, url: admin.server, runsIn: whereItRuns(), ...defined({ etcd }) })) {
    await writeFileAtomic(join(manifestDir, `${pod.metadata?.name}.yaml`), stringify(pod));
  }
  return { name, labels: {}, taints: [{ key: ROLE, effect: "NoSchedule" }], manifestDir };
}

/**
 * Completes the control plane's node as `kubeadm init` does: labels it, and creates CoreDNS and kube-proxy.
 * Mirrors cmd/kubeadm/app/phases/markcontrolplane/markcontrolplane.go and addons.
 * @throws LabError REFUSED
 */
export async function createSystemPods(
  deps: Ctx,
  nodeName: string,
  { admin, kubeVersion }: Target,
  signal: AbortSignal,
): Promise<void> {
  await using client = createClient(admin, { ...deps, actor: "user" });
  const labels = { [ROLE]: "", "node.kubernetes.io/exclude-from-external-load-balancers": "" };
  await client.expect({
    method: "PATCH",
    path: objectPath(NODES, nodeName),
    contentType: "application/strategic-merge-patch+json",
    body: { metadata: { labels } },
    signal,
  });
  const path = objectPath(SYSTEM_SERVICES, NAME_SERVER);
  const { spec } = await client.expect<{ readonly spec: { readonly clusterIP: string } }>({
    method: "GET",
    path,
    signal,
  });
  for (const { resource, object } of addons({ kubeVersion, nameServer: spec.clusterIP, runsIn: whereItRuns() })) {
    const { apiVersion, metadata } = object;
    const collection = collectionPath({ apiVersion, resource, namespace: metadata.namespace ?? "" });
    await createUnlessThere(client, collection, object, signal);
  }
}

function whereItRuns(): string {
  return `process ${process.pid} of this machine`;
}
