import { expect, test } from "vitest";
import { allowedSysctlsProblem, SysctlAllowlist } from "../../../src/kubelet/lifecycle/sysctl-allowlist.js";
import type { V1Pod } from "../../../src/staging/apimachinery/api/pod.js";

/** What the node says to a pod with these sysctls. */
async function answer(sysctls: readonly string[], spec: object, allowedUnsafe: readonly string[], release = "1.25") {
  const securityContext = { sysctls: sysctls.map((name) => ({ name, value: "1" })) };
  const pod = { metadata: { name: "p" }, spec: { containers: [], securityContext, ...spec } } as unknown as V1Pod;
  const result = await new SysctlAllowlist(allowedUnsafe, release).admit({ pod, otherPods: [] });
  return result.admit ? "admitted" : `${result.reason}: ${result.message}`;
}

const forbidden = (why: string) => `SysctlForbidden: forbidden sysctl: ${why}`;
const TABLE: readonly (readonly [sysctls: string[], spec: object, allowedUnsafe: string[], wanted: string])[] = [
  [[], {}, [], "admitted"],
  [["kernel.shm_rmid_forced", "net.ipv4.tcp_syncookies"], {}, [], "admitted"],
  [["net/ipv4/ip_local_port_range"], {}, [], "admitted"],
  [["kernel.msgmax"], {}, [], forbidden('"kernel.msgmax" not allowlisted')],
  [["kernel/msgmax"], {}, [], forbidden('"kernel.msgmax" not allowlisted')],
  [["net.ipv4.tcp_syncookies", "net.core.somaxconn"], {}, [], forbidden('"net.core.somaxconn" not allowlisted')],
  [["kernel.msgmax", "kernel.msgmnb"], {}, ["kernel.msg*"], "admitted"],
  [["kernel.shmmax"], {}, ["kernel.msg*"], forbidden('"kernel.shmmax" not allowlisted')],
  [["net.core.somaxconn"], {}, ["net/core/somaxconn"], "admitted"],
  [["kernel.sem"], { hostIPC: true }, ["kernel.sem"], forbidden('"kernel.sem" not allowed with host ipc enabled')],
  [
    ["net.ipv4.tcp_syncookies"],
    { hostNetwork: true },
    [],
    forbidden('"net.ipv4.tcp_syncookies" not allowed with host net enabled'),
  ],
  [["net.ipv4.tcp_syncookies"], { hostIPC: true }, [], "admitted"],
];
for (const [sysctls, spec, allowedUnsafe, wanted] of TABLE) {
  test(`sysctls ${sysctls.join(" ")} of a pod with ${JSON.stringify(spec)}, allowed: ${allowedUnsafe.join()}`, async () => {
    expect(await answer(sysctls, spec, allowedUnsafe)).toBe(wanted);
  });
}

test("each release adds safe sysctls", async () => {
  for (const [name, release, isSafe] of [
    ["net.ipv4.ip_local_reserved_ports", "1.26", false],
    ["net.ipv4.ip_local_reserved_ports", "1.27", true],
    ["net.ipv4.tcp_keepalive_time", "1.28", false],
    ["net.ipv4.tcp_keepalive_time", "1.29", true],
    ["net.ipv4.tcp_rmem", "1.32", true],
  ] as const) {
    expect((await answer([name], {}, [], release)) === "admitted", `${name} in ${release}`).toBe(isSafe);
  }
});

const CONFIGS: readonly (readonly [pattern: string, problem: RegExp | undefined])[] = [
  ["kernel.msg*", undefined],
  ["net/core/somaxconn", undefined],
  ["kernel.sem", undefined],
  ["vm.swappiness", /^the sysctl "vm.swappiness" are not known to be namespaced$/],
  ["kernel.*", /^the sysctls "kernel.\*" are not known to be namespaced$/],
  ["Kernel.sem", /^sysctl "Kernel.sem" must have at most 253 characters and match regex /],
  ["*x", /must have at most 253 characters/],
];
for (const [pattern, problem] of CONFIGS) {
  test(`allowedUnsafeSysctls: ${pattern}`, () => {
    const found = allowedSysctlsProblem([pattern]);
    if (problem === undefined) expect(found).toBeUndefined();
    else expect(found).toMatch(problem);
  });
}
