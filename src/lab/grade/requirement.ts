import type { Upstream } from "../../trace/events.js";

/** One thing that a node agent owes its cluster. */
export interface Requirement {
  /** `lease-renewed`: unique among all levels */
  readonly id: string;
  /** what the agent does, after "the agent": `renews its Lease every 10 s` */
  readonly title: string;
  readonly points: number;
  /** where the kubelet does it, at v1.25 */
  readonly upstream: Upstream;
}

/** Requirements that are examined together, on a cluster of their own. */
export interface LevelPlan {
  readonly number: number;
  /** `a node that the cluster can count on` */
  readonly title: string;
  /** about how long it takes in real time, in seconds */
  readonly seconds: number;
  readonly requirements: readonly Requirement[];
  /** its verdicts are about pods, and look at the container runtime */
  readonly runsPods?: boolean;
  /** validity of the cluster's certificates, in ms: long enough for the rest of the level; default a year */
  readonly certificateMs?: number;
}

/** `skipped`: not examined, because the command line lacks a placeholder, or because what it is about never happened */
export type Outcome = "passed" | "failed" | "skipped";

/** What was found about one requirement. */
export interface Verdict {
  readonly level: LevelPlan;
  readonly requirement: Requirement;
  readonly outcome: Outcome;
  /** the fact that decided it, in a sentence */
  readonly why: string;
  /** what the API server and the runtime saw: `+3.1 s PUT /api/v1/nodes/graded/status 200` */
  readonly evidence: readonly string[];
}
