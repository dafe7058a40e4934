import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import { getPodQos } from "../../staging/apimachinery/corev1/qos.js";
import { tolerates } from "../../staging/apimachinery/corev1/tolerations.js";
import type { PodAdmitResult } from "../lifecycle/admit.js";
import { isCriticalPod } from "../types/pod-update.js";
import { REASON } from "./message.js";
import type { PressureCondition } from "./threshold.js";

const MEMORY_PRESSURE = { key: "node.kubernetes.io/memory-pressure", effect: "NoSchedule" } as const;

/**
 * Whether a node under pressure accepts a pod. Critical pods always; under memory pressure alone all but pods of class
 * BestEffort that do not tolerate it; otherwise none. Pure.
 *
 * Mirrors Admit in pkg/kubelet/eviction/eviction_manager.go.
 */
export function admitUnderPressure(conditions: readonly PressureCondition[], pod: V1Pod): PodAdmitResult {
  if (conditions.length === 0 || isCriticalPod(pod)) return { admit: true };
  const [first, ...others] = conditions;
  if (first === "MemoryPressure" && others.length === 0) {
    if (getPodQos(pod.spec) !== "BestEffort") return { admit: true };
    if ((pod.spec.tolerations ?? []).some((toleration) => tolerates(toleration, MEMORY_PRESSURE))) {
      return { admit: true };
    }
  }
  return { admit: false, reason: REASON, message: `The node had condition: [${conditions.join(" ")}]. ` };
}
