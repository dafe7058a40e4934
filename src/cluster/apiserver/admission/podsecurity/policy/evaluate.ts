import { minorOf } from "../../../../../util/release/facts.js";
import type { LevelVersion } from "../namespace-policy.js";
import { BASELINE } from "./baseline.js";
import type { Check, CheckedPod, CheckPod, Violation } from "./check.js";
import { RESTRICTED } from "./restricted.js";

/**
 * What a pod violates of a level: first the baseline checks, then the restricted ones, each by its ID.
 *
 * Mirrors checkRegistry.EvaluatePod in k8s.io/pod-security-admission/policy/registry.go.
 * @param kubeVersion the server's release: a later version of a policy, and `latest`, mean this one
 */
export function evaluatePod({ level, version }: LevelVersion, kubeVersion: string, pod: CheckedPod): Violation[] {
  if (level === "privileged") return [];
  const newest = minorOf(kubeVersion);
  const minor = version === "latest" ? newest : Math.min(minorOf(version), newest);
  const restricted = level === "restricted" ? RESTRICTED.filter((check) => checkOf(check, minor) !== undefined) : [];
  const overridden = new Set(restricted.map(({ overrides }) => overrides));
  const baseline = BASELINE.filter(({ id }) => !overridden.has(id));
  return [...baseline, ...restricted].flatMap((check) => checkOf(check, minor)?.(pod) ?? []);
}

function checkOf({ versions }: Check, minor: number): CheckPod | undefined {
  return versions.findLast(({ since }) => since <= minor)?.check;
}

/** `host namespaces, privileged` */
export function reasonsOf(violations: readonly Violation[]): string {
  return violations.map(({ reason }) => reason).join(", ");
}

/** `host namespaces (hostNetwork=true), privileged (container "c" must not set …)` */
export function detailsOf(violations: readonly Violation[]): string {
  return violations.map(({ reason, detail }) => (detail === "" ? reason : `${reason} (${detail})`)).join(", ");
}
