import { expect, test } from "vitest";
import { validatePod } from "../../../../../../src/cluster/apiserver/registry/core/pods/validation.js";

function problems(spec: object, container: object = {}): string[] {
  const plain = { name: "a", image: "b", imagePullPolicy: "Always", terminationMessagePolicy: "File" };
  const containers = [{ ...plain, ...container }];
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", namespace: "default" },
    spec: { containers, restartPolicy: "Always", dnsPolicy: "ClusterFirst", ...spec },
  };
  return validatePod(pod).map(({ field, text }) => `${field}: ${text}`);
}

test("names of sysctls", () => {
  const names = [
    "kernel.shmmax",
    "net/ipv4/ip_local_port_range",
    "foo-",
    "bar..",
    "",
    "kernel.shmmax",
    "a".repeat(254),
  ];
  const sysctls = names.map((name) => ({ name, value: "1" }));
  const rule =
    "must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
  expect(problems({ securityContext: { sysctls } })).toEqual([
    `spec.securityContext.sysctls[2].name: Invalid value: "foo-": ${rule}`,
    `spec.securityContext.sysctls[3].name: Invalid value: "bar..": ${rule}`,
    "spec.securityContext.sysctls[4].name: Required value",
    'spec.securityContext.sysctls[5].name: Duplicate value: "kernel.shmmax"',
    `spec.securityContext.sysctls[6].name: Invalid value: "${"a".repeat(254)}": ${rule}`,
  ]);
});

test("a prefix of envFrom follows the rule of environment variables", () => {
  const prefixed = (prefix: string) => problems({}, { envFrom: [{ prefix, configMapRef: { name: "c" } }] });
  expect([prefixed("p-"), prefixed("p.q_")]).toEqual([[], []]);
  expect(prefixed("1p")[0]).toMatch(
    /^spec\.containers\[0\]\.envFrom\[0\]\.prefix: Invalid value: "1p": a valid environment variable name/,
  );
});
