import type { FactName } from "../../util/release/facts.js";

/** A heading of the list, and its topics. */
export interface TopicGroup {
  readonly title: string;
  readonly topics: readonly Topic[];
}

/** What `kubelab explain` knows about a reason, a condition, a message or a word, in one language. */
export interface Topic {
  /** as upstream writes it: `CrashLoopBackOff`, `Lease` */
  readonly name: string;
  /** other reasons that the text explains, and the beginnings of messages */
  readonly also?: readonly string[];
  /** two to four sentences */
  readonly text: string;
  /** the constants that decide it, by release */
  readonly facts?: readonly FactName[];
  /** commands to paste; default: the events of that reason */
  readonly see?: readonly string[];
  /** the upstream file */
  readonly upstream: string;
  /** the ids of labs that teach it */
  readonly labs?: readonly string[];
  /** the misspelt word for which this topic is shown */
  readonly guessedFor?: string;
}
