import { describe, expect, test } from "vitest";
import { openTableLab, refusal, refusalIfAny } from "../table-lab.js";

function quota(spec: object, more: object = {}): object {
  return { apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "q" }, spec, ...more };
}

function limitRange(...limits: readonly object[]): object {
  return { apiVersion: "v1", kind: "LimitRange", metadata: { name: "l" }, spec: { limits } };
}

const scopes = (...list: readonly string[]) =>
  `Invalid value: []core.ResourceQuotaScope{${list.map((one) => `"${one}"`).join(", ")}}`;
const selecting = (scopeName: string, operator?: string, values?: readonly string[]) => ({
  scopeSelector: { matchExpressions: [{ scopeName, operator, values }] },
});
const shownSelector = (scope: string) =>
  `Invalid value: core.ScopeSelector{MatchExpressions:[]core.ScopedResourceSelectorRequirement{core.ScopedResourceSelectorRequirement{ScopeName:"${scope}", Operator:"Exists", Values:[]string(nil)}}}`;
const expressions = "spec.scopeSelector.matchExpressions";
const existsOnly =
  "must be 'Exist' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";

const SPECS: readonly [title: string, spec: object, why: string | undefined][] = [
  ["nothing limited", {}, undefined],
  ["amounts of pods", { hard: { cpu: "1", "limits.memory": "1Gi", "requests.ephemeral-storage": "1G" } }, undefined],
  ["counts of old names", { hard: { pods: "1", "services.nodeports": "0", configmaps: "3" } }, undefined],
  ["counts of any kind", { hard: { "count/deployments.apps": "2", "count/widgets.example.com": "1" } }, undefined],
  ["extended resources and hugepages", { hard: { "requests.a.b/c": "2", "requests.hugepages-2Mi": "2Mi" } }, undefined],
  ["storage of a class", { hard: { "gold.storageclass.storage.k8s.io/requests.storage": "5Gi" } }, undefined],
  [
    "an unknown resource",
    { hard: { gpu: "1" } },
    'spec.hard[gpu]: Invalid value: "gpu": must be a standard resource type or fully qualified, spec.hard[gpu]: Invalid value: "gpu": must be a standard resource for quota',
  ],
  [
    "a resource that a quota cannot limit",
    { hard: { storage: "1Gi" } },
    'spec.hard[storage]: Invalid value: "storage": must be a standard resource for quota',
  ],
  [
    "an invalid name",
    { hard: { "a b/c": "1" } },
    "spec.hard[a b/c]: Invalid value: \"a b/c\": prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
  ],
  [
    "less than nothing",
    { hard: { memory: "-1Gi" } },
    'spec.hard[memory]: Invalid value: "-1Gi": must be greater than or equal to 0',
  ],
  ["half a pod", { hard: { pods: "500m" } }, 'spec.hard[pods]: Invalid value: "500m": must be an integer'],
  ["half a device", { hard: { "a.b/c": "500m" } }, 'spec.hard[a.b/c]: Invalid value: "500m": must be an integer'],
  ["a scope", { hard: { pods: "1" }, scopes: ["BestEffort"] }, undefined],
  [
    "a scope of pods with a count of another kind",
    { hard: { "count/jobs.batch": "1" }, scopes: ["Terminating"] },
    undefined,
  ],
  ["an unknown scope", { scopes: ["Idle"] }, `spec.scopes: ${scopes("Idle")}: unsupported scope`],
  [
    "a scope that excludes the resource",
    { hard: { cpu: "1" }, scopes: ["BestEffort"] },
    `spec.scopes: ${scopes("BestEffort")}: unsupported scope applied to resource`,
  ],
  [
    "a scope of pods with services",
    { hard: { services: "1" }, scopes: ["NotTerminating"] },
    `spec.scopes: ${scopes("NotTerminating")}: unsupported scope applied to resource`,
  ],
  [
    "scopes that no pod has together",
    { scopes: ["Terminating", "NotTerminating"] },
    `spec.scopes: ${scopes("Terminating", "NotTerminating")}: conflicting scopes`,
  ],
  ["a selector of priorities", selecting("PriorityClass", "In", ["high"]), undefined],
  ["a selector of affinities", selecting("CrossNamespacePodAffinity", "Exists"), undefined],
  [
    "an operator that is not for the scope",
    selecting("BestEffort", "In", ["x"]),
    `${expressions}.operator: Invalid value: "In": ${existsOnly}`,
  ],
  [
    "In without values",
    selecting("PriorityClass", "In"),
    `${expressions}.values: Required value: must be at least one value when \`operator\` is 'In' or 'NotIn' for scope selector`,
  ],
  [
    "Exists with a value",
    selecting("PriorityClass", "Exists", ["x"]),
    `${expressions}.values: Invalid value: []string{"x"}: must be no value when \`operator\` is 'Exist' or 'DoesNotExist' for scope selector`,
  ],
  [
    "an unknown operator",
    selecting("PriorityClass", "Like"),
    `${expressions}.operator: Invalid value: "Like": not a valid selector operator`,
  ],
  [
    "an unknown scope in a selector",
    selecting("Idle", "Exists"),
    `${expressions}.scopeName: Invalid value: "Idle": unsupported scope`,
  ],
  [
    "a selector that excludes the resource",
    { hard: { services: "1" }, ...selecting("NotBestEffort", "Exists") },
    `${expressions}: ${shownSelector("NotBestEffort")}: unsupported scope applied to resource`,
  ],
];

