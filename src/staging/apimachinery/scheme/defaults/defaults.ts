import { apiextensionsDefaults } from "./apiextensions.js";
import { appsDefaults } from "./apps.js";
import { autoscalingDefaults } from "./autoscaling.js";
import { batchDefaults } from "./batch.js";
import { coreDefaults } from "./core.js";
import { networkingDefaults } from "./networking.js";
import { podDefaults } from "./pod.js";
import type { DefaultsFunction } from "./struct.js";

const TYPES: Readonly<Record<string, DefaultsFunction>> = {
  ...podDefaults,
  ...coreDefaults,
  ...appsDefaults,
  ...batchDefaults,
  ...networkingDefaults,
  ...autoscalingDefaults,
  ...apiextensionsDefaults,
};

/** @returns the function to run on a struct of this type once its fields, and theirs, are decoded */
export function typeDefaults(type: string): DefaultsFunction | undefined {
  return TYPES[type];
}
