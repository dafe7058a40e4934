import { describe, expect, test } from "vitest";
import { Trace } from "../../../../src/trace/trace.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { ADMIN, contextOf, openTableLab, refusal, refusalIfAny, type TableLab } from "../registry/table-lab.js";

const LABEL = "pod-security.kubernetes.io/";

const namespaceOf = (labels: Readonly<Record<string, string>>) => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: {
    name: "n",
    labels: Object.fromEntries(Object.entries(labels).map(([mode, value]) => [`${LABEL}${mode}`, value])),
  },
});

interface PodFields {
  readonly pod?: object;
  readonly container?: object;
  readonly annotations?: Readonly<Record<string, string>>;
}

function podOf({ pod = {}, container = {}, annotations = {} }: PodFields, name = "p"): object {
  const spec = { containers: [{ name: "c", image: "x", ...container }], automountServiceAccountToken: false, ...pod };
  return { apiVersion: "v1", kind: "Pod", metadata: { name, annotations }, spec };
}

const GOOD = {
  pod: { securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } } },
  container: { securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } } },
};

async function openLab(
  labels: Readonly<Record<string, string>>,
  kubeVersion = "1.25",
  trace?: Trace,
): Promise<TableLab> {
  const lab = await openTableLab(trace, kubeVersion);
  await lab.create("namespaces", namespaceOf(labels));
  const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default" } };
  await lab.create("serviceaccounts", account, { namespace: "n" });
  return lab;
}

/** The text after the level, as `privileged (…)`; empty: the pod was admitted. */
async function violationOf(labels: Readonly<Record<string, string>>, pod: PodFields, kubeVersion?: string) {
  const lab = await openLab(labels, kubeVersion);
  const status = await refusalIfAny(lab.create("pods", podOf(pod), { namespace: "n" }));
  return status?.message?.replace(/^pods "p" is forbidden: violates PodSecurity "[a-z]+:[a-z0-9.]+": /, "") ?? "";
}

test("a pod that sets nothing violates restricted with four reasons", async () => {
  const lab = await openLab({ enforce: "restricted" });
  expect(await refusal(lab.create("pods", podOf({}), { namespace: "n" }))).toMatchObject({
    code: 403,
    reason: "Forbidden",
    details: { name: "p", kind: "pods" },
    message: [
      'pods "p" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false',
      '(container "c" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities',
      '(container "c" must set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or container "c"',
      "must set securityContext.runAsNonRoot=true), seccompProfile (pod or container",
      '"c" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
    ].join(" "),
  });
});

const BASELINE: readonly [violation: string, pod: PodFields][] = [
  ["", {}],
  [
    "host namespaces (hostNetwork=true, hostPID=true, hostIPC=true)",
    { pod: { hostNetwork: true, hostPID: true, hostIPC: true } },
  ],
  ['hostPath volumes (volume "v")', { pod: { volumes: [{ name: "v", hostPath: { path: "/" } }] } }],
  ['hostPort (container "c" uses hostPort 80)', { container: { ports: [{ containerPort: 80, hostPort: 80 }] } }],
  [
    'privileged (container "c" must not set securityContext.privileged=true)',
    { container: { securityContext: { privileged: true } } },
  ],
  [
    'non-default capabilities (container "c" must not include "NET_ADMIN", "SYS_TIME" in securityContext.capabilities.add)',
    { container: { securityContext: { capabilities: { add: ["SYS_TIME", "CHOWN", "NET_ADMIN"] } } } },
  ],
  [
    "forbidden sysctls (kernel.msgmax)",
    { pod: { securityContext: { sysctls: [{ name: "kernel.msgmax", value: "1" }] } } },
  ],
  [
    'seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")',
    { pod: { securityContext: { seccompProfile: { type: "Unconfined" } } } },
  ],
  [
    'seLinuxOptions (pod and container "c" set forbidden securityContext.seLinuxOptions: type "foo"; user may not be set)',
    {
      pod: { securityContext: { seLinuxOptions: { type: "foo" } } },
      container: { securityContext: { seLinuxOptions: { user: "u" } } },
    },
  ],
  [
    'forbidden AppArmor profile (annotation must not set AppArmor profile type to "container.apparmor.security.beta.kubernetes.io/c="unconfined"")',
    { annotations: { "container.apparmor.security.beta.kubernetes.io/c": "unconfined" } },
  ],
];

