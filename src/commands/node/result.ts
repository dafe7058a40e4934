import { listPods } from "../../testbed/fixtures/pod-list.js";
import type { RunningNode } from "../../testbed/node/node.js";
import type { Trace } from "../../trace/trace.js";
import type { StatusTable } from "../inspector/status-table.js";

/** Reports that the node runs, and on which runtime. @param hasAdmin false with --server */
export function announceNode(trace: Trace, node: RunningNode, hasAdmin: boolean): void {
  const { nodeName, kubelet, cri } = node;
  const { runtimeName, runtimeVersion } = cri.version;
  const where = node.runtime === undefined ? cri.endpoint : "embedded: its containers end with this command";
  const isRegistered = kubelet.kubelet.config.registerNode;
  const notReady = isRegistered ? "has registered, but is not Ready yet" : "waits for its Node";
  const ready = kubelet.isReady() && isRegistered ? "is Ready" : notReady;
  const text = `node ${nodeName} ${ready}; runtime ${runtimeName} ${runtimeVersion} (${where})`;
  trace.emit({ kind: "note", text }, { actor: "user", level: 0 });
  if (hasAdmin) return;
  const rights = "kubectl has the node's own rights here: it sees this Node and its pods. Others need a kubeconfig.";
  trace.emit({ kind: "note", text: rights }, { actor: "user" });
}

/** The pods of the node, for the end of a terminal. */
export function podsOf(node: RunningNode): StatusTable {
  const pods = listPods(node.kubelet.kubelet);
  const rows = pods.map(({ pod, phase, source }) => [pod, phase, source]);
  return { title: "Pods", columns: ["pod", "phase", "source"], rows };
}

/** The result of `kubelab node`: the kubectl command for this cluster, which a script can use. */
export function nodeResult(node: RunningNode, cluster: string, kubeconfig: string | undefined) {
  const { nodeName, kubelet, cri } = node;
  const { runtimeName, runtimeVersion } = cri.version;
  return {
    text: kubeconfig === undefined ? "kubectl" : `kubectl --kubeconfig ${kubeconfig}`,
    json: {
      node: nodeName,
      server: kubelet.apiServer,
      kubeconfig: kubeconfig ?? null,
      cluster,
      kubelet: kubelet.url,
      runtime: { endpoint: cri.endpoint, name: runtimeName, version: runtimeVersion },
      certificate: { notAfter: new Date(node.certificateNotAfterMs).toISOString().replace(".000", "") },
    },
  };
}
