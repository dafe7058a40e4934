import type { OutageResult } from "../../testbed/outage/node-outage.js";
import type { CommandResult } from "../cli/context.js";

/** The result of `kubelab lease --stop-after` or `--revive`. */
export function leaseResult(node: string, result: OutageResult): CommandResult {
  return { text: textOf(node, result), json: { node, ...result }, isProse: true };
}

function textOf(nodeName: string, { lapse, revival }: OutageResult): string {
  if (lapse === null && revival === null) return `node ${nodeName} is Ready: nothing to revive`;
  const lines: string[] = [];
  if (lapse !== null) {
    lines.push(`node ${nodeName} was declared Unknown ${lapse.unknownAfterSeconds} s after its last heartbeat`);
    lines.push(`  taints  ${lapse.taints.join(", ") || "none"}`);
    for (const { pod, evictedAfterSeconds } of lapse.pods) {
      const when =
        evictedAfterSeconds === undefined ? "not evicted yet" : `evicted ${evictedAfterSeconds} s after that heartbeat`;
      lines.push(`  pod     ${pod}: ${when}`);
    }
  }
  if (revival !== null) {
    lines.push(
      `node ${nodeName} was Ready again ${revival.readyAfterSeconds} s after its first renewal, free of taints after ${revival.untaintedAfterSeconds} s`,
    );
  }
  return lines.join("\n");
}
