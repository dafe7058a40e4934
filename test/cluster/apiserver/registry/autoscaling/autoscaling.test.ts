import { describe, expect, test } from "vitest";
import type { KubeObject } from "../../../../../src/staging/apimachinery/api/meta.js";
import { hpaFromV1, hpaToV1 } from "../../../../../src/staging/apimachinery/autoscalingv1/conversion.js";
import { decodeRequestBody } from "../../../../../src/staging/apimachinery/scheme/request.js";
import { fields } from "../../../../support/fields.js";
import { contextOf, openTableLab, refusalIfAny } from "../table-lab.js";

type Fields = Readonly<Record<string, unknown>>;

const TARGET = { apiVersion: "apps/v1", kind: "Deployment", name: "web" };
const V2 = "horizontalpodautoscalers.autoscaling";
const V1 = "horizontalpodautoscalers.v1.autoscaling";

function hpa(spec: Fields, version = "v2"): KubeObject {
  return {
    apiVersion: `autoscaling/${version}`,
    kind: "HorizontalPodAutoscaler",
    metadata: { name: "h" },
    spec: { scaleTargetRef: TARGET, maxReplicas: 5, ...spec },
  } as KubeObject;
}

const cpu = (averageUtilization: number) => ({
  type: "Resource",
  resource: { name: "cpu", target: { type: "Utilization", averageUtilization } },
});

/** One metric of each kind. */
const METRICS = [
  { type: "Resource", resource: { name: "memory", target: { type: "AverageValue", averageValue: "100Mi" } } },
  {
    type: "ContainerResource",
    containerResource: { name: "cpu", container: "c", target: { type: "Utilization", averageUtilization: 60 } },
  },
  {
    type: "Pods",
    pods: { metric: { name: "rps", selector: {} }, target: { type: "AverageValue", averageValue: "1k" } },
  },
  {
    type: "Object",
    object: { describedObject: TARGET, target: { type: "Value", value: "10" }, metric: { name: "queue" } },
  },
  { type: "External", external: { metric: { name: "jobs" }, target: { type: "AverageValue", averageValue: "30" } } },
];

describe("versions", () => {
  async function made(body: KubeObject, store: string) {
    const lab = await openTableLab();
    const row = lab.registry.store(store).definition;
    const { object } = decodeRequestBody(JSON.stringify(body), row);
    await lab.registry.store(store).create(contextOf(), "default", object);
    return lab.registry;
  }

  test("kubectl autoscale writes v1; v2 shows the metric", async () => {
    const registry = await made(hpa({ targetCPUUtilizationPercentage: 70 }, "v1"), V1);
    const shown = await registry.store(V2).get("default", "h");
    expect(shown).toMatchObject({ apiVersion: "autoscaling/v2", spec: { minReplicas: 1, metrics: [cpu(70)] } });
    const again = await registry.store(V1).get("default", "h");
    expect(fields(again.spec)).toMatchObject({ targetCPUUtilizationPercentage: 70, maxReplicas: 5 });
  });

  test.each([
    ["v1", V1],
    ["v2", V2],
  ])("%s without a metric means 80 %% of CPU", async (version, store) => {
    const registry = await made(hpa({}, version), store);
    expect(fields((await registry.store(V2).get("default", "h")).spec).metrics).toEqual([cpu(80)]);
    expect(fields((await registry.store(V1).get("default", "h")).spec).targetCPUUtilizationPercentage).toBe(80);
  });

  test("metrics, behavior and conditions survive v1 in annotations", () => {
    const condition = { type: "AbleToScale", status: "True", reason: "Ready" };
    const status = {
      currentReplicas: 2,
      desiredReplicas: 3,
      currentMetrics: [
        { type: "Resource", resource: { name: "cpu", current: { averageUtilization: 50, averageValue: "5m" } } },
      ],
      conditions: [condition],
    };
    const behavior = { scaleDown: { policies: [{ type: "Pods", value: 1, periodSeconds: 60 }] } };
    const stored = { ...hpa({ metrics: [...METRICS, cpu(70)], behavior }), status };
    const v1 = hpaToV1(stored);
    expect(v1.status?.currentCPUUtilizationPercentage).toBe(50);
    const metrics = JSON.parse(v1.metadata.annotations?.["autoscaling.alpha.kubernetes.io/metrics"] ?? "");
    expect(metrics[2]).toEqual({ type: "Pods", pods: { metricName: "rps", targetAverageValue: "1k", selector: {} } });
    const back = hpaFromV1(v1);
    expect(back).toEqual({ ...stored, metadata: { name: "h", annotations: {} } });
  });

  test("the update of a v1 object keeps the metrics that v1 does not know", async () => {
    const registry = await made(hpa({ metrics: [...METRICS, cpu(70)] }), V2);
    await registry.store(V1).update(contextOf(), "default", "h", undefined, (current) => {
      const { spec } = current as KubeObject;
      return { ...(current as KubeObject), spec: { ...fields(spec), targetCPUUtilizationPercentage: 75 } };
    });
    const { spec } = await registry.store(V2).get("default", "h");
    expect(fields(spec).metrics).toEqual([...METRICS, cpu(75)]);
  });
});

