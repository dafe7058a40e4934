import type { V1LabelSelector, V1Pod } from "@kubernetes/client-node";
import { selectorText } from "../../staging/apimachinery/selector.js";
import type { Wire } from "../../staging/apimachinery/wire.js";
import { collectionPath, objectPath, PODS } from "../../staging/client-go/rest/paths.js";
import { MessageError } from "../../util/i18n/message-error.js";
import { unknown } from "./line-error.js";
import { findResource, refOf } from "./resources.js";
import type { Session } from "./session.js";

/**
 * The pod of `web`, `pod/web` or `deployment/web`: of a workload, the oldest running one.
 * Mirrors staging/src/k8s.io/kubectl/pkg/polymorphichelpers/attachablepodforobject.go, and ActivePods of the controllers.
 */
export async function podFor(session: Session, word: string): Promise<Wire<V1Pod>> {
  const { client, namespace, signal } = session;
  const [kind = "", name] = word.split("/");
  const get = (name: string) =>
    client.expect<Wire<V1Pod>>({ method: "GET", path: objectPath({ ...PODS, namespace }, name), signal });
  if (name === undefined) return get(word);
  const known = await findResource(client, kind, signal);
  if (known.kind === "Pod") return get(name);
  const path = objectPath(refOf(known, namespace), name);
  const { spec } = await client.expect<{ spec?: { selector?: Wire<V1LabelSelector> } }>({
    method: "GET",
    path,
    signal,
  });
  if (spec?.selector?.matchLabels === undefined) throw unknown(word);
  const pods = await client.expect<{ items: readonly Wire<V1Pod>[] }>({
    method: "GET",
    path: collectionPath({ ...PODS, namespace }),
    query: { labelSelector: selectorText(spec.selector) },
    signal,
  });
  const isActive = ({ metadata, status }: Wire<V1Pod>) =>
    metadata.deletionTimestamp === undefined && !["Failed", "Succeeded"].includes(status?.phase ?? "");
  const isReady = ({ status }: Wire<V1Pod>) =>
    status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true;
  const active = pods.items.filter(isActive);
  const chosen = active.find(isReady) ?? active[0];
  if (chosen !== undefined) return chosen;
  throw new MessageError("FAILED", { verbatim: `no pods found for ${word}` }, [
    "kubectlDescribeHint",
    { what: word.replace("/", " ") },
  ]);
}
