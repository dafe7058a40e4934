import type { RuleTable } from "../../cluster/netfilter/rules.js";
import { listPeers } from "../../cluster/runtime/network/peers.js";
import { askPodNetwork } from "../../staging/streaming/pod-network.js";
import { readBounded } from "../../staging/streaming/read-bounded.js";
import { NetError } from "../../util/net/net-error.js";

/** The rules of a node's runtime for packets to Services. */
export interface NodeRules extends RuleTable {
  readonly node: string;
}

const MAX_BYTES = 64 * 1024 * 1024;

/** The rules that the embedded runtimes of a cluster apply now, by node. @param folder see `networkFolder` */
export async function readNodeRules(folder: string, signal: AbortSignal): Promise<readonly NodeRules[]> {
  const all: NodeRules[] = [];
  for (const { node, socket } of listPeers(folder)) {
    try {
      const { stream } = await askPodNetwork(socket, { protocol: "rules" }, signal);
      const { bytes } = await readBounded(stream, MAX_BYTES, "leave");
      all.push({ node, ...(JSON.parse(bytes.toString()) as RuleTable) });
    } catch (error) {
      // It has ended in the meantime.
      if (!(error instanceof NetError)) throw error;
    }
  }
  return all;
}
