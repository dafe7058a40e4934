import assert from "node:assert/strict";
import { test } from "vitest";
import { hasType } from "../../../src/lab/build/runner/syntax-error.js";

test.each([
  ["export function f(x: number) {", true],
  ["export function f(x): string {", true],
  ["const pods: V1Pod[] = [];", true],
  ["interface Pod {", true],
  ["export type Phase = 'Running';", true],
  ["import type { Pod } from './pod.js';", true],
  ["  return value as string;", true],
  ["  private count = 0;", true],
  ["export function f(x {", false],
  ["const phase = ready ? a : ;", false],
  ["type = ;", false],
  ["return { phase: 'Running' ;", false],
])("%s: has a type is %s", (line, expected) => {
  assert.equal(hasType(line), expected);
});
