import type { Rejection } from "./framework.js";

/** No node fits the pod: all nodes, and why each was rejected. */
export interface Diagnosis {
  readonly allNodes: number;
  /** node name -> reason */
  readonly rejections: ReadonlyMap<string, Rejection>;
  /** a plugin rejected the pod before it looked at any node: its reasons stand for all nodes, and are not counted */
  readonly preFilterReasons?: readonly string[] | undefined;
}

export const NO_NODES = "no nodes available to schedule pods";

/**
 * `0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable.`
 * Mirrors FitError.Error in pkg/scheduler/framework/types.go. Pure.
 */
export function fitErrorMessage({ allNodes, rejections, preFilterReasons }: Diagnosis): string {
  if (preFilterReasons !== undefined) return `0/${allNodes} nodes are available: ${preFilterReasons.join(", ")}.`;
  const counts = new Map<string, number>();
  for (const { reasons } of rejections.values()) {
    for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  const texts = [...counts].map(([reason, count]) => `${count} ${reason}`).sort();
  return `0/${allNodes} nodes are available: ${texts.join(", ")}.`;
}

/** The API server refuses longer messages in events. */
const NOTE_LIMIT = 1024;
const SUFFIX = " ...";

/** Mirrors truncateMessage in pkg/scheduler/schedule_one.go. Pure. */
export function truncateMessage(message: string): string {
  return message.length <= NOTE_LIMIT ? message : `${message.slice(0, NOTE_LIMIT - SUFFIX.length)}${SUFFIX}`;
}
