/** What must hold in every run, whatever fails, and what it means. */
export const INVARIANTS = {
  "no-pod-lost":
    "a pod vanishes only after somebody deleted it, and at the end each container that a status calls running runs",
  "no-container-left": "at the end no container runs whose pod is gone",
  "no-container-twice": "a container of a pod never runs twice at once, on one node or on two",
  "no-terminated-pod-restarted": "a pod that Succeeded or Failed stays so, and none of its containers starts",
  "no-status-goes-back": "phase, start time, node, restart counts and the mark of deletion of a pod never go back",
  "nothing-waits-for-ever":
    "after the faults all nodes become Ready again without taints, and no pod stays Terminating",
  "every-pod-ends": "after the faults each pod becomes Ready or ends, and each workload has its replicas",
} as const satisfies Readonly<Record<string, string>>;

export type InvariantName = keyof typeof INVARIANTS;

export const INVARIANT_NAMES = Object.keys(INVARIANTS) as readonly InvariantName[] as readonly [
  InvariantName,
  ...InvariantName[],
];

/** How an invariant was broken. */
export interface Violation {
  readonly invariant: InvariantName;
  /** one sentence */
  readonly what: string;
}
