import type { V1Deployment, V1ReplicaSet } from "@kubernetes/client-node";
import { selectorText } from "../../staging/apimachinery/selector.js";
import type { Wire } from "../../staging/apimachinery/wire.js";
import type { Session } from "./session.js";

type Deployment = Wire<V1Deployment>;
type ReplicaSet = Wire<V1ReplicaSet>;

const REVISION = "deployment.kubernetes.io/revision";

/**
 * The ReplicaSets of a Deployment, the oldest revision first.
 * Mirrors staging/src/k8s.io/kubectl/pkg/util/deployment/deployment.go (ListReplicaSets, Revision).
 */
export async function replicaSetsOf(session: Session, { metadata, spec }: Deployment): Promise<readonly ReplicaSet[]> {
  const path = `/apis/apps/v1/namespaces/${metadata.namespace}/replicasets`;
  const query = { labelSelector: selectorText(spec?.selector ?? {}) };
  const { items } = await session.client.expect<{ items: readonly ReplicaSet[] }>({
    method: "GET",
    path,
    query,
    signal: session.signal,
  });
  return items
    .filter((set) => set.metadata.ownerReferences?.some(({ controller, uid }) => controller && uid === metadata.uid))
    .sort((a, b) => revisionOf(a) - revisionOf(b));
}

/** The revision of a Deployment that a ReplicaSet keeps. */
export function revisionOf({ metadata }: ReplicaSet): number {
  return Number(metadata.annotations?.[REVISION] ?? 0);
}