describe("baseline", () => {
  test.each(BASELINE)("%s", async (violation, pod) => {
    expect(await violationOf({ enforce: "baseline" }, pod)).toBe(violation);
  });
});

const merged = ({ pod = {}, container = {} }: PodFields): PodFields => ({
  pod: { ...GOOD.pod, ...pod },
  container: { ...GOOD.container, ...container },
});

const RESTRICTED: readonly [violation: string, pod: PodFields][] = [
  ["", {}],
  ["", { pod: { volumes: [{ name: "v", emptyDir: {} }] } }],
  [
    'restricted volume types (volumes "v", "w" use restricted volume types "hostPath", "nfs")',
    {
      pod: {
        volumes: [
          { name: "v", nfs: { server: "s", path: "/" } },
          { name: "w", hostPath: { path: "/" } },
        ],
      },
    },
  ],
  [
    'unrestricted capabilities (container "c" must not include "CHOWN" in securityContext.capabilities.add)',
    {
      container: {
        securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"], add: ["CHOWN"] } },
      },
    },
  ],
  [
    "runAsUser=0 (pod must not set runAsUser=0)",
    { pod: { securityContext: { ...GOOD.pod.securityContext, runAsUser: 0 } } },
  ],
  [
    "runAsNonRoot != true (pod must not set securityContext.runAsNonRoot=false)",
    { pod: { securityContext: { ...GOOD.pod.securityContext, runAsNonRoot: false } } },
  ],
];

describe("restricted", () => {
  test.each(RESTRICTED)("%s", async (violation, pod) => {
    expect(await violationOf({ enforce: "restricted" }, merged(pod))).toBe(violation);
  });
});

const RESERVED_PORTS = {
  pod: { securityContext: { sysctls: [{ name: "net.ipv4.ip_local_reserved_ports", value: "1" }] } },
};
const PROBE = { container: { livenessProbe: { httpGet: { host: "example.com", port: 80 } } } };
const ROOT = merged({ pod: { securityContext: { ...GOOD.pod.securityContext, runAsUser: 0 } } });

/** A release knows the checks of its time; a namespace can ask for those of an earlier one. */
const VERSIONS: readonly [kubeVersion: string, level: string, version: string, pod: PodFields, violation: string][] = [
  ["1.26", "baseline", "latest", RESERVED_PORTS, "forbidden sysctls (net.ipv4.ip_local_reserved_ports)"],
  ["1.27", "baseline", "latest", RESERVED_PORTS, ""],
  ["1.27", "baseline", "v1.26", RESERVED_PORTS, "forbidden sysctls (net.ipv4.ip_local_reserved_ports)"],
  ["1.26", "baseline", "v1.27", RESERVED_PORTS, "forbidden sysctls (net.ipv4.ip_local_reserved_ports)"],
  ["1.33", "baseline", "v1.34", PROBE, ""],
  [
    "1.34",
    "baseline",
    "latest",
    PROBE,
    'probe or lifecycle host (container "c" uses probe or lifecycle host "example.com")',
  ],
  ["1.34", "baseline", "v1.33", PROBE, ""],
  ["1.25", "restricted", "v1.22", ROOT, ""],
  ["1.25", "restricted", "v1.23", ROOT, "runAsUser=0 (pod must not set runAsUser=0)"],
];

describe("versions", () => {
  test.each(VERSIONS)("release %s, %s:%s", async (kubeVersion, level, version, pod, violation) => {
    const labels = { enforce: level, "enforce-version": version };
    expect(await violationOf(labels, pod, kubeVersion)).toBe(violation);
  });
});

const PRIVILEGED = { container: { securityContext: { privileged: true } } };
const PRIVILEGED_TEXT = 'privileged (container "c" must not set securityContext.privileged=true)';

async function warningsOf(lab: TableLab, resource: string, body: object): Promise<readonly string[]> {
  const warnings: string[] = [];
  await lab.create(resource, body, { namespace: "n", warnings });
  return warnings;
}

