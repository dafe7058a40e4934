import { isReceived } from "../lanes.js";
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
  if (target === undefined || target === lane) return undefined;
  const [from, to] = isReceived(event) ? [target, lane] : [lane, target];
  const kind = event.kind === "watch" || event.kind === "rpc" ? event.kind : "request";
  return { from: from.key, to: to.key, kind, isBad: isBad(event) };
}
