import { base64Text, type CertificateSigningRequest } from "../../../../staging/apimachinery/api/certificates.js";
import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import type { KubeClient } from "../../../../staging/client-go/rest/client.js";
import {
  CSRS,
  collectionPath,
  NODE_LEASES,
  NODES,
  objectPath,
  PODS,
  type ResourceRef,
  withQuery,
} from "../../../../staging/client-go/rest/paths.js";
import { parseCertificateRequestPem } from "../../../../staging/pki/csr.js";
import { joinDescription } from "../../../../testbed/target/administrator.js";
import { defined } from "../../../../util/defined.js";

const NODE_PATH = `${collectionPath(NODES)}/`;
const TOKENS: ResourceRef = { apiVersion: "v1", resource: "secrets", namespace: "kube-system" };
const OF_TOKENS = "type=bootstrap.kubernetes.io/token";

interface List<T> {
  readonly items: readonly T[];
}

type TokenSecret = KubeObject & { readonly data?: { readonly description?: string } };

/** undefined: not the path of a node */
export function nodeAt(path: string): string | undefined {
  return path.startsWith(NODE_PATH) ? path.slice(NODE_PATH.length) : undefined;
}

/**
 * The nodes and their objects. Pods come first, because a removed node cannot delete its pods. Then certificate
 * requests, leases, and the token of a node that was joining.
 * @param earlier UIDs of certificate requests that existed before
 */
export async function thingsOfNodes(
  client: KubeClient,
  nodes: readonly string[],
  earlier: ReadonlySet<string>,
): Promise<readonly string[]> {
  if (nodes.length === 0) return [];
  const paths: string[] = [];
  for (const node of nodes) {
    const pods = withQuery(collectionPath(PODS), { fieldSelector: `spec.nodeName=${node}` });
    for (const { metadata } of await itemsOf<KubeObject>(client, pods)) {
      paths.push(objectPath({ ...PODS, namespace: metadata.namespace ?? "default" }, metadata.name ?? ""));
    }
  }
  for (const csr of await certificateRequests(client)) {
    if (earlier.has(csr.metadata.uid ?? "") || !nodes.some((node) => isOfNode(csr, node))) continue;
    paths.push(objectPath(CSRS, csr.metadata.name ?? ""));
  }
  const tokens = withQuery(collectionPath(TOKENS), { fieldSelector: OF_TOKENS });
  for (const { metadata, data } of await itemsOf<TokenSecret>(client, tokens)) {
    const description = base64Text(data?.description ?? "");
    if (nodes.some((node) => description === joinDescription(node)))
      paths.push(objectPath(TOKENS, metadata.name ?? ""));
  }
  return [...paths, ...nodes.flatMap((node) => [objectPath(NODES, node), objectPath(NODE_LEASES, node)])];
}

export function certificateRequests(
  client: KubeClient,
  signal?: AbortSignal,
): Promise<readonly CertificateSigningRequest[]> {
  return itemsOf(client, collectionPath(CSRS), signal);
}

/** Also empty without the right to list them. */
async function itemsOf<T>(client: KubeClient, path: string, signal?: AbortSignal): Promise<readonly T[]> {
  const given = defined({ signal });
  const { body, status } = await client.request<List<T>>({ method: "GET", path, ...given });
  return status < 300 ? body.items : [];
}

/** Whether the node requested it, or the request is for the node. */
function isOfNode({ spec }: CertificateSigningRequest, node: string): boolean {
  const user = `system:node:${node}`;
  if (spec.username === user) return true;
  try {
    return parseCertificateRequestPem(base64Text(spec.request)).subject.commonName === user;
  } catch {
    return false;
  }
}
