import type { V1Node } from "@kubernetes/client-node";
import { milliValue, sumQuantities, unitValue } from "../../../staging/apimachinery/quantity.js";
import type { Wire } from "../../../staging/apimachinery/wire.js";
import { MessageError } from "../../../util/i18n/message-error.js";
import { eachOf } from "../builder.js";
import { isOn, type KubectlLine, text } from "../flags.js";
import { rowsText } from "../output.js";
import type { Session } from "../session.js";

interface Usage {
  readonly cpu: string;
  readonly memory: string;
}
interface Metrics {
  readonly metadata: { readonly name: string; readonly namespace?: string };
  /** of a node */
  readonly usage?: Usage;
  /** of a pod */
  readonly containers?: readonly { readonly usage: Usage }[];
}

const METRICS = "/apis/metrics.k8s.io/v1beta1";
const MIB = 1024 * 1024;

/**
 * `kubectl top pod [NAME]`.
 * Mirrors staging/src/k8s.io/kubectl/pkg/cmd/top/top_pod.go (RunTopPod).
 */
export async function topPod(session: Session, line: KubectlLine): Promise<void> {
  const isAll = isOn(line, "all-namespaces");
  const path = isAll ? `${METRICS}/pods` : `${METRICS}/namespaces/${session.namespace}/pods`;
  const rows = (await metricsOf(session, line, path)).map(({ metadata, containers = [] }) => {
    const sum = (name: keyof Usage) => sumQuantities(containers.map(({ usage }) => usage[name]));
    const place = isAll ? [metadata.namespace] : [];
    return [...place, metadata.name, ...amounts({ cpu: sum("cpu"), memory: sum("memory") })];
  });
  if (rows.length === 0)
    return session.warn(isAll ? "No resources found" : `No resources found in ${session.namespace} namespace.`);
  print(session, line, [...(isAll ? ["NAMESPACE"] : []), "NAME", "CPU(cores)", "MEMORY(bytes)"], rows);
}

/**
 * `kubectl top node [NAME]`: the percentages are of the allocatable amounts.
 * Mirrors staging/src/k8s.io/kubectl/pkg/cmd/top/top_node.go (RunTopNode).
 */
export async function topNode(session: Session, line: KubectlLine): Promise<void> {
  const { client, signal } = session;
  const { items } = await client.expect<{ items: readonly Wire<V1Node>[] }>({
    method: "GET",
    path: "/api/v1/nodes",
    signal,
  });
  const rows = (await metricsOf(session, line, `${METRICS}/nodes`)).map(
    ({ metadata, usage = { cpu: "0", memory: "0" } }) => {
      const allocatable = items.find((one) => one.metadata.name === metadata.name)?.status?.allocatable ?? {};
      const [cpu, memory] = amounts(usage);
      const percent = (used: number, all: number) => (all === 0 ? "<unknown>" : `${Math.trunc((used / all) * 100)}%`);
      const cpuPercent = percent(milliValue(usage.cpu), milliValue(allocatable["cpu"]));
      return [
        metadata.name,
        cpu,
        cpuPercent,
        memory,
        percent(unitValue(usage.memory), unitValue(allocatable["memory"])),
      ];
    },
  );
  print(session, line, ["NAME", "CPU(cores)", "CPU(%)", "MEMORY(bytes)", "MEMORY(%)"], rows);
}

async function metricsOf(session: Session, line: KubectlLine, path: string): Promise<readonly Metrics[]> {
  const { client, signal } = session;
  if (line.words.length > 0) {
    const found: Metrics[] = [];
    await eachOf(
      session,
      line.words,
      async (name) =>
        void found.push(await client.expect({ method: "GET", path: `${path}/${encodeURIComponent(name)}`, signal })),
    );
    return found;
  }
  const query = { labelSelector: text(line, "selector") };
  const { items } = await client.expect<{ items: readonly Metrics[] }>({ method: "GET", path, query, signal });
  if (items.length === 0 && line.verb.startsWith("top no")) {
    throw new MessageError("FAILED", { verbatim: "metrics not available yet" }, ["kubectlTryAgainHint"]);
  }
  return [...items].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}

/** Mirrors printSingleResourceUsage in staging/src/k8s.io/kubectl/pkg/metricsutil/metrics_printer.go. */
function amounts({ cpu, memory }: Usage): readonly [string, string] {
  return [`${milliValue(cpu)}m`, `${Math.trunc(unitValue(memory) / MIB)}Mi`];
}

/** A tab follows the last column as well. */
function print(
  session: Session,
  line: KubectlLine,
  head: readonly string[],
  rows: readonly (readonly (string | undefined)[])[],
): void {
  const all = isOn(line, "no-headers") ? rows : [head, ...rows];
  session.print(rowsText(all.map((cells) => `${cells.join("\t")}\t`)));
}
