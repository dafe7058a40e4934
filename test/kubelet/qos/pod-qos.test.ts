import assert from "node:assert/strict";
import { test } from "vitest";
import type { V1Pod } from "../../../src/apimachinery/api/pod.js";
import { getPodQos } from "../../../src/kubelet/qos/pod-qos.js";
import { milliValue, unitValue } from "../../../src/kubelet/qos/quantity.js";
import { nanoValue } from "../../../src/util/quantity.js";

interface Lists {
  readonly requests?: Record<string, string>;
  readonly limits?: Record<string, string>;
}

function podOf(containers: readonly Lists[], initContainers: readonly Lists[] = []): V1Pod {
  const named = (list: readonly Lists[]) =>
    list.map((resources, i) => ({ name: `c${i}`, resources: { ...resources } }));
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", namespace: "default", uid: "u" },
    spec: { containers: named(containers), initContainers: named(initContainers) },
    status: {},
  };
}

const FULL = { limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "1000m", memory: "1024Mi" } };
const table: readonly (readonly [string, V1Pod, string])[] = [
  ["nothing asked for", podOf([{}]), "BestEffort"],
  ["zero is nothing", podOf([{ requests: { cpu: "0" } }]), "BestEffort"],
  ["other resources do not count", podOf([{ limits: { "example.com/gpu": "1" } }]), "BestEffort"],
  ["a request", podOf([{ requests: { cpu: "100m" } }]), "Burstable"],
  ["one resource limited", podOf([{ limits: { cpu: "1" }, requests: { cpu: "1" } }]), "Burstable"],
  ["all limited, requests equal in another unit", podOf([FULL]), "Guaranteed"],
  ["one of two containers without limits", podOf([FULL, {}]), "Burstable"],
  ["an init container without limits", podOf([FULL], [{}]), "Burstable"],
  ["an init container with limits", podOf([FULL], [FULL]), "Guaranteed"],
  ["requests below limits", podOf([{ ...FULL, requests: { cpu: "1", memory: "1Mi" } }]), "Burstable"],
];
for (const [name, pod, want] of table) test(`qos: ${name} is ${want}`, () => assert.equal(getPodQos(pod), want));

const amounts: readonly (readonly [unknown, number | undefined, number | undefined])[] = [
  ["1", 1000, 1],
  ["100m", 100, 1],
  ["1.5", 1500, 2],
  [2, 2000, 2],
  ["1e3", 1_000_000, 1000],
  ["1Ki", 1_024_000, 1024],
  ["1n", 1, 1],
  ["1G", 1e12, 1e9],
  ["", undefined, undefined],
  ["1X", undefined, undefined],
  [{}, undefined, undefined],
];
for (const [text, milli, unit] of amounts) {
  test(`quantity: ${JSON.stringify(text)}`, () => {
    assert.equal(nanoValue(text) === undefined, milli === undefined);
    assert.equal(milliValue(text), milli ?? 0);
    assert.equal(unitValue(text), unit ?? 0);
  });
}
