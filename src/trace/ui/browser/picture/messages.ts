import { proxiedTo } from "../message-name.js";
import type { Step } from "../step.js";
import { isBad } from "../words.js";
import { isWrite, keyOf } from "./things.js";

/** A message from one part of the cluster to another. */
export interface Message {
  /** keys of things */
  readonly from: string;
  readonly to: string;
  readonly kind: "request" | "watch" | "rpc" | "write";
  readonly isBad: boolean;
}

const STORAGE = keyOf({ kind: "storage", name: "" });

/** The message that a step sent; undefined if the step happened inside one part. */
export function messageOf(step: Step): Message | undefined {
  const { event, lane, target } = step;
  if (isWrite(step)) return { from: lane.key, to: STORAGE, kind: "write", isBad: false };
  // The API server reports its request to a kubelet as a decision.
  if (proxiedTo(event) !== undefined) return { from: lane.key, to: "kubelet", kind: "request", isBad: false };
  if (target === undefined || target === lane) return undefined;
  switch (event.kind) {
    case "watch":
      return { from: target.key, to: lane.key, kind: "watch", isBad: false };
    case "request":
    case "rpc":
      return { from: lane.key, to: target.key, kind: event.kind, isBad: isBad(event) };
    default:
      return undefined;
  }
}
