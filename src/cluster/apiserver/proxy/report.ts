import type { Joined } from "../../../staging/streaming/join.js";
import type { Upstream } from "../../../trace/events.js";
import type { Cause, Trace } from "../../../trace/trace.js";
import type { Exchange } from "../endpoints/exchange.js";
import type { KubeletInfo } from "./kubelet-connection.js";

/** Reports a stream through the API server as facts. Plain proxied requests and logs are one level deeper. */

const STREAM_LEVEL = 1;
const REQUEST_LEVEL = 2;

const SUBRESOURCES: Upstream = { file: "pkg/registry/core/pod/rest/subresources.go", func: "Connect" };
const UPGRADE: Upstream = {
  file: "staging/src/k8s.io/apimachinery/pkg/util/proxy/upgradeaware.go",
  func: "tryUpgrade",
};

/**
 * Reports which kubelet the API server contacts, and for which user.
 * @param podUrl of the pod behind the kubelet, if any
 * @returns the cause of the request to the kubelet
 */
export function reportAsked(
  trace: Trace,
  exchange: Exchange,
  info: KubeletInfo,
  method: string,
  path: string,
  podUrl?: string,
): Cause {
  const level = exchange.upgrade === undefined ? REQUEST_LEVEL : STREAM_LEVEL;
  if (!trace.wants(level)) return {};
  const { username = "" } = exchange.user ?? {};
  const { verb, resource, subresource } = exchange.info;
  const where = `node ${info.nodeName} has ${info.addressType} ${info.host}`;
  const why = `${username} may ${verb} ${resource}/${subresource}; ${where}`;
  const kubelet = `${info.scheme}://${info.address}`;
  const asked =
    podUrl === undefined
      ? `ask the kubelet: ${method} ${kubelet}${path}`
      : `ask the pod: ${method} ${podUrl}${path} through a port-forward of ${kubelet}`;
  const what = info.mayDial ? asked : `do not dial ${info.address}: it is not an address of this machine`;
  const fact = { kind: "decision", what, why, upstream: SUBRESOURCES, auditId: exchange.auditId } as const;
  const peer = { actor: "kubelet", instance: info.nodeName } as const;
  return { causedBy: trace.emit(fact, { actor: "apiserver", level, peer }).id };
}

/** Reports the protocol that the kubelet accepted, or its refusal. */
export function reportAnswered(trace: Trace, exchange: Exchange, what: string, why: string): void {
  if (!trace.wants(STREAM_LEVEL)) return;
  trace.emit(
    { kind: "decision", what, why, upstream: UPGRADE, auditId: exchange.auditId },
    { actor: "apiserver", level: STREAM_LEVEL, peer: { actor: "user" } },
  );
}

/** Reports how a stream ended. */
export function reportEnded(trace: Trace, exchange: Exchange, outcome: string): void {
  if (!trace.wants(STREAM_LEVEL)) return;
  const { namespace, name, resource, subresource } = exchange.info;
  const subject = `${resource}/${subresource} of ${namespace === "" ? name : `${namespace}/${name}`}`;
  trace.emit(
    { kind: "state", subject, what: "connection", to: outcome, upstream: UPGRADE },
    { actor: "apiserver", level: STREAM_LEVEL },
  );
}

export function joinedText({ fromClient, toClient }: Joined): string {
  return `ended, ${fromClient} bytes to the kubelet, ${toClient} bytes back`;
}