describe("a ResourceQuota with", () => {
  for (const [title, spec, why] of SPECS) {
    test(`${title} is ${why === undefined ? "accepted" : "refused"}`, async () => {
      const lab = await openTableLab();
      const status = await refusalIfAny(lab.create("resourcequotas", quota(spec)));
      const list = why?.includes(", spec.") ? `[${why}]` : why;
      expect(status?.message).toBe(why && `ResourceQuota "q" is invalid: ${list}`);
    });
  }

  test("other scopes than before is refused, and the same in another order is not", async () => {
    const lab = await openTableLab();
    await lab.create("resourcequotas", quota({ scopes: ["Terminating", "BestEffort"] }));
    await lab.put("resourcequotas", "q", quota({ scopes: ["BestEffort", "Terminating"] }));
    const change = await refusal(lab.put("resourcequotas", "q", quota({ scopes: ["BestEffort"] })));
    expect(change.message).toBe(
      `ResourceQuota "q" is invalid: spec.scopes: ${scopes("BestEffort")}: field is immutable`,
    );
  });

  test("a status gets it through /status only, which changes nothing else", async () => {
    const lab = await openTableLab();
    const hard = { pods: "2" };
    const created = await lab.create("resourcequotas", quota({ hard }, { status: { hard } }));
    expect(created.status).toEqual({});
    const sent = quota({ hard: { pods: "9" } }, { status: { hard, used: { pods: "1" } } });
    const written = await lab.put("resourcequotas", "q", sent, { subresource: "status" });
    expect([written.spec, written.status]).toEqual([{ hard }, { hard, used: { pods: "1" } }]);
    const kept = await lab.put("resourcequotas", "q", quota({ hard: { pods: "3" } }));
    expect([kept.spec, kept.status]).toEqual([{ hard: { pods: "3" } }, { hard, used: { pods: "1" } }]);
    const wrong = quota({}, { status: { hard: { pods: "1" }, used: { pods: "-1" } } });
    expect((await refusal(lab.put("resourcequotas", "q", wrong, { subresource: "status" }))).message).toBe(
      'ResourceQuota "q" is invalid: status.used[pods]: Invalid value: "-1": must be greater than or equal to 0',
    );
  });

  test("limits and requests shows them in two columns", async () => {
    const lab = await openTableLab();
    const status = { hard: { "limits.cpu": "2", pods: "10", cpu: "1" }, used: { "limits.cpu": "1500m", pods: "3" } };
    await lab.create("resourcequotas", quota({}));
    const stored = await lab.put("resourcequotas", "q", quota({}, { status }), { subresource: "status" });
    const { table } = lab.definition("resourcequotas");
    expect(table?.cells(stored, lab.clock.now())).toEqual(["q", "0s", "cpu: 0/1, pods: 3/10", "limits.cpu: 1500m/2"]);
  });
});

