import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import type { KubeClient } from "../../staging/client-go/rest/client.js";
import { collectionPath, NODES, objectPath, PODS } from "../../staging/client-go/rest/paths.js";

const SERVICE_ACCOUNT_PATIENCE_S = 30;
const CONFLICT = 409;

export interface RegisteredNode {
  readonly name: string;
  readonly kubeletPort: number;
  readonly kubeVersion: string;
}

/** Creates the Node with the address of the kubelet's server. @throws LabError as the API client */
export async function registerNode(
  client: KubeClient,
  { name, kubeletPort, kubeVersion }: RegisteredNode,
  signal: AbortSignal,
): Promise<void> {
  const body = {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, labels: { "kubernetes.io/hostname": name } },
    status: {
      addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
      daemonEndpoints: { kubeletEndpoint: { Port: kubeletPort } },
      nodeInfo: { kubeletVersion: `v${kubeVersion}.0` },
      conditions: [{ type: "Ready", status: "True", reason: "KubeletReady" }],
    },
  };
  await client.expect({ method: "POST", path: collectionPath(NODES), body, signal });
  const path = objectPath(NODES, name, "status");
  const contentType = "application/merge-patch+json";
  await client.expect({ method: "PATCH", path, body: { status: body.status }, contentType, signal });
}

/** Creates an API object and its namespace for a pod that runs already. @throws LabError as the API client */
export async function registerPod(client: KubeClient, pod: V1Pod, signal: AbortSignal): Promise<void> {
  const { namespace, name } = pod.metadata;
  const namespaces = { apiVersion: "v1", resource: "namespaces" };
  const made = await client.request({
    method: "POST",
    path: collectionPath(namespaces),
    body: { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
    signal,
  });
  if (made.status !== CONFLICT && made.status >= 300) {
    await client.expect({ method: "GET", path: objectPath(namespaces, namespace), signal });
  }
  await untilAccount(client, namespace, signal);
  const { spec, status } = pod;
  const body = { apiVersion: "v1", kind: "Pod", metadata: { name, namespace }, spec };
  await client.expect({ method: "POST", path: collectionPath({ ...PODS, namespace }), body, signal });
  const path = objectPath({ ...PODS, namespace }, name, "status");
  await client.expect({ method: "PATCH", path, body: { status }, contentType: "application/merge-patch+json", signal });
}

/** Waits for the namespace's service account, without which admission refuses pods. */
export async function untilAccount(client: KubeClient, namespace: string, signal: AbortSignal): Promise<void> {
  const path = collectionPath({ apiVersion: "v1", resource: "serviceaccounts", namespace });
  const query = { fieldSelector: "metadata.name=default", timeoutSeconds: SERVICE_ACCOUNT_PATIENCE_S };
  for await (const { type } of client.watch(path, query, signal)) if (type === "ADDED") return;
}
