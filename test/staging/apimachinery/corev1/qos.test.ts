import assert from "node:assert/strict";
import { test } from "vitest";
import { getPodQos } from "../../../../src/staging/apimachinery/corev1/qos.js";

interface Lists {
  readonly requests?: Record<string, string>;
  readonly limits?: Record<string, string>;
}

function specOf(containers: readonly Lists[], initContainers: readonly Lists[] = []) {
  const named = (list: readonly Lists[]) =>
    list.map((resources, i) => ({ name: `c${i}`, resources: { ...resources } }));
  return { containers: named(containers), initContainers: named(initContainers) };
}

const FULL = { limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "1000m", memory: "1024Mi" } };
const table: readonly (readonly [string, ReturnType<typeof specOf>, string])[] = [
  ["nothing requested", specOf([{}]), "BestEffort"],
  ["zero is nothing", specOf([{ requests: { cpu: "0" } }]), "BestEffort"],
  ["other resources do not count", specOf([{ limits: { "example.com/gpu": "1" } }]), "BestEffort"],
  ["a request", specOf([{ requests: { cpu: "100m" } }]), "Burstable"],
  ["one resource limited", specOf([{ limits: { cpu: "1" }, requests: { cpu: "1" } }]), "Burstable"],
  ["all limited, requests equal in another unit", specOf([FULL]), "Guaranteed"],
  ["one of two containers without limits", specOf([FULL, {}]), "Burstable"],
  ["an init container without limits", specOf([FULL], [{}]), "Burstable"],
  ["an init container with limits", specOf([FULL], [FULL]), "Guaranteed"],
  ["requests below limits", specOf([{ ...FULL, requests: { cpu: "1", memory: "1Mi" } }]), "Burstable"],
];
for (const [name, spec, want] of table) test(`qos: ${name} is ${want}`, () => assert.equal(getPodQos(spec), want));
