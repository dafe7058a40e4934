import { expect, test } from "vitest";
import { ResourceMetricsClient } from "../../../../src/cluster/controllers/podautoscaler/metrics/client.js";
import { statusError } from "../../../../src/staging/apimachinery/errors.js";
import { AutoscalerStage, cpu, memoryValue } from "./stage.js";

type Row = readonly [title: string, story: (stage: AutoscalerStage) => Promise<unknown>, want: unknown];

const table: readonly Row[] = [
  [
    "pods that use twice the target are doubled, 15 seconds after the autoscaler was made",
    async (stage) => {
      await stage.deploy();
      stage.metrics.usage = { cpu: "200m" };
      await stage.autoscale();
      await stage.workloads.pass(14);
      const early = await stage.replicas();
      await stage.workloads.pass(1);
      return [early, await stage.replicas(), await stage.status(), stage.events(), stage.decisions()];
    },
    [
      2,
      4,
      "2->4 True:SucceededRescale True:ValidMetricFound False:DesiredWithinRange",
      ["Normal SuccessfulRescale New size: 4; reason: cpu resource utilization (percentage of request) above target"],
      [
        "scale Deployment/default/web from 2 to 4 replicas: cpu resource utilization (percentage of request) above target: " +
          "cpu: 100% of a target of 50%, 2 pods counted: 2 * 2 pods = 4",
      ],
    ],
  ],
  [
    "it asks the API of metrics for the pods of the target's selector",
    async (stage) => {
      await stage.deploy();
      await stage.autoscale();
      await stage.sync(2);
      return stage.metrics.requests;
    },
    ["default app=web", "default app=web"],
  ],
  [
    "the status shows the current use, and when it scaled last",
    async (stage) => {
      await stage.deploy();
      stage.metrics.usage = { cpu: "300m" };
      await stage.autoscale();
      await stage.workloads.pass(15);
      const { status } = await stage.hpa();
      const current = status?.currentMetrics?.[0]?.resource?.current;
      return [current, Date.parse(status?.lastScaleTime ?? "") === stage.workloads.on.clock.now()];
    },
    [{ averageUtilization: 150, averageValue: "300m" }, true],
  ],
  [
    "a use within a tenth of the target changes nothing, and writes nothing twice",
    async (stage) => {
      await stage.deploy();
      stage.metrics.usage = { cpu: "108m" };
      await stage.autoscale();
      await stage.sync();
      const revision = await stage.workloads.revision();
      await stage.sync(4);
      return [await stage.status(), stage.events(), (await stage.workloads.revision()) - revision];
    },
    ["2->2 True:ReadyForNewScale True:ValidMetricFound False:DesiredWithinRange", [], 0],
  ],
  [
    "without a behavior it at most doubles the pods",
    async (stage) => {
      await stage.deploy({ replicas: 3 });
      stage.metrics.usage = { cpu: "1" };
      await stage.autoscale({ maxReplicas: 100 });
      await stage.sync();
      return [await stage.replicas(), await stage.status()];
    },
    [6, "3->6 True:SucceededRescale True:ValidMetricFound True:ScaleUpLimit"],
  ],
  [
    "one pod may become four at once",
    async (stage) => {
      await stage.deploy({ replicas: 1 });
      stage.metrics.usage = { cpu: "2" };
      await stage.autoscale();
      await stage.sync();
      return stage.replicas();
    },
    4,
  ],
  [
    "it stops at the maximum",
    async (stage) => {
      await stage.deploy();
      stage.metrics.usage = { cpu: "1" };
      await stage.autoscale({ maxReplicas: 3 });
      await stage.sync(2);
      return [await stage.replicas(), await stage.status()];
    },
    [3, "3->3 True:ReadyForNewScale True:ValidMetricFound True:TooManyReplicas"],
  ],
  [
    "it scales down when no recommendation of five minutes was higher",
    async (stage) => {
      await stage.deploy({ replicas: 4 });
      stage.metrics.usage = { cpu: "10m" };
      await stage.autoscale({ minReplicas: 2 });
      await stage.sync();
      const first = await stage.status();
      await stage.sync(19);
      const before = await stage.replicas();
      await stage.sync(2);
      return [first, before, await stage.replicas(), await stage.status(), stage.events(), stage.decisions()];
    },
    [
      "4->4 True:ScaleDownStabilized True:ValidMetricFound False:DesiredWithinRange",
      4,
      2,
      "4->2 True:SucceededRescale True:ValidMetricFound True:TooFewReplicas",
      ["Normal SuccessfulRescale New size: 2; reason: All metrics below target"],
      [
        "scale Deployment/default/web from 4 to 2 replicas: All metrics below target: cpu: 5% of a target of 50%, " +
          "4 pods counted: 0.1 * 4 pods = 1; TooFewReplicas: 1 -> 2",
      ],
    ],
  ],
  [
    "more replicas than the maximum are removed without a look at metrics",
    async (stage) => {
      await stage.deploy({ replicas: 5 });
      await stage.autoscale({ maxReplicas: 3 });
      await stage.sync();
      return [await stage.replicas(), await stage.status(), stage.events(), stage.metrics.requests];
    },
    [
      3,
      "5->3 True:SucceededRescale - -",
      ["Normal SuccessfulRescale New size: 3; reason: Current number of replicas above Spec.MaxReplicas"],
      [],
    ],
  ],
  [
    "fewer than the minimum are filled up",
    async (stage) => {
      await stage.deploy({ replicas: 1 });
      await stage.autoscale({ minReplicas: 3 });
      await stage.sync();
      return [await stage.replicas(), stage.events()];
    },
    [3, ["Normal SuccessfulRescale New size: 3; reason: Current number of replicas below Spec.MinReplicas"]],
  ],
  [
    "a target that was scaled to zero is left alone",
    async (stage) => {
      await stage.deploy({ replicas: 0 });
      await stage.autoscale();
      await stage.sync();
      return [await stage.replicas(), await stage.status(), stage.events()];
    },
    [0, "0->0 True:SucceededGetScale False:ScalingDisabled -", []],
  ],
  [
    "the highest of several metrics wins",
    async (stage) => {
      await stage.deploy();
      stage.metrics.usage = { cpu: "150m", memory: "200Mi" };
      await stage.autoscale({ metrics: [cpu(50), memoryValue("50Mi")] });
      await stage.sync();
      return [await stage.replicas(), stage.events()];
    },
    [4, ["Normal SuccessfulRescale New size: 4; reason: memory resource above target"]],
  ],
  [
    "an amount per pod: three quarters of it",
    async (stage) => {
      await stage.deploy({ replicas: 4 });
      stage.metrics.usage = { memory: "48Mi" };
      const behavior = { scaleDown: { stabilizationWindowSeconds: 0 } };
      await stage.autoscale({ metrics: [memoryValue("64Mi")], behavior });
      await stage.workloads.pass(15);
      return [await stage.replicas(), (await stage.hpa()).status?.currentMetrics];
    },
    [3, [{ type: "Resource", resource: { name: "memory", current: { averageValue: "50331648" } } }]],
  ],
  [
    "the use of one container",
    async (stage) => {
      await stage.deploy({ containers: ["app", "log"] });
      stage.metrics.usage = { cpu: "200m" };
      const target = { type: "Utilization", averageUtilization: 50 };
      const metric = { type: "ContainerResource", containerResource: { name: "cpu", container: "app", target } };
      await stage.autoscale({ metrics: [metric] });
      await stage.sync();
      return [await stage.replicas(), stage.events()];
    },
    [
      4,
      [
        "Normal SuccessfulRescale New size: 4; reason: cpu container resource utilization (percentage of request) above target",
      ],
    ],
  ],
  [
    "a container that no pod has",
    async (stage) => {
      await stage.deploy({ replicas: 1 });
      const target = { type: "Utilization", averageUtilization: 50 };
      const metric = { type: "ContainerResource", containerResource: { name: "cpu", container: "db", target } };
      await stage.autoscale({ metrics: [metric] });
      await stage.sync();
      return [await stage.status(), stage.events()[0]?.replace(/web-\w+-\w+/, "POD")];
    },
    [
      "1->0 True:SucceededGetScale False:FailedGetContainerResourceMetric -",
      "Warning FailedGetContainerResourceMetric failed to get cpu utilization: unable to get metrics for resource cpu: " +
        "failed to get container metrics: container db not present in metrics for pod default/POD",
    ],
  ],
  [
    "an API of metrics that fails: upstream's condition and events, again after 15 seconds",
    async (stage) => {
      await stage.deploy();
      stage.metrics.failure = statusError(
        503,
        "ServiceUnavailable",
        "the server is currently unable to handle the request",
        {},
      );
      await stage.autoscale();
      await stage.sync(2);
      const { status } = await stage.hpa();
      const { message } = status?.conditions?.find(({ type }) => type === "ScalingActive") ?? {};
      return [await stage.status(), message, new Set(stage.events()), stage.metrics.requests.length];
    },
    [
      "2->0 True:SucceededGetScale False:FailedGetResourceMetric -",
      "the HPA was unable to compute the replica count: failed to get cpu utilization: unable to get metrics for resource cpu: " +
        "unable to fetch metrics from resource metrics API: the server is currently unable to handle the request",
      new Set([
        "Warning FailedGetResourceMetric failed to get cpu utilization: unable to get metrics for resource cpu: unable to fetch " +
          "metrics from resource metrics API: the server is currently unable to handle the request",
        "Warning FailedComputeMetricsReplicas invalid metrics (1 invalid out of 1), first error is: failed to get cpu resource metric " +
          "value: failed to get cpu utilization: unable to get metrics for resource cpu: unable to fetch metrics from resource " +
          "metrics API: the server is currently unable to handle the request",
      ]),
      2,
    ],
  ],
  [
    "no metrics yet, as in the first seconds of a pod",
    async (stage) => {
      await stage.deploy({ replicas: 1 });
      const [first] = await stage.workloads.pods();
      stage.metrics.without.add(first?.metadata.name ?? "");
      await stage.autoscale();
      await stage.sync();
      const failed = stage.events()[0];
      stage.metrics.without.clear();
      await stage.sync();
      return [failed, await stage.status()];
    },
    [
      "Warning FailedGetResourceMetric failed to get cpu utilization: unable to get metrics for resource cpu: no metrics returned from resource metrics API",
      "1->1 True:ReadyForNewScale True:ValidMetricFound False:DesiredWithinRange",
    ],
  ],
  [
    "containers without a request have no percentage",
    async (stage) => {
      await stage.deploy({ replicas: 1, requests: {} });
      await stage.autoscale();
      await stage.sync();
      return stage.events()[0]?.replace(/web-\w+-\w+/, "POD");
    },
    "Warning FailedGetResourceMetric failed to get cpu utilization: missing request for cpu in container app of Pod POD",
  ],
  [
    "a failing metric beside a good one: up, but not down",
    async (stage) => {
      await stage.deploy();
      const pods = { metric: { name: "hits" }, target: { type: "AverageValue", averageValue: "10" } };
      const behavior = { scaleDown: { stabilizationWindowSeconds: 0 } };
      await stage.autoscale({ metrics: [{ type: "Pods", pods }, cpu(50)], behavior });
      stage.metrics.usage = { cpu: "10m" };
      await stage.sync();
      const low = await stage.status();
      stage.metrics.usage = { cpu: "200m" };
      await stage.sync();
      return [low, await stage.status(), new Set(stage.events())];
    },
    [
      "2->0 True:SucceededGetScale False:FailedGetPodsMetric -",
      "2->4 True:SucceededRescale True:ValidMetricFound False:DesiredWithinRange",
      new Set([
        "Warning FailedGetPodsMetric unable to get metric hits: unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered",
        "Warning FailedComputeMetricsReplicas invalid metrics (1 invalid out of 2), first error is: failed to get pods metric value: unable to get metric hits: unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered",
        "Normal SuccessfulRescale New size: 4; reason: cpu resource utilization (percentage of request) above target",
      ]),
    ],
  ],
  [
    "metrics of an object and of elsewhere need APIs that are not there",
    async (stage) => {
      await stage.deploy({ replicas: 1 });
      const target = { type: "Value", value: "10" };
      const describedObject = { kind: "Service", name: "web", apiVersion: "v1" };
      const selector = { matchLabels: { queue: "q" } };
      await stage.autoscale({
        metrics: [
          { type: "Object", object: { describedObject, metric: { name: "hits" }, target } },
          { type: "External", external: { metric: { name: "depth", selector }, target } },
        ],
      });
      await stage.sync();
      return [await stage.status(), stage.events().slice(0, 2)];
    },
    [
      "1->0 True:SucceededGetScale False:FailedGetObjectMetric -",
      [
        "Warning FailedGetObjectMetric unable to get metric hits: Service default/web/unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered",
        "Warning FailedGetExternalMetric unable to get external metric default/depth/&LabelSelector{MatchLabels:map[string]string{queue: q,},MatchExpressions:[]LabelSelectorRequirement{},}: unable to fetch metrics from external metrics API: the server could not find the requested resource (get depth.external.metrics.k8s.io)",
      ],
    ],
  ],
  [
    "a target that does not exist, and comes",
    async (stage) => {
      await stage.autoscale();
      await stage.sync();
      const missing = [await stage.status(), stage.events()];
      await stage.deploy();
      await stage.sync();
      return [...missing, await stage.status()];
    },
    [
      "-->0 False:FailedGetScale - -",
      ['Warning FailedGetScale deployments/scale.apps "web" not found'],
      "2->2 True:ReadyForNewScale True:ValidMetricFound False:DesiredWithinRange",
    ],
  ],
  [
    "targets that cannot be scaled",
    async (stage) => {
      const targets = [
        { apiVersion: "v1", kind: "Deployment", name: "web" },
        { apiVersion: "v1", kind: "Pod", name: "web" },
        { apiVersion: "a/b/c", kind: "Deployment", name: "web" },
      ];
      for (const [i, scaleTargetRef] of targets.entries()) await stage.autoscale({ scaleTargetRef }, `a${i}`);
      await stage.sync();
      return stage.events();
    },
    [
      'Warning FailedGetScale no matches for kind "Deployment" in group ""',
      "Warning FailedGetScale the server could not find the requested resource",
      "Warning FailedGetScale unexpected GroupVersion string: a/b/c",
    ],
  ],
  [
    "a scale that the API server refuses",
    async (stage) => {
      await stage.deploy();
      stage.metrics.usage = { cpu: "200m" };
      await stage.autoscale();
      stage.workloads.refuse.why = ({ resource, operation }) =>
        resource === "deployments" && operation === "UPDATE" ? statusError(403, "Forbidden", "no more") : undefined;
      await stage.sync();
      return [await stage.replicas(), await stage.status(), stage.events()];
    },
    [
      2,
      "2->0 False:FailedUpdateScale True:ValidMetricFound False:DesiredWithinRange",
      [
        "Warning FailedRescale New size: 4; reason: cpu resource utilization (percentage of request) above target; error: no more",
      ],
    ],
  ],
  [
    "pods without metrics use nothing on the way up",
    async (stage) => {
      await stage.deploy({ replicas: 3 });
      const [first] = await stage.workloads.pods();
      stage.metrics.without.add(first?.metadata.name ?? "");
      stage.metrics.usage = { cpu: "250m" };
      await stage.autoscale();
      await stage.sync();
      return [await stage.replicas(), stage.decisions()];
    },
    [
      5,
      [
        "scale Deployment/default/web from 3 to 5 replicas: cpu resource utilization (percentage of request) above target: cpu: 125% of " +
          "a target of 50%, 2 pods counted, 1 without metrics: 1.66 * 3 pods = 5 if the pods without metrics use nothing",
      ],
    ],
  ],
  [
    "pods without metrics use all that they request on the way down",
    async (stage) => {
      await stage.deploy({ replicas: 3 });
      const [first] = await stage.workloads.pods();
      stage.metrics.without.add(first?.metadata.name ?? "");
      stage.metrics.usage = { cpu: "20m" };
      await stage.autoscale({ metrics: [cpu(80)], behavior: { scaleDown: { stabilizationWindowSeconds: 0 } } });
      await stage.workloads.pass(15);
      return stage.replicas();
    },
    // (20 + 20 + 200) of 600 are 40 %, half of the target
    2,
  ],
  [
    "a missing pod that would turn the direction keeps the count",
    async (stage) => {
      await stage.deploy({ replicas: 2 });
      const [first] = await stage.workloads.pods();
      stage.metrics.without.add(first?.metadata.name ?? "");
      stage.metrics.usage = { cpu: "80m" };
      await stage.autoscale({ behavior: { scaleDown: { stabilizationWindowSeconds: 0 } } });
      await stage.sync();
      return [await stage.replicas(), await stage.status()];
    },
    [2, "2->2 True:ReadyForNewScale True:ValidMetricFound False:DesiredWithinRange"],
  ],
  [
    "pending pods count as idle on the way up",
    async (stage) => {
      await stage.deploy({ replicas: 2 });
      await stage.workloads.changeSpec("deployments.apps", "web", { replicas: 4 });
      stage.metrics.usage = { cpu: "300m" };
      await stage.autoscale();
      await stage.workloads.pass(15);
      return [await stage.replicas(), stage.decisions()[0]?.split(", ").slice(1)];
    },
    [6, ["2 pods counted", "2 not ready: 1.5 * 4 pods = 6 if the pods without metrics use nothing"]],
  ],
  [
    "the CPU of a pod that starts does not count: it is not ready, or no whole window has passed since",
    async (stage) => {
      await stage.deploy({ replicas: 1 });
      await stage.workloads.changeSpec("deployments.apps", "web", { replicas: 2 });
      await stage.start(5_000);
      stage.metrics.windowMs = 30_000;
      stage.metrics.usage = { cpu: "200m" };
      await stage.autoscale();
      await stage.workloads.pass(15);
      const starting = await stage.status();
      await stage.workloads.pass(30);
      return [starting, await stage.replicas()];
    },
    // one pod at 200 %, one that does not count: the ratio is 1
    ["2->2 True:ReadyForNewScale True:ValidMetricFound False:DesiredWithinRange", 4],
  ],
  [
    "the memory of a pod that starts counts",
    async (stage) => {
      await stage.deploy({ replicas: 1 });
      await stage.workloads.changeSpec("deployments.apps", "web", { replicas: 2 });
      await stage.start(5_000);
      stage.metrics.usage = { memory: "128Mi" };
      await stage.autoscale({ metrics: [memoryValue("64Mi")] });
      await stage.workloads.pass(15);
      return stage.replicas();
    },
    4,
  ],
  [
    "an old pod that was never ready does not count; one that was ready does",
    async (stage) => {
      await stage.deploy({ replicas: 2 });
      const [first] = await stage.workloads.pods();
      const setUnready = (startedAgoMs: number) => async () => {
        const { clock } = stage.workloads.on;
        await stage.workloads.setReady(first === undefined ? [] : [first], false);
        const startTime = new Date(clock.now() - startedAgoMs).toISOString();
        await stage.workloads.setStatus(first === undefined ? [] : [first], { startTime });
      };
      stage.metrics.usage = { cpu: "200m" };
      await setUnready(10_000)();
      await stage.autoscale();
      // The pod has run for longer than the initialization period when the next sync comes.
      await stage.workloads.pass(301);
      const neverReady = await stage.replicas();
      await setUnready(600_000)();
      await stage.workloads.pass(15);
      return [neverReady, await stage.replicas()];
    },
    [2, 4],
  ],
  [
    "failed and ending pods are ignored",
    async (stage) => {
      await stage.deploy({ replicas: 3 });
      const [first] = await stage.workloads.pods();
      await stage.workloads.delete("pods", first?.metadata.name ?? "");
      stage.metrics.usage = { cpu: "200m" };
      await stage.start();
      await stage.autoscale();
      await stage.workloads.pass(15);
      return [await stage.replicas(), stage.decisions()[0]?.includes("3 pods counted, 1 ignored: 2 * 3 pods = 6")];
    },
    [6, true],
  ],
  [
    "behavior: at most one pod a minute on the way up",
    async (stage) => {
      await stage.deploy();
      stage.metrics.usage = { cpu: "200m" };
      const policies = [{ type: "Pods", value: 1, periodSeconds: 60 }];
      await stage.autoscale({ behavior: { scaleUp: { policies } } });
      const counts: number[] = [];
      for (let i = 0; i < 6; i++) {
        await stage.sync();
        counts.push(await stage.replicas());
      }
      return [counts, await stage.status()];
    },
    [[3, 3, 3, 3, 4, 4], "4->4 True:ReadyForNewScale True:ValidMetricFound True:ScaleUpLimit"],
  ],
  [
    "behavior: the policy with the smaller change",
    async (stage) => {
      await stage.deploy({ replicas: 4 });
      stage.metrics.usage = { cpu: "1" };
      const policies = [
        { type: "Pods", value: 3, periodSeconds: 60 },
        { type: "Percent", value: 10, periodSeconds: 60 },
      ];
      await stage.autoscale({ behavior: { scaleUp: { policies, selectPolicy: "Min" } } });
      await stage.sync();
      return stage.replicas();
    },
    5,
  ],
  [
    "behavior: the policy with the larger change is the default",
    async (stage) => {
      await stage.deploy({ replicas: 4 });
      stage.metrics.usage = { cpu: "1" };
      const policies = [
        { type: "Pods", value: 3, periodSeconds: 60 },
        { type: "Percent", value: 10, periodSeconds: 60 },
      ];
      await stage.autoscale({ behavior: { scaleUp: { policies } } });
      await stage.sync();
      return stage.replicas();
    },
    7,
  ],
  [
    "behavior: scaling down is off",
    async (stage) => {
      await stage.deploy({ replicas: 4 });
      stage.metrics.usage = { cpu: "1m" };
      await stage.autoscale({ behavior: { scaleDown: { stabilizationWindowSeconds: 0, selectPolicy: "Disabled" } } });
      await stage.sync();
      return [await stage.replicas(), await stage.status()];
    },
    [4, "4->4 True:ReadyForNewScale True:ValidMetricFound True:ScaleDownLimit"],
  ],
  [
    "behavior: half of the pods a minute on the way down",
    async (stage) => {
      await stage.deploy({ replicas: 8 });
      stage.metrics.usage = { cpu: "1m" };
      const policies = [{ type: "Percent", value: 50, periodSeconds: 60 }];
      await stage.autoscale({ behavior: { scaleDown: { stabilizationWindowSeconds: 0, policies } } });
      const counts: number[] = [];
      for (let i = 0; i < 6; i++) {
        await stage.sync();
        counts.push(await stage.replicas());
      }
      return counts;
    },
    [4, 4, 4, 4, 2, 2],
  ],
  [
    "behavior: a window for scaling up waits for the lowest recommendation",
    async (stage) => {
      await stage.deploy();
      await stage.autoscale({ behavior: { scaleUp: { stabilizationWindowSeconds: 60 } } });
      await stage.sync();
      stage.metrics.usage = { cpu: "200m" };
      await stage.sync();
      const waiting = await stage.status();
      await stage.sync(4);
      return [waiting, await stage.replicas()];
    },
    ["2->2 True:ScaleUpStabilized True:ValidMetricFound False:DesiredWithinRange", 4],
  ],
  [
    "behavior: without a window for scaling down it has five minutes",
    async (stage) => {
      await stage.deploy({ replicas: 3 });
      stage.metrics.usage = { cpu: "1m" };
      await stage.autoscale({ behavior: { scaleUp: { stabilizationWindowSeconds: 0 } } });
      await stage.sync(20);
      const before = await stage.replicas();
      await stage.sync(2);
      return [before, await stage.replicas()];
    },
    [3, 1],
  ],
  [
    "an autoscaler that is deleted acts no more",
    async (stage) => {
      await stage.deploy();
      await stage.autoscale();
      await stage.sync();
      await stage.workloads.delete("horizontalpodautoscalers.autoscaling", "web");
      stage.metrics.usage = { cpu: "1" };
      await stage.sync(3);
      return [await stage.replicas(), stage.metrics.requests.length];
    },
    [2, 1],
  ],
  [
    "after a restart of the controllers it scales down once the new ones have seen five minutes",
    async (stage) => {
      await stage.deploy({ replicas: 4 });
      stage.metrics.usage = { cpu: "1m" };
      await stage.autoscale();
      await stage.sync(15);
      await stage.workloads.on.restartControllers();
      await stage.sync(18);
      const before = await stage.replicas();
      await stage.sync(5);
      return [before, await stage.replicas()];
    },
    [4, 1],
  ],
];

