import { appsDefaults } from "./apps.js";
import { coreDefaults } from "./core.js";
import { podDefaults } from "./pod.js";
import type { DefaultsFunction } from "./struct.js";

/** @returns what to run on a struct of this type once its fields, and theirs, are in place */
export function typeDefaults(type: string): DefaultsFunction | undefined {
  return podDefaults[type] ?? coreDefaults[type] ?? appsDefaults[type];
}
