import { describe, expect, test } from "vitest";
import { fields, items } from "../../../support/fields.js";
import { openTableLab, refusalIfAny, type TableLab } from "../registry/table-lab.js";

interface Resources {
  readonly requests?: Readonly<Record<string, string>>;
  readonly limits?: Readonly<Record<string, string>>;
}

function pod(
  containers: readonly Resources[],
  initContainers: readonly Resources[] = [],
  metadata: object = {},
): object {
  const named = (list: readonly Resources[], prefix: string) =>
    list.map((resources, index) => ({ name: `${prefix}${index}`, image: "x", resources }));
  const init = initContainers.length === 0 ? {} : { initContainers: named(initContainers, "i") };
  const spec = { containers: named(containers, "c"), ...init };
  return { apiVersion: "v1", kind: "Pod", metadata: { name: "p", ...metadata }, spec };
}

function claim(storage: string): object {
  const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage } } };
  return { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: { name: "c" }, spec };
}

async function limit(lab: TableLab, ...ranges: readonly (readonly object[])[]): Promise<void> {
  for (const [index, limits] of ranges.entries()) {
    const metadata = { name: `limits-${index}` };
    await lab.create("limitranges", { apiVersion: "v1", kind: "LimitRange", metadata, spec: { limits } });
  }
}

const DEFAULTS: readonly [
  title: string,
  ranges: readonly (readonly object[])[],
  pod: object,
  resources: readonly Resources[],
  annotation: string | undefined,
][] = [
  ["no limit range", [], pod([{}]), [{}], undefined],
  [
    "default requests and limits",
    [[{ type: "Container", default: { memory: "2Mi", cpu: "2" }, defaultRequest: { memory: "1Mi", cpu: "1" } }]],
    pod([{}]),
    [{ requests: { memory: "1Mi", cpu: "1" }, limits: { memory: "2Mi", cpu: "2" } }],
    "cpu, memory request for container c0; cpu, memory limit for container c0",
  ],
  [
    "default requests only",
    [[{ type: "Container", defaultRequest: { cpu: "1" } }]],
    pod([{}]),
    [{ requests: { cpu: "1" } }],
    "cpu request for container c0",
  ],
  [
    "a container that has a request of its own",
    [[{ type: "Container", default: { cpu: "2" }, defaultRequest: { cpu: "1" } }]],
    pod([{ requests: { cpu: "500m" } }, {}]),
    [
      { requests: { cpu: "500m" }, limits: { cpu: "2" } },
      { requests: { cpu: "1" }, limits: { cpu: "2" } },
    ],
    "cpu limit for container c0; cpu request for container c1; cpu limit for container c1",
  ],
  [
    "a container whose limit is its request already",
    [[{ type: "Container", default: { cpu: "2" }, defaultRequest: { cpu: "1" } }]],
    pod([{ limits: { cpu: "4" } }]),
    [{ requests: { cpu: "4" }, limits: { cpu: "4" } }],
    undefined,
  ],
  [
    "init containers",
    [[{ type: "Container", defaultRequest: { memory: "1Gi" } }]],
    pod([{}], [{}]),
    [{ requests: { memory: "1Gi" } }, { requests: { memory: "1Gi" } }],
    "memory request for container c0; memory request for init container i0",
  ],
  [
    "several limit ranges: the first default wins, and the last annotation",
    [[{ type: "Container", default: { cpu: "2" } }], [{ type: "Container", default: { cpu: "3", memory: "1Gi" } }]],
    pod([{}]),
    [{ requests: { cpu: "2", memory: "1Gi" }, limits: { cpu: "2", memory: "1Gi" } }],
    "memory request for container c0; memory limit for container c0",
  ],
  [
    "limits of pods only",
    [[{ type: "Pod", min: { cpu: "0" } }]],
    pod([{ requests: { cpu: "1" } }]),
    [{ requests: { cpu: "1" } }],
    undefined,
  ],
];