test("a deployment is only warned about, and its pods are refused", async () => {
  const lab = await openLab({ enforce: "baseline" });
  const template = {
    metadata: { labels: { a: "b" } },
    spec: { containers: [{ name: "c", image: "x", ...PRIVILEGED.container }] },
  };
  const deployment = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "d" },
    spec: { selector: { matchLabels: { a: "b" } }, template },
  };
  expect(await warningsOf(lab, "deployments", deployment)).toEqual([
    `would violate PodSecurity "baseline:latest": ${PRIVILEGED_TEXT}`,
  ]);
  expect(await refusalIfAny(lab.create("pods", podOf(PRIVILEGED), { namespace: "n" }))).toBeDefined();
});

test("warn and audit admit the pod; the audit is a fact of the trace", async () => {
  const trace = new Trace(new FakeClock());
  const facts: string[] = [];
  trace.addSink({
    write: (event) => {
      if (event.kind === "decision") facts.push(event.why);
    },
  });
  const lab = await openLab({ warn: "baseline", audit: "baseline", "audit-version": "v1.24" }, "1.25", trace);
  expect(await warningsOf(lab, "pods", podOf(PRIVILEGED))).toEqual([
    `would violate PodSecurity "baseline:latest": ${PRIVILEGED_TEXT}`,
  ]);
  expect(facts).toContain(`audit-violations: would violate PodSecurity "baseline:v1.24": ${PRIVILEGED_TEXT}`);
});

const WRONG_LABELS: readonly [labels: Readonly<Record<string, string>>, message: string][] = [
  [
    { enforce: "strict" },
    'metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "strict": must be one of privileged, baseline, restricted',
  ],
  [
    { "warn-version": "1.25" },
    'metadata.labels[pod-security.kubernetes.io/warn-version]: Invalid value: "1.25": must be "latest" or "v1.x"',
  ],
];

test.each(WRONG_LABELS)("a namespace with %j is refused", async (labels, message) => {
  const lab = await openTableLab();
  const status = await refusal(lab.create("namespaces", namespaceOf(labels)));
  expect([status.code, status.message]).toEqual([422, `Namespace "n" is invalid: ${message}`]);
});

test("a namespace that becomes stricter warns about its pods", async () => {
  const lab = await openLab({});
  for (const name of ["b", "a", "ok"]) {
    await lab.create("pods", podOf(name === "ok" ? GOOD : PRIVILEGED, name), { namespace: "n" });
  }
  const context = contextOf(ADMIN);
  await lab.registry.store("namespaces").update(context, undefined, "n", undefined, (current) => {
    if (current === undefined) throw new Error("the namespace is gone");
    return { ...current, metadata: { ...current.metadata, labels: { [`${LABEL}enforce`]: "baseline" } } };
  });
  expect(context.warnings).toEqual([
    'existing pods in namespace "n" violate the new PodSecurity enforce level "baseline:latest"',
    "a (and 1 other pod): privileged",
  ]);
});

test("a pod from before the labels can change its own labels, but not its image", async () => {
  const lab = await openLab({});
  const pod = await lab.create("pods", podOf(PRIVILEGED), { namespace: "n" });
  await lab.registry.store("namespaces").update(contextOf(ADMIN), undefined, "n", undefined, (current) => {
    if (current === undefined) throw new Error("the namespace is gone");
    return { ...current, metadata: { ...current.metadata, labels: { [`${LABEL}enforce`]: "restricted" } } };
  });
  const labelled = { ...pod, metadata: { ...pod.metadata, labels: { a: "b" }, resourceVersion: undefined } };
  expect(await refusalIfAny(lab.put("pods", "p", labelled, { namespace: "n" }))).toBeUndefined();
  const spec = pod.spec as { readonly containers: readonly object[] };
  const changed = { ...labelled, spec: { ...spec, containers: [{ ...spec.containers[0], image: "y" }] } };
  expect((await refusal(lab.put("pods", "p", changed, { namespace: "n" }))).message).toMatch(
    /violates PodSecurity "restricted:latest"/,
  );
});
