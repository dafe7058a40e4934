import type { CoreV1Event } from "@kubernetes/client-node";
import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import type { Wire } from "../../../staging/apimachinery/wire.js";
import { collectionPath, EVENTS } from "../../../staging/client-go/rest/paths.js";
import { stringify } from "../../../util/yaml.js";
import { visit } from "../builder.js";
import type { KubectlLine } from "../flags.js";
import type { Session } from "../session.js";
import { alignTabs, DESCRIBE_TABS } from "../tab-writer.js";
import { describeNode } from "./node.js";
import { describePod } from "./pod.js";
import { describeService } from "./service.js";
import { ageText, metadataLines, tableLines } from "./text.js";
import { describeDeployment, describeReplicaSet } from "./workloads.js";

/** The description of one object, without its events. */
export type Describer = (session: Session, object: KubeObject) => Promise<string>;

const DESCRIBERS: Readonly<Record<string, Describer>> = {
  Pod: describePod,
  Deployment: describeDeployment,
  ReplicaSet: describeReplicaSet,
  Service: describeService,
  Node: describeNode,
};

const EVENT_HEAD = ["Type", "Reason", "Age", "From", "Message"];
const EVENT_DASHES = ["----", "------", "----", "----", "-------"];

/**
 * `kubectl describe`: the important fields of an object, and its events.
 * Mirrors staging/src/k8s.io/kubectl/pkg/cmd/describe/describe.go (Run). Differs: the fields of kinds that have no
 * description of their own are YAML.
 */
export async function describe(session: Session, line: KubectlLine): Promise<void> {
  let isFirst = true;
  const count = await visit(session, line, line.words, async ({ object, known }) => {
    const description = await (DESCRIBERS[known.kind] ?? describeFields)(session, object);
    session.print(
      `${isFirst ? "" : "\n\n"}${alignTabs(description + (await eventLines(session, object)), DESCRIBE_TABS)}`,
    );
    isFirst = false;
  });
  if (count === 0) session.warn(`No resources found in ${session.namespace} namespace.`);
}

async function describeFields(_: Session, object: KubeObject): Promise<string> {
  const { metadata: _m, apiVersion, kind, ...fields } = object;
  return `${metadataLines(object)}API Version:\t${apiVersion}\nKind:\t${kind}\n${stringify(fields, { lineWidth: 0 })}`;
}

/** Mirrors DescribeEvents in staging/src/k8s.io/kubectl/pkg/describe/describe.go. */
async function eventLines({ client, serverNow, signal }: Session, { kind, metadata }: KubeObject): Promise<string> {
  const terms = [`involvedObject.name=${metadata.name}`, `involvedObject.kind=${kind}`];
  // The events of a node have its name as their UID.
  if (kind !== "Node") terms.push(`involvedObject.uid=${metadata.uid}`);
  const { items } = await client.expect<{ items: readonly Wire<CoreV1Event>[] }>({
    method: "GET",
    path: collectionPath({ ...EVENTS, ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }) }),
    query: { fieldSelector: terms.join(",") },
    signal,
  });
  if (items.length === 0) return "Events:\t<none>\n";
  const nowMs = await serverNow();
  const timeOf = (event: Wire<CoreV1Event>) => event.lastTimestamp ?? event.eventTime ?? "";
  const rows = [...items]
    .sort((a, b) => (timeOf(a) < timeOf(b) ? -1 : timeOf(a) > timeOf(b) ? 1 : 0))
    .map((event) => {
      const { type, reason, count = 1, firstTimestamp, eventTime, source, reportingComponent, message } = event;
      const first = ageText(firstTimestamp ?? eventTime, nowMs);
      const age = count > 1 ? `${ageText(event.lastTimestamp, nowMs)} (x${count} over ${first})` : first;
      return [type, reason, age, source?.component || reportingComponent, message?.trim()];
    });
  return `Events:\n${tableLines(EVENT_HEAD, rows, EVENT_DASHES)}`;
}