describe("the defaults of limit ranges, with", () => {
  for (const [title, ranges, body, resources, annotation] of DEFAULTS) {
    test(title, async () => {
      const lab = await openTableLab();
      await limit(lab, ...ranges);
      const { metadata, spec } = await lab.create("pods", body);
      const { containers, initContainers } = fields(spec);
      const shown = [...items(containers), ...items(initContainers)].map((one) => fields(one).resources);
      expect(shown).toEqual(resources);
      const set = annotation && `LimitRanger plugin set: ${annotation}`;
      expect(metadata.annotations?.["kubernetes.io/limit-ranger"]).toBe(set);
    });
  }
});

const both = (cpu: string): Resources => ({ requests: { cpu }, limits: { cpu } });

const PODS: readonly [title: string, item: object, pod: object, why: string | undefined][] = [
  ["enough", { type: "Container", min: { cpu: "1" } }, pod([both("1")]), undefined],
  [
    "too small a request",
    { type: "Container", min: { cpu: "1" } },
    pod([both("500m")]),
    "minimum cpu usage per Container is 1, but request is 500m",
  ],
  [
    "too little for something else than a pod",
    { type: "example.com/none", min: { cpu: "1" } },
    pod([both("500m")]),
    undefined,
  ],
  [
    "no request where some is the least",
    { type: "Pod", min: { memory: "1Mi" } },
    pod([{}]),
    "minimum memory usage per Pod is 1Mi.  No request is specified",
  ],
  [
    "no limit where some is the most",
    { type: "Pod", max: { memory: "1Gi" } },
    pod([{ requests: { memory: "1Mi" } }]),
    "maximum memory usage per Pod is 1Gi.  No limit is specified",
  ],
  [
    "too large a limit",
    { type: "Container", max: { cpu: "1" } },
    pod([{ requests: { cpu: "1" }, limits: { cpu: "2" } }]),
    "maximum cpu usage per Container is 1, but limit is 2",
  ],
  [
    "too large an init container",
    { type: "Container", max: { cpu: "1" } },
    pod([both("1")], [both("1500m")]),
    "maximum cpu usage per Container is 1, but limit is 1500m",
  ],
  [
    "two problems of two containers",
    { type: "Container", max: { cpu: "1" } },
    pod([both("2"), both("3")]),
    "[maximum cpu usage per Container is 1, but limit is 2, maximum cpu usage per Container is 1, but limit is 3]",
  ],
  [
    "one problem of two containers",
    { type: "Container", max: { cpu: "1" } },
    pod([both("2"), both("2")]),
    "maximum cpu usage per Container is 1, but limit is 2",
  ],
  [
    "containers that are together too large",
    { type: "Pod", max: { cpu: "1" } },
    pod([both("600m"), both("600m")]),
    "maximum cpu usage per Pod is 1, but limit is 1200m",
  ],
  [
    "bytes, which a sum shows in decimal units",
    { type: "Pod", max: { memory: "1Gi" } },
    pod([{ limits: { memory: "2Gi" } }]),
    "maximum memory usage per Pod is 1Gi, but limit is 2147483648",
  ],
  [
    "a container without the limit: then the pod has none",
    { type: "Pod", max: { cpu: "1" } },
    pod([both("100m"), {}]),
    "maximum cpu usage per Pod is 1.  No limit is specified",
  ],
  [
    "an init container that is larger than the others together",
    { type: "Pod", max: { cpu: "1" } },
    pod([both("400m")], [both("2")]),
    "maximum cpu usage per Pod is 1, but limit is 2",
  ],
  [
    "init containers that fit one by one",
    { type: "Pod", max: { cpu: "1" } },
    pod([both("600m")], [both("800m"), both("900m")]),
    undefined,
  ],
  [
    "too large a ratio",
    { type: "Container", maxLimitRequestRatio: { cpu: "1500m" } },
    pod([{ requests: { cpu: "1" }, limits: { cpu: "2" } }]),
    "cpu max limit to request ratio per Container is 1500m, but provided ratio is 2.000000",
  ],
  [
    "just the ratio",
    { type: "Container", maxLimitRequestRatio: { cpu: "2" } },
    pod([{ requests: { cpu: "1" }, limits: { cpu: "2" } }]),
    undefined,
  ],
  [
    "a ratio without a request",
    { type: "Container", maxLimitRequestRatio: { cpu: "2" } },
    pod([{ requests: { cpu: "0" }, limits: { cpu: "2" } }]),
    "cpu max limit to request ratio per Container is 2, but no request is specified or request is 0",
  ],
  [
    "a ratio without a limit",
    { type: "Pod", maxLimitRequestRatio: { memory: "2" } },
    pod([{ requests: { memory: "1Gi" } }]),
    "memory max limit to request ratio per Pod is 2, but no limit is specified or limit is 0",
  ],
];

