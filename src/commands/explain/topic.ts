import type { FactName } from "../../util/release/facts.js";

/** What `kubelab explain` knows about a reason, a condition, a message or a word. */
export interface Topic {
  /** as upstream writes it: `CrashLoopBackOff`, `Lease` */
  readonly name: string;
  /** other reasons that the text explains, and the beginnings of messages */
  readonly also?: readonly string[];
  /** two to four sentences */
  readonly text: string;
  /** what decides it, by release */
  readonly facts?: readonly FactName[];
  /** commands to paste, joined by ` && `; default: the events of that reason */
  readonly see?: string;
  /** the upstream file */
  readonly file: string;
  /** the ids of labs that teach it */
  readonly labs?: readonly string[];
}
