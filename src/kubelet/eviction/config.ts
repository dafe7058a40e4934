import { parseGoDuration } from "../../staging/apimachinery/time.js";
import { LabError, messageOf } from "../../util/errors.js";
import type { KubeletConfiguration } from "../apis/config/defaults.js";
import type { EvictionConfig } from "./eviction-manager.js";
import { parseThresholdConfig } from "./parse.js";

/** The eviction manager's part of NewMainKubelet. @throws LabError USAGE with upstream's message */
export function evictionConfig(config: KubeletConfiguration, kubeVersion: string): EvictionConfig {
  try {
    return {
      thresholds: parseThresholdConfig(config),
      pressureTransitionPeriodMs: parseGoDuration(config.evictionPressureTransitionPeriod),
      maxPodGracePeriodSeconds: config.evictionMaxPodGracePeriod ?? 0,
      isolatesLocalStorage: config.localStorageCapacityIsolation,
      kubeVersion,
    };
  } catch (error) {
    const hint = "A threshold is an amount or a percentage: memory.available<500Mi, nodefs.available<10%.";
    throw new LabError("USAGE", messageOf(error), hint, { cause: error });
  }
}
