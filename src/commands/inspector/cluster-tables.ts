import { type NodeObject, taintText } from "../../staging/apimachinery/api/node.js";
import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import { Informer } from "../../staging/client-go/cache/informer.js";
import type { ClientCtx } from "../../staging/client-go/rest/client.js";
import { collectionPath, NODE_LEASES, NODES, PODS } from "../../staging/client-go/rest/paths.js";
import type { LeaseObject } from "../../staging/component-helpers/lease/controller.js";
import { nodeStatusText } from "../../testbed/node/cluster-nodes.js";
import { allUntilOneEnds } from "../../util/async/concurrency.js";
import { compareText } from "../../util/text/compare-text.js";
import { leaseTable } from "./lease-table.js";
import type { StatusTable } from "./status-table.js";

/** The nodes, leases and pods of a cluster for its live page, kept up to date by watches. */
export class ClusterTables {
  readonly #nodes: Informer<NodeObject>;
  readonly #leases: Informer<LeaseObject>;
  readonly #pods: Informer<V1Pod>;

  /** @param deps with a trace that drops everything, because the page's reads are not facts of the command */
  constructor(deps: ClientCtx) {
    this.#nodes = new Informer(deps, { path: collectionPath(NODES) });
    this.#leases = new Informer(deps, { path: collectionPath(NODE_LEASES) });
    this.#pods = new Informer(deps, { path: collectionPath(PODS) });
  }

  /** Follows the cluster until `signal` aborts. @throws its reason */
  async run(signal: AbortSignal): Promise<void> {
    const informers = [this.#nodes, this.#leases, this.#pods];
    await allUntilOneEnds(
      signal,
      informers.map((informer) => (inner) => informer.run(inner)),
    );
  }

  /** The present state, by name. */
  tables(): StatusTable[] {
    const nodes = this.#nodes.objects.map((node) => {
      const taints = (node.spec?.taints ?? []).map(taintText).join(", ");
      return [node.metadata.name ?? "", nodeStatusText(node), taints];
    });
    const pods = this.#pods.objects.map(({ metadata, spec, status }) => {
      const phase = metadata.deletionTimestamp === undefined ? status.phase : `${status.phase}, ends`;
      return [`${metadata.namespace}/${metadata.name}`, spec.nodeName ?? "none yet", phase ?? ""];
    });
    return [
      { title: "Nodes", columns: ["node", "status", "taints"], rows: nodes.sort(byName) },
      leaseTable(this.#leases.objects),
      { title: "Pods", columns: ["pod", "node", "phase"], rows: pods.sort(byName) },
    ];
  }
}

function byName([a = ""]: readonly string[], [b = ""]: readonly string[]): number {
  return compareText(a, b);
}
