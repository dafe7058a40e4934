import { type DefaultsFunction, structOf } from "./struct.js";

const CPU_UTILIZATION = 80;

/** The metric of a HorizontalPodAutoscaler without metrics: 80 % of the requested CPU. */
export function defaultMetrics(): object[] {
  const target = { type: "Utilization", averageUtilization: CPU_UTILIZATION };
  return [{ type: "Resource", resource: { name: "cpu", target } }];
}

const SCALE_UP = {
  stabilizationWindowSeconds: 0,
  selectPolicy: "Max",
  policies: [
    { type: "Pods", value: 4, periodSeconds: 15 },
    { type: "Percent", value: 100, periodSeconds: 15 },
  ],
};

const SCALE_DOWN = { selectPolicy: "Max", policies: [{ type: "Percent", value: 100, periodSeconds: 15 }] };

/**
 * Mirrors pkg/apis/autoscaling/v2/defaults.go: SetDefaults_HorizontalPodAutoscaler, GenerateHPAScaleUpRules and
 * GenerateHPAScaleDownRules.
 */
export const autoscalingDefaults: Readonly<Record<string, DefaultsFunction>> = {
  "v2.HorizontalPodAutoscalerSpec"(spec) {
    if (!Array.isArray(spec.metrics) || spec.metrics.length === 0) spec.metrics = defaultMetrics();
    if (spec.behavior === undefined) return;
    const behavior = structOf(spec.behavior);
    spec.behavior = {
      scaleUp: { ...structuredClone(SCALE_UP), ...structOf(behavior.scaleUp) },
      scaleDown: { ...structuredClone(SCALE_DOWN), ...structOf(behavior.scaleDown) },
    };
  },
};