const LIMITS: readonly [title: string, item: object, why: string | undefined][] = [
  ["amounts of containers", { type: "Container", min: { cpu: "1m" }, max: { cpu: "1", "a.b/c": "2" } }, undefined],
  ["amounts of pods", { type: "Pod", max: { memory: "1Gi", "ephemeral-storage": "2Gi" } }, undefined],
  ["amounts of claims", { type: "PersistentVolumeClaim", max: { storage: "1Gi" } }, undefined],
  ["a type of another vendor", { type: "example.com/Disk", max: { storage: "1Gi" } }, undefined],
  [
    "an unknown type",
    { type: "Image", max: { storage: "1Gi" } },
    'type: Invalid value: "Image": must be a standard limit type or fully qualified',
  ],
  [
    "a resource that containers do not have",
    { type: "Pod", max: { storage: "1Gi" } },
    'max[storage]: Invalid value: "storage": must be a standard resource for containers',
  ],
  [
    "a name that quotas use",
    { type: "Pod", max: { "requests.a.b/c": "1" } },
    'max[requests.a.b/c]: Invalid value: "requests.a.b/c": doesn\'t follow extended resource name standard',
  ],
  [
    "defaults of pods",
    { type: "Pod", default: { cpu: "1" } },
    "default: Forbidden: may not be specified when `type` is 'Pod'",
  ],
  [
    "claims without storage",
    { type: "PersistentVolumeClaim", max: { cpu: "1" } },
    "limits: Required value: either minimum or maximum storage value is required, but neither was provided",
  ],
  [
    "a least that exceeds the most",
    { type: "Pod", min: { memory: "2Gi" }, max: { memory: "1Gi" } },
    'min[memory]: Invalid value: "2Gi": min value 2Gi is greater than max value 1Gi',
  ],
  [
    "a default request below the least",
    { type: "Container", min: { cpu: "100m" }, defaultRequest: { cpu: "50m" } },
    'defaultRequest[cpu]: Invalid value: "50m": min value 100m is greater than default request value 50m',
  ],
  [
    "a default request above the default limit",
    { type: "Container", default: { cpu: "1" }, defaultRequest: { cpu: "2" } },
    'defaultRequest[cpu]: Invalid value: "2": default request value 2 is greater than default limit value 1',
  ],
  [
    "a default limit above the most",
    { type: "Container", max: { cpu: "1" }, default: { cpu: "2" }, defaultRequest: { cpu: "1" } },
    'default[cpu]: Invalid value: "1": default value 2 is greater than max value 1',
  ],
  [
    "a default limit below the least",
    { type: "example.com/x", min: { cpu: "2" }, default: { cpu: "1" } },
    'default[cpu]: Invalid value: "2": min value 2 is greater than default value 1',
  ],
  [
    "a default request above the most",
    { type: "example.com/x", max: { cpu: "1" }, defaultRequest: { cpu: "2" } },
    'defaultRequest[cpu]: Invalid value: "2": default request value 2 is greater than max value 1',
  ],
  [
    "a ratio below 1",
    { type: "Pod", maxLimitRequestRatio: { cpu: "900m" } },
    'maxLimitRequestRatio[cpu]: Invalid value: "900m": ratio 900m is less than 1',
  ],
  [
    "a ratio that no container can have",
    { type: "Pod", min: { cpu: "400m" }, max: { cpu: "1" }, maxLimitRequestRatio: { cpu: "3" } },
    'maxLimitRequestRatio[cpu]: Invalid value: "3": ratio 3 is greater than max/min = 2.500000',
  ],
  [
    "devices that could be overcommitted",
    { type: "Container", default: { "a.b/c": "2" }, defaultRequest: { "a.b/c": "1" } },
    'defaultRequest[a.b/c]: Invalid value: "1": default value 2 must equal to defaultRequest value 1 in a.b/c',
  ],
];

describe("a LimitRange with", () => {
  for (const [title, item, why] of LIMITS) {
    test(`${title} is ${why === undefined ? "accepted" : "refused"}`, async () => {
      const lab = await openTableLab();
      const status = await refusalIfAny(lab.create("limitranges", limitRange(item)));
      expect(status?.message).toBe(why && `LimitRange "l" is invalid: spec.limits[0].${why}`);
    });
  }

  test("two items of one type is refused, also in an update", async () => {
    const lab = await openTableLab();
    const item = { type: "Pod", max: { cpu: "1" } };
    await lab.create("limitranges", limitRange(item));
    const update = await refusal(lab.put("limitranges", "l", limitRange(item, item)));
    expect(update.message).toBe('LimitRange "l" is invalid: spec.limits[1].type: Duplicate value: "Pod"');
  });

  const DEFAULTS: readonly [title: string, item: object, want: object][] = [
    ["the most is the default limit", { max: { cpu: "2" } }, { default: { cpu: "2" }, defaultRequest: { cpu: "2" } }],
    ["the least is the default request", { min: { cpu: "1" } }, { defaultRequest: { cpu: "1" } }],
    [
      "the default limit is the default request",
      { min: { cpu: "1" }, default: { cpu: "2" } },
      { default: { cpu: "2" }, defaultRequest: { cpu: "2" } },
    ],
  ];
  for (const [title, item, want] of DEFAULTS) {
    test(`amounts of containers: ${title}`, async () => {
      const lab = await openTableLab();
      const { spec } = await lab.create("limitranges", limitRange({ type: "Container", ...item }));
      expect(spec).toEqual({ limits: [{ type: "Container", ...item, ...want }] });
    });
  }
});
