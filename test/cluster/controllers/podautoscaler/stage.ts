import type { ResourceDefinition } from "../../../../src/cluster/apiserver/registry/rest/definition.js";
import type { ResourceStore } from "../../../../src/cluster/apiserver/registry/rest/registry.js";
import type { Hpa } from "../../../../src/cluster/controllers/podautoscaler/status.js";
import type { KubeObject } from "../../../../src/staging/apimachinery/api/meta.js";
import type { PodObject } from "../../../../src/staging/apimachinery/api/objects.js";
import type { ListOptions } from "../../../../src/staging/apimachinery/api/options.js";
import { rfc3339 } from "../../../../src/staging/apimachinery/time.js";
import { WorkloadStage } from "../support/workload-stage.js";

export const AUTOSCALERS = "horizontalpodautoscalers.autoscaling";
type Usage = Readonly<Record<string, string>>;

/** The API metrics.k8s.io: every running pod uses the same, unless a test says otherwise. */
export class FakeMetrics {
  /** namespace and selector of each request */
  readonly requests: string[] = [];
  /** of each container */
  usage: Usage = { cpu: "100m", memory: "64Mi" };
  readonly without = new Set<string>();
  windowMs = 15_000;
  failure: Error | undefined;

  constructor(readonly stage: () => WorkloadStage) {}

  store(definition: ResourceDefinition): ResourceStore {
    const list = (namespace?: string, options?: ListOptions) => this.#list(namespace, options?.labelSelector ?? "");
    return { definition, list } as unknown as ResourceStore;
  }

  async #list(namespace: string | undefined, selector: string) {
    this.requests.push(`${namespace} ${selector}`);
    if (this.failure !== undefined) throw this.failure;
    const { admin, on } = this.stage();
    const pods = await admin.list<PodObject>("pods", namespace, { labelSelector: selector });
    const items = pods.flatMap(({ metadata, spec, status }) => {
      const { name = "" } = metadata;
      if (status?.phase !== "Running" || this.without.has(name)) return [];
      const containers = (spec?.containers ?? []).map((container) => ({ name: container.name, usage: this.usage }));
      const timestamp = rfc3339(on.clock.now());
      return [{ metadata: { name, namespace }, timestamp, window: `${this.windowMs / 1000}s`, containers }];
    });
    return { kind: "PodMetricsList", apiVersion: "metrics.k8s.io/v1beta1", metadata: {}, items };
  }
}

interface WorkloadOptions {
  readonly replicas?: number;
  readonly requests?: Usage;
  readonly containers?: readonly string[];
}

/** An autoscaler's world: workloads with pods that run, and the metrics of their use. */
export class AutoscalerStage implements AsyncDisposable {
  private constructor(
    readonly workloads: WorkloadStage,
    readonly metrics: FakeMetrics,
  ) {}

  static async open(kubeVersion = "1.25"): Promise<AutoscalerStage> {
    let opened: WorkloadStage | undefined;
    const metrics = new FakeMetrics(() => opened as WorkloadStage);
    opened = await WorkloadStage.open({ kubeVersion, computedStore: (definition) => metrics.store(definition) });
    return new AutoscalerStage(opened, metrics);
  }

  /** A Deployment whose pods have run for ten minutes. */
  async deploy({
    replicas = 2,
    requests = { cpu: "200m", memory: "128Mi" },
    containers = ["app"],
  }: WorkloadOptions = {}) {
    const labels = { app: "web" };
    const spec = { containers: containers.map((name) => ({ name, image: "nginx", resources: { requests } })) };
    const template = { metadata: { labels }, spec };
    await this.workloads.create("deployments.apps", {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "web" },
      spec: { replicas, selector: { matchLabels: labels }, template },
    });
    await this.start();
  }

  /** Plays the kubelet for new pods. @param ageMs how long ago they started */
  async start(ageMs = 600_000): Promise<void> {
    const starting = (await this.workloads.pods()).filter(({ spec }) => (spec?.nodeName ?? "") === "");
    await this.workloads.start(starting);
    await this.workloads.setStatus(starting, { startTime: rfc3339(this.workloads.on.clock.now() - ageMs) });
  }

  async autoscale(spec: object = {}, name = "web"): Promise<void> {
    await this.workloads.create(AUTOSCALERS, {
      apiVersion: "autoscaling/v2",
      kind: "HorizontalPodAutoscaler",
      metadata: { name },
      spec: {
        scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
        minReplicas: 1,
        maxReplicas: 10,
        metrics: [cpu(50)],
        ...spec,
      },
    });
  }

  /** Lets `count` sync periods pass; new pods start, and ended ones go. */
  async sync(count = 1): Promise<void> {
    for (let i = 0; i < count; i++) {
      await this.workloads.pass(15);
      await this.workloads.settle();
      await this.start();
      await this.workloads.endTerminating();
    }
  }

  async hpa(name = "web"): Promise<Hpa> {
    return this.workloads.get<Hpa>(AUTOSCALERS, name);
  }

  async replicas(resource = "deployments.apps"): Promise<number> {
    const workload = await this.workloads.get<KubeObject>(resource, "web");
    return (workload["spec"] as { replicas: number }).replicas;
  }

  /** `2->4 SucceededRescale True:ValidMetricFound False:DesiredWithinRange` */
  async status(name = "web"): Promise<string> {
    const { status } = await this.hpa(name);
    const shown = (type: string) => {
      const { status: is, reason } = status?.conditions?.find((one) => one.type === type) ?? {};
      return is === undefined ? "-" : `${is}:${reason}`;
    };
    const conditions = ["AbleToScale", "ScalingActive", "ScalingLimited"].map(shown);
    return [`${status?.currentReplicas ?? "-"}->${status?.desiredReplicas}`, ...conditions].join(" ");
  }

  /** `Warning FailedGetScale …`: the autoscalers' events */
  events(): string[] {
    return this.workloads.events().filter((one) => /Rescale|Metric|GetScale|UpdateStatus|Selector/.test(one));
  }

  decisions(): string[] {
    return this.workloads.decisions().filter((one) => one.startsWith("scale Deployment/"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.workloads[Symbol.asyncDispose]();
  }
}

export function cpu(averageUtilization: number): object {
  return { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization } } };
}

export function memoryValue(averageValue: string): object {
  return { type: "Resource", resource: { name: "memory", target: { type: "AverageValue", averageValue } } };
}