describe("a pod has", () => {
  for (const [title, item, body, why] of PODS) {
    test(`${title}: ${why === undefined ? "accepted" : "refused"}`, async () => {
      const lab = await openTableLab();
      await limit(lab, [item]);
      const status = await refusalIfAny(lab.create("pods", body));
      expect(status?.message).toBe(why && `pods "p" is forbidden: ${why}`);
    });
  }
});

const CLAIMS: readonly [title: string, item: object, storage: string, why: string | undefined][] = [
  ["enough", { min: { storage: "1Gi" }, max: { storage: "2Gi" } }, "2Gi", undefined],
  [
    "too little",
    { min: { storage: "1Gi" } },
    "500Mi",
    "minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 500Mi",
  ],
  [
    "too much",
    { max: { storage: "1Gi" } },
    "2Gi",
    "maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 2Gi",
  ],
  [
    "something else than required",
    { max: { storage: "1Gi", "example.com/iops": "5" } },
    "1Gi",
    "maximum example.com/iops usage per PersistentVolumeClaim is 5.  No request is specified",
  ],
];

describe("a claim requests", () => {
  for (const [title, item, storage, why] of CLAIMS) {
    test(`${title}: ${why === undefined ? "accepted" : "refused"}`, async () => {
      const lab = await openTableLab();
      await limit(lab, [{ type: "PersistentVolumeClaim", ...item }]);
      const status = await refusalIfAny(lab.create("persistentvolumeclaims", claim(storage)));
      expect(status?.message).toBe(why && `persistentvolumeclaims "c" is forbidden: ${why}`);
    });
  }
});

describe("limit ranges do not apply to", () => {
  const item = { type: "Pod", max: { cpu: "1" } };

  test("other namespaces", async () => {
    const lab = await openTableLab();
    await limit(lab, [item]);
    const created = await lab.create("pods", pod([both("2")]), { namespace: "kube-system" });
    expect(created.metadata.namespace).toBe("kube-system");
  });

  test("pods that exist", async () => {
    const lab = await openTableLab();
    const created = await lab.create("pods", pod([both("2")]));
    await limit(lab, [item]);
    const labelled = { ...created, metadata: { ...created.metadata, labels: { a: "b" } } };
    expect((await lab.put("pods", "p", labelled)).metadata.labels).toEqual({ a: "b" });
  });

  test("claims that are being deleted, so that their finalizers can go", async () => {
    const lab = await openTableLab();
    const created = await lab.create("persistentvolumeclaims", {
      ...claim("2Gi"),
      metadata: { name: "c", finalizers: ["example.com/keep"] },
    });
    await limit(lab, [{ type: "PersistentVolumeClaim", max: { storage: "1Gi" } }]);
    const change = (finalizers: readonly string[]) =>
      refusalIfAny(
        lab.put("persistentvolumeclaims", "c", {
          ...created,
          metadata: { name: "c", namespace: "default", finalizers },
        }),
      );
    expect((await change(["example.com/other"]))?.code).toBe(403);
    await lab.registry
      .store("persistentvolumeclaims")
      .delete({ user: { username: "a", groups: [] }, warnings: [] }, "default", "c");
    expect(await change([])).toBeUndefined();
  });
});
