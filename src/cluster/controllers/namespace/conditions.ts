import { rfc3339 } from "../../../staging/apimachinery/time.js";

export interface NamespaceCondition {
  readonly type: string;
  readonly status: string;
  readonly lastTransitionTime?: string | null;
  readonly reason?: string;
  readonly message?: string;
}

/** What one attempt to empty a namespace found. */
export interface DeletionFindings {
  /** `pods.` -> number of objects left */
  readonly remaining: ReadonlyMap<string, number>;
  /** finalizer -> number of objects with it */
  readonly finalizers: ReadonlyMap<string, number>;
  readonly errors: readonly string[];
}

interface ConditionTexts {
  readonly type: string;
  readonly okReason: string;
  readonly okMessage: string;
  /** undefined: no error */
  readonly trouble: (found: DeletionFindings) => { readonly reason: string; readonly message: string } | undefined;
}

/** In upstream's order. Texts mirror pkg/controller/namespace/deletion/status_condition_utils.go. */
const CONDITIONS: readonly ConditionTexts[] = [
  {
    type: "NamespaceDeletionDiscoveryFailure",
    okReason: "ResourcesDiscovered",
    okMessage: "All resources successfully discovered",
    trouble: () => undefined,
  },
  {
    type: "NamespaceDeletionGroupVersionParsingFailure",
    okReason: "ParsedGroupVersions",
    okMessage: "All legacy kube types successfully parsed",
    trouble: () => undefined,
  },
  {
    type: "NamespaceDeletionContentFailure",
    okReason: "ContentDeleted",
    okMessage: "All content successfully deleted, may be waiting on finalization",
    trouble: ({ errors }) =>
      errors.length === 0
        ? undefined
        : {
            reason: "ContentDeletionFailed",
            message: `Failed to delete all resource types, ${errors.length} remaining: ${[...errors].sort().join(", ")}`,
          },
  },
  {
    type: "NamespaceContentRemaining",
    okReason: "ContentRemoved",
    okMessage: "All content successfully removed",
    trouble: ({ remaining }) =>
      remaining.size === 0
        ? undefined
        : {
            reason: "SomeResourcesRemain",
            message: `Some resources are remaining: ${listed(remaining, (name, count) => `${name} has ${count} resource instances`)}`,
          },
  },
  {
    type: "NamespaceFinalizersRemaining",
    okReason: "ContentRemoved",
    okMessage: "All content successfully removed",
    trouble: ({ finalizers }) =>
      finalizers.size === 0
        ? undefined
        : {
            reason: "SomeFinalizersRemain",
            message: `Some content in the namespace has finalizers remaining: ${listed(finalizers, (name, count) => `${name} in ${count} resource instances`)}`,
          },
  },
];

function listed(counts: ReadonlyMap<string, number>, text: (name: string, count: number) => string): string {
  return [...counts]
    .map(([name, count]) => text(name, count))
    .sort()
    .join(", ");
}

/**
 * The namespace's conditions after an attempt; the same array if nothing changed.
 * Mirrors updateConditions. Pure.
 */
export function updateConditions(
  before: readonly NamespaceCondition[],
  found: DeletionFindings,
  nowMs: number,
): readonly NamespaceCondition[] {
  const after = [...before];
  let isChanged = false;
  for (const { type, okReason, okMessage, trouble } of CONDITIONS) {
    const problem = trouble(found);
    const status = problem === undefined ? "False" : "True";
    const reason = problem?.reason ?? okReason;
    const message = problem?.message ?? okMessage;
    const index = after.findIndex((condition) => condition.type === type);
    const old = after[index];
    if (old?.status === status && old.reason === reason && old.message === message) continue;
    isChanged = true;
    const lastTransitionTime = (old?.status === status ? old.lastTransitionTime : undefined) ?? rfc3339(nowMs);
    const condition = { type, status, lastTransitionTime, reason, message };
    if (index < 0) after.push(condition);
    else after[index] = condition;
  }
  return isChanged ? after : before;
}
