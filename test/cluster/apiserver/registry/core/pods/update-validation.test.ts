import { describe, expect, test } from "vitest";
import { validatePodUpdate } from "../../../../../../src/cluster/apiserver/registry/core/pods/update-validation.js";

type Toleration = { key: string; operator: string; effect: string; tolerationSeconds?: number };

function pod(tolerations: readonly Toleration[]) {
  const containers = [{ name: "a", image: "b", imagePullPolicy: "Always", terminationMessagePolicy: "File" }];
  const spec = { containers, tolerations: [...tolerations], restartPolicy: "Always", dnsPolicy: "ClusterFirst" };
  return { apiVersion: "v1", kind: "Pod", metadata: { name: "p", namespace: "default" }, spec };
}

function toleration(key: string, tolerationSeconds?: number): Toleration {
  return {
    key,
    operator: "Exists",
    effect: "NoExecute",
    ...(tolerationSeconds === undefined ? {} : { tolerationSeconds }),
  };
}

/** A pod whose only container has these fields, in this order. */
function podOf(container: Readonly<Record<string, unknown>>) {
  const { spec, ...rest } = pod([]);
  return { ...rest, spec: { ...spec, containers: spec.containers.map((usual) => ({ ...container, ...usual })) } };
}

test("a refused update shows both versions with their fields in Go's order, whatever order a client sends", () => {
  const before = podOf({
    resources: { requests: { memory: "1Mi", cpu: "1" } },
    env: [{ value: "1", name: "E" }],
    tty: true,
  });
  const after = podOf({
    tty: true,
    env: [{ name: "E", value: "2" }],
    resources: { requests: { cpu: "1", memory: "1Mi" } },
  });
  const [error, ...others] = validatePodUpdate(after, before);
  expect(others).toEqual([]);
  const lines = (error?.text ?? "").split("\n").filter((line) => line.includes("Containers: ") && /^[-+]/.test(line));
  const shown = (value: number) =>
    expect.stringMatching(
      `\\{\\{Name: "a", Image: "b", Env: \\{\\{Name: "E", Value: "${value}"\\}\\}, Resources: \\{Requests: \\{"cpu": "1", "memory": "1Mi"\\}\\}, .*Tty: true`,
    );
  expect(lines).toEqual([shown(1), shown(2)]);
});

describe("tolerations of an update", () => {
  const table: readonly (readonly [what: string, before: Toleration[], after: Toleration[], isAllowed: boolean])[] = [
    ["another tolerationSeconds", [toleration("a", 1)], [toleration("a", 2)], true],
    ["one more", [toleration("a")], [toleration("b"), toleration("a")], true],
    ["one less", [toleration("a"), toleration("b")], [toleration("a")], false],
    ["another key", [toleration("a")], [toleration("b")], false],
  ];
  for (const [what, before, after, isAllowed] of table) {
    test(`${what}: ${isAllowed ? "allowed" : "refused"}`, () => {
      const fields = validatePodUpdate(pod(after), pod(before)).map(({ field }) => field);
      expect(fields).toEqual(isAllowed ? [] : ["spec.tolerations"]);
    });
  }

  test("are compared in linear time", () => {
    const readsOf = (count: number) => {
      let reads = 0;
      const counted = Array.from({ length: count }, (_, i) => ({
        ...toleration(""),
        get key() {
          reads++;
          return `k${i}`;
        },
      }));
      validatePodUpdate(pod(counted), pod(counted));
      return reads;
    };
    expect(readsOf(800)).toBeLessThan(5 * readsOf(200));
  });
});
