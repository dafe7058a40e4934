import type { DefaultsFunction } from "./struct.js";

/** Mirrors pkg/apis/apps/v1/defaults.go: a rolling update gets default numbers. */
export const appsDefaults: Readonly<Record<string, DefaultsFunction>> = {
  DeploymentStrategy(strategy) {
    if (strategy.type === "RollingUpdate") strategy.rollingUpdate ??= { maxUnavailable: "25%", maxSurge: "25%" };
  },
  DaemonSetUpdateStrategy(strategy) {
    if (strategy.type === "RollingUpdate") strategy.rollingUpdate ??= { maxUnavailable: 1, maxSurge: 0 };
  },
  StatefulSetUpdateStrategy(strategy) {
    if (strategy.type === "RollingUpdate") strategy.rollingUpdate ??= { partition: 0 };
  },
};