test.each(table)("autoscaler: %s", async (_title, story, want) => {
  await using stage = await AutoscalerStage.open();
  expect(await story(stage)).toEqual(want);
});

test.each(["ReplicaSet", "StatefulSet", "ReplicationController"])("autoscaler: a %s", async (kind) => {
  await using stage = await AutoscalerStage.open();
  const isOld = kind === "ReplicationController";
  const apiVersion = isOld ? "v1" : "apps/v1";
  const labels = { app: "web" };
  const resources = { requests: { cpu: "200m" } };
  const template = { metadata: { labels }, spec: { containers: [{ name: "app", image: "nginx", resources }] } };
  const selector = isOld ? labels : { matchLabels: labels };
  const spec = { replicas: 1, selector, template, ...(kind === "StatefulSet" ? { serviceName: "web" } : {}) };
  const resource = `${kind.toLowerCase()}s${isOld ? "" : ".apps"}`;
  await stage.workloads.create(resource, { apiVersion, kind, metadata: { name: "web" }, spec });
  await stage.start();
  stage.metrics.usage = { cpu: "300m" };
  await stage.autoscale({ scaleTargetRef: { apiVersion, kind, name: "web" } });
  await stage.sync();
  expect(await stage.replicas(resource)).toBe(3);
});

test("autoscaler: a cluster that does not serve metrics answers as upstream", async () => {
  const client = new ResourceMetricsClient({ list: () => Promise.reject(new Error("not asked")) }, []);
  await expect(
    client.getResourceMetric({ resource: "cpu", namespace: "default", selector: "app=web" }),
  ).rejects.toThrow(
    "unable to fetch metrics from resource metrics API: the server could not find the requested resource (get pods.metrics.k8s.io)",
  );
});

test("autoscaler: the scale of a workload is read and written as the controller's service account", async () => {
  await using stage = await AutoscalerStage.open();
  await stage.deploy();
  const binding = "system:controller:horizontal-pod-autoscaler";
  await stage.workloads.admin.delete("clusterrolebindings.rbac.authorization.k8s.io", undefined, binding);
  await stage.autoscale();
  await stage.sync();
  const user =
    'User "system:serviceaccount:kube-system:horizontal-pod-autoscaler" cannot get resource "deployments/scale"';
  expect(stage.workloads.events().find((one) => one.includes("FailedGetScale"))).toContain(user);
});