const metric = (one: Fields) => ({ metrics: [one] });
const rules = (scaleUp: Fields) => ({ behavior: { scaleUp } });

test.each<[Fields, string[]]>([
  [{ metrics: METRICS }, []],
  [
    { maxReplicas: 0 },
    [
      "spec.maxReplicas: Invalid value: 0: must be greater than 0",
      "spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`",
    ],
  ],
  [{ minReplicas: 6 }, ["spec.maxReplicas: Invalid value: 5: must be greater than or equal to `minReplicas`"]],
  [
    { minReplicas: 0 },
    [
      "spec.minReplicas: Invalid value: 0: must be greater than or equal to 1",
      "spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas",
    ],
  ],
  [
    { scaleTargetRef: { kind: "", name: "a/b" } },
    [
      "spec.scaleTargetRef.kind: Required value",
      "spec.scaleTargetRef.name: Invalid value: \"a/b\": may not contain '/'",
    ],
  ],
  [
    metric({ type: "Pods" }),
    ["spec.metrics[0].pods: Required value: must populate information for the given metric source"],
  ],
  [
    metric({ ...METRICS[2], ...cpu(1), type: "Resource" }),
    ["spec.metrics[0].pods: Forbidden: must populate the given metric source only"],
  ],
  [
    metric({ type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 0 } } }),
    ["spec.metrics[0].resource.target.averageUtilization: Invalid value: 0: must be greater than 0"],
  ],
  [
    metric({ type: "Resource", resource: { name: "cpu", target: { type: "Much" } } }),
    [
      'spec.metrics[0].resource.target.type: Invalid value: "Much": must be either Utilization, Value, or AverageValue',
      "spec.metrics[0].resource.target.averageUtilization: Required value: must set either a target raw value or a target utilization",
    ],
  ],
  [
    metric({ type: "External", external: { metric: { name: "" }, target: { type: "Value", value: "-1" } } }),
    [
      "spec.metrics[0].external.metric.name: Required value: must specify a metric name",
      'spec.metrics[0].external.target.value: Invalid value: "-1": must be positive',
    ],
  ],
  [
    rules({ selectPolicy: "Most" }),
    ['spec.behavior.scaleUp.selectPolicy: Unsupported value: "Most": supported values: "Disabled", "Max", "Min"'],
  ],
  [
    rules({ stabilizationWindowSeconds: 3601 }),
    ["spec.behavior.scaleUp.stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600"],
  ],
  [
    rules({ policies: [{ type: "Pods", value: 0, periodSeconds: 1801 }] }),
    [
      "spec.behavior.scaleUp.policies[0].value: Invalid value: 0: must be greater than zero",
      "spec.behavior.scaleUp.policies[0].periodSeconds: Invalid value: 1801: must be less than or equal to 1800",
    ],
  ],
])("%j: %j", async (spec, errors) => {
  const lab = await openTableLab();
  const status = await refusalIfAny(lab.create("horizontalpodautoscalers", hpa(spec)));
  expect((status?.details?.causes ?? []).map(({ field, message }) => `${field}: ${message}`)).toEqual(errors);
});

test("a behavior gets the rules that are missing", async () => {
  const lab = await openTableLab();
  const { spec } = await lab.create("horizontalpodautoscalers", hpa(rules({ stabilizationWindowSeconds: 5 })));
  expect(fields(spec).behavior).toEqual({
    scaleUp: {
      stabilizationWindowSeconds: 5,
      selectPolicy: "Max",
      policies: [
        { type: "Pods", value: 4, periodSeconds: 15 },
        { type: "Percent", value: 100, periodSeconds: 15 },
      ],
    },
    scaleDown: { selectPolicy: "Max", policies: [{ type: "Percent", value: 100, periodSeconds: 15 }] },
  });
});

test.each([
  [[cpu(70)], [], "<unknown>/70%"],
  [[cpu(70)], [{ type: "Resource", resource: { name: "cpu", current: { averageUtilization: 50 } } }], "50%/70%"],
  [METRICS, [], "<unknown>/100Mi, <unknown>/60% + 3 more..."],
  [METRICS.slice(3), [], "<unknown>/10, <unknown>/30 (avg)"],
])("kubectl get of %j with %j", async (metrics, currentMetrics, cell) => {
  const lab = await openTableLab();
  const { table } = lab.definition("horizontalpodautoscalers");
  const shown = table?.cells({ ...hpa({ metrics }), status: { currentMetrics } }, 0);
  expect(shown?.slice(1, 6)).toEqual(["Deployment/web", cell, "<unset>", 5, 0]);
});
