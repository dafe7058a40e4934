import { describe, expect, test } from "vitest";
import { setDefaults } from "../../../src/kubelet/apis/config/defaults.js";
import type { KubeletConfigurationFields } from "../../../src/kubelet/apis/config/fields.js";
import { checkNodeAllocatable, checkReserved } from "../../../src/kubelet/cm/reservations.js";

function messageOf(check: () => void): string | undefined {
  try {
    check();
  } catch (error) {
    return (error as Error).message;
  }
  return undefined;
}

describe("what a configuration reserves", () => {
  for (const [kubeReserved, want] of [
    [{ cpu: "100m", memory: "1Gi", "ephemeral-storage": "0", pid: "1000" }, undefined],
    [
      { cpu: "lots" },
      '--kube-reserved value failed to parse: failed to parse quantity "lots" for "cpu" resource: it is not a quantity',
    ],
    [{ memory: "-1" }, '--kube-reserved value failed to parse: resource quantity for "memory" cannot be negative: -1'],
    [{ pods: "3" }, '--kube-reserved value failed to parse: cannot reserve "pods" resource'],
  ] as const) {
    test(JSON.stringify(kubeReserved), () => {
      expect(messageOf(() => checkReserved({ kubeReserved }))).toBe(want);
      const ofSystem = messageOf(() => checkReserved({ systemReserved: kubeReserved }));
      expect(ofSystem).toBe(want?.replace("kube", "system"));
    });
  }
});

describe("a node of 2 CPUs and 1Gi has what is kept from its pods", () => {
  const capacity = { cpu: "2", memory: "1Gi", pods: "110", disk: "10Gi" };
  const tooMuch = (name: string, reserved: string, has: string) =>
    `Resource "${name}" has a reservation of ${reserved} but capacity of ${has}. Expected capacity >= reservation.`;
  const rows: readonly (readonly [KubeletConfigurationFields, readonly string[]])[] = [
    [{}, []],
    [{ kubeReserved: { cpu: "1" }, systemReserved: { cpu: "1" } }, []],
    [{ kubeReserved: { cpu: "1" }, systemReserved: { cpu: "1001m" } }, [tooMuch("cpu", "2001m", "2")]],
    [{ evictionHard: { "memory.available": "100%", "nodefs.available": "10Gi" } }, []],
    [
      { kubeReserved: { memory: "512Mi", "ephemeral-storage": "11Gi" }, evictionHard: { "memory.available": "50.1%" } },
      [tooMuch("ephemeral-storage", "11Gi", "10Gi"), 'Resource "memory" has a reservation of '],
    ],
    [{ systemReserved: { pid: "100000" } }, []],
  ];
  for (const [fields, want] of rows) {
    test(JSON.stringify(fields), () => {
      const message = messageOf(() => checkNodeAllocatable(setDefaults(fields, "1.25"), capacity));
      if (want.length === 0) expect(message).toBeUndefined();
      else expect(message).toMatch(/^invalid Node Allocatable configuration\. Resource /);
      for (const one of want) expect(message).toContain(one);
    });
  }
});
