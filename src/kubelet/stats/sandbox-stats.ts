import { type Decoded, one, string } from "../../staging/apimachinery/protobuf/fields.js";
import { message } from "../../staging/apimachinery/protobuf/message.js";
import { NetworkUsage, ProcessUsage } from "../../staging/cri/messages/usage.js";
import { listPodSandboxStatsOf } from "../../staging/cri/projections.js";
import type { RemoteStats } from "../../staging/cri/remote/remote-stats.js";
import { defined } from "../../util/defined.js";
import type { InterfaceStats, NetworkStats, PodStats } from "../apis/stats/v1alpha1.js";
import { toMs, toNumber } from "../kuberuntime/convert.js";

/** Decodes only the fields that containers do not have, because a sandbox's statistics contain those of its containers. */
const LISTED_SANDBOX_STATS = listPodSandboxStatsOf(
  message("PodSandboxStats", {
    attributes: one(1, message("PodSandboxAttributes", { id: string(1) })),
    linux: one(2, message("LinuxPodSandboxStats", { network: one(3, NetworkUsage), process: one(4, ProcessUsage) })),
  }),
);

/** Five minutes of the eviction manager's readings. */
const LEFT_OUT_AFTER_FAILURE = 30;

/** The figures of a sandbox as a whole. */
export type SandboxStats = Pick<PodStats, "network" | "processStats">;

/** The network and the processes of pods, if the container runtime reports them. */
export class SandboxStatsReader {
  /** the number of readings to skip after a failure */
  #left = 0;

  constructor(readonly stats: Pick<RemoteStats, "listPodSandboxStatsAs">) {}

  /**
   * By the ID of the sandbox. Empty if the runtime has no such call, or fails, as containerd 1.6 does for sandboxes
   * without a cgroup of their pod, because a failure here must not hide the other figures.
   * Mirrors addPodNetworkStats and addProcessStats in pkg/kubelet/stats/cri_stats_provider.go.
   */
  async list(signal: AbortSignal): Promise<ReadonlyMap<string, SandboxStats>> {
    if (this.#left > 0) {
      this.#left--;
      return new Map();
    }
    const result = await this.stats.listPodSandboxStatsAs(LISTED_SANDBOX_STATS, signal);
    if (result.outcome !== "ok") {
      this.#left = result.outcome === "unimplemented" ? Number.POSITIVE_INFINITY : LEFT_OUT_AFTER_FAILURE;
      return new Map();
    }
    return new Map(
      result.value.map(({ attributes, linux }) => {
        const processCount = toNumber(linux?.process?.processCount);
        const processStats = processCount === undefined ? undefined : { processCount };
        return [attributes?.id ?? "", defined({ network: networkOf(linux?.network), processStats })];
      }),
    );
  }
}

/** Mirrors criInterfaceToSummary and addCRIPodNetworkStats in pkg/kubelet/stats/cri_stats_provider.go. */
function networkOf(usage: Decoded<typeof NetworkUsage> | undefined): NetworkStats | undefined {
  if (usage === undefined) return undefined;
  const { timestamp, defaultInterface, interfaces } = usage;
  const first = defaultInterface && interfaceOf(defaultInterface);
  const others = interfaces.map(interfaceOf);
  return { timeMs: toMs(timestamp), ...first, interfaces: first === undefined ? others : [first, ...others] };
}

function interfaceOf({ name, ...figures }: Decoded<typeof NetworkUsage>["interfaces"][number]): InterfaceStats {
  const { rxBytes, rxErrors, txBytes, txErrors } = figures;
  return {
    name,
    ...defined({
      rxBytes: toNumber(rxBytes),
      rxErrors: toNumber(rxErrors),
      txBytes: toNumber(txBytes),
      txErrors: toNumber(txErrors),
    }),
  };
}
