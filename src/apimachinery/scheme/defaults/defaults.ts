import { appsDefaults } from "./apps.js";
import { coreDefaults } from "./core.js";
import { podDefaults } from "./pod.js";
import type { DefaultsFunction } from "./struct.js";

/** @returns the function to run on a struct of this type once its fields, and theirs, are decoded */
export function typeDefaults(type: string): DefaultsFunction | undefined {
  return podDefaults[type] ?? coreDefaults[type] ?? appsDefaults[type];
}
