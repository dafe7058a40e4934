import { bindingHandler } from "../../../../src/cluster/apiserver/registry/core/pods/binding.js";
import type { ResourceDefinition } from "../../../../src/cluster/apiserver/registry/rest/definition.js";
import type { ResourceStore } from "../../../../src/cluster/apiserver/registry/rest/registry.js";
import { createBinder } from "../../../../src/cluster/control-plane/binder.js";
import type { KubeObject } from "../../../../src/staging/apimachinery/api/meta.js";
import type { PodObject } from "../../../../src/staging/apimachinery/api/objects.js";
import { decodeRequestBody } from "../../../../src/staging/apimachinery/scheme/request.js";
import { rfc3339 } from "../../../../src/staging/apimachinery/time.js";
import type { LocalClient } from "../../../../src/staging/client-go/dynamic/interface.js";
import type { AdmissionAttributes, AdmissionPlugin } from "../../../../src/staging/server/admission/interfaces.js";
import { Trace } from "../../../../src/trace/trace.js";
import { Turns } from "../../../../src/util/async/turns.js";
import { SeededRandom } from "../../../support/fake-clock.js";
import { only } from "../../../support/trace.js";
import { errorsOf, type StoreHarness, startOnStore } from "./on-store.js";

/** Controllers that would act on the stage's nodes and pods, which no kubelet keeps alive. */
const OTHERS = [
  "bootstrapsigner",
  "csrapproving",
  "csrcleaner",
  "csrsigning",
  "event-ttl",
  "nodeipam",
  "nodelifecycle",
  "podgc",
  "root-ca-cert-publisher",
  "serviceaccount",
  "taint-eviction-controller",
  "tokencleaner",
  "ttl",
];

const CONTAINER = { name: "app", image: "nginx" };

export interface StageOptions {
  readonly kubeVersion?: string;
  readonly without?: readonly string[];
  readonly computedStore?: (definition: ResourceDefinition) => ResourceStore;
  /** the API server's admission plugins that are part of the play; default: none */
  readonly plugins?: (on: StoreHarness) => readonly AdmissionPlugin[];
}

export interface TemplateOptions {
  readonly labels?: Readonly<Record<string, string>>;
  readonly image?: string;
}

export function podTemplate({ labels = { app: "web" }, image = "nginx" }: TemplateOptions = {}) {
  return { metadata: { labels }, spec: { containers: [{ ...CONTAINER, image }] } };
}

/**
 * Workload controllers and the garbage collector over the real registry and RBAC, on a fake clock. The test plays the scheduler and
 * the kubelet.
 */
export class WorkloadStage implements AsyncDisposable {
  private constructor(
    readonly on: StoreHarness,
    /** `why` returns the error with which a write is refused */
    readonly refuse: { why: ((write: AdmissionAttributes) => Error | undefined) | undefined },
  ) {}

  static async open(options: StageOptions = {}): Promise<WorkloadStage> {
    // A module that is loaded already needs no real time when its controller starts.
    await Promise.all([
      import("../../../../src/cluster/controllers/cronjob/cronjob-controller.js"),
      import("../../../../src/cluster/controllers/daemon/daemon-controller.js"),
      import("../../../../src/cluster/controllers/disruption/disruption-controller.js"),
      import("../../../../src/cluster/controllers/job/job-controller.js"),
      import("../../../../src/cluster/controllers/podautoscaler/horizontal.js"),
      import("../../../../src/cluster/controllers/replicaset/replica-set.js"),
      import("../../../../src/cluster/controllers/replicaset/replication-controller.js"),
      import("../../../../src/cluster/controllers/deployment/deployment-controller.js"),
      import("../../../../src/cluster/controllers/statefulset/stateful-set.js"),
      import("../../../../src/cluster/controllers/resourcequota/resource-quota-controller.js"),
      import("../../../../src/cluster/controllers/ttlafterfinished/ttl-after-finished.js"),
    ]);
    const without = [...OTHERS, ...(options.without ?? [])];
    const refuse: { why: ((write: AdmissionAttributes) => Error | undefined) | undefined } = { why: undefined };
    const validate = async (write: AdmissionAttributes) => {
      const error = refuse.why?.(write);
      if (error !== undefined) throw error;
    };
    const admission: AdmissionPlugin[] = [{ name: "Test", validate }];
    const on = await startOnStore({ ...options, without, admission, random: new SeededRandom() });
    admission.push(...(options.plugins?.(on) ?? []));
    return new WorkloadStage(on, refuse);
  }

  /** Plays the scheduler for one pod. */
  async bind({ metadata }: PodObject, nodeName: string): Promise<void> {
    await this.#bind({ apiVersion: "v1", kind: "Pod", metadata }, nodeName);
  }

  get #bind() {
    const { registry, clock } = this.on;
    const authorizer = { authorize: async () => ({ allowed: true, reason: "", cause: "RBAC: test" }) as const };
    const trace = new Trace(clock);
    const deps = { registry, authorizer, trace, turns: new Turns(clock), handler: bindingHandler(clock) };
    return createBinder(deps, this.admin.user);
  }

  get admin(): LocalClient {
    return this.on.admin;
  }

  async create(resource: string, object: object): Promise<KubeObject> {
    const created = await this.send(resource, object);
    await this.settle();
    return created;
  }

  /** Creates an object as a client would send it: with the schema's defaults. */
  async send(resource: string, object: object): Promise<KubeObject> {
    const row = this.on.registry.store(resource).definition;
    const { object: decoded } = decodeRequestBody(JSON.stringify(object), row, "Strict");
    const metadata = { namespace: "default", ...decoded.metadata };
    return this.admin.create(resource, metadata.namespace, { ...decoded, metadata });
  }

  /** Changes an object as a client. */
  async change(
    resource: string,
    name: string,
    change: (object: KubeObject) => KubeObject,
    subresource?: string,
  ): Promise<void> {
    await this.admin.modify(resource, "default", name, change, subresource);
    await this.settle();
  }

  async changeSpec(resource: string, name: string, spec: object): Promise<void> {
    await this.change(resource, name, (object) => ({ ...object, spec: { ...(object["spec"] as object), ...spec } }));
  }

  async delete(resource: string, name: string, propagationPolicy?: string): Promise<void> {
    await this.admin.delete(resource, "default", name, propagationPolicy === undefined ? {} : { propagationPolicy });
    await this.settle();
  }

  /** Lets everything happen that needs no time. */
  async settle(): Promise<void> {
    await this.on.clock.advance(0);
    await this.on.clock.advance(0);
  }

  async pass(seconds: number): Promise<void> {
    await this.on.clock.advance(seconds * 1000);
  }

  /** sorted by name */
  async pods(): Promise<readonly PodObject[]> {
    return this.admin.list<PodObject>("pods", "default");
  }

  async get<T extends KubeObject>(resource: string, name: string): Promise<T> {
    const object = await this.admin.get<T>(resource, "default", name);
    if (object === undefined) throw new Error(`there is no ${resource} ${name}`);
    return object;
  }

  /** Plays scheduler and kubelet for pods: they run and are ready. @param pods default: all that have no node yet */
  async start(pods?: readonly PodObject[], nodeName = "n1"): Promise<void> {
    const starting = pods ?? (await this.pods()).filter(({ spec }) => (spec?.nodeName ?? "") === "");
    for (const pod of starting) await this.bind(pod, nodeName);
    await this.setReady(starting, true);
  }

  async setReady(pods: readonly PodObject[], isReady: boolean): Promise<void> {
    const status = isReady ? "True" : "False";
    const lastTransitionTime = rfc3339(this.on.clock.now());
    const conditions = [{ type: "Ready", status, lastTransitionTime }];
    await this.setStatus(pods, { phase: "Running", conditions });
  }

  async setStatus(pods: readonly PodObject[], status: object): Promise<void> {
    for (const { metadata } of pods) {
      const change = (pod: PodObject): KubeObject => ({ ...pod, status: { ...pod.status, ...status } });
      await this.admin.modify<PodObject>("pods", "default", metadata.name ?? "", change, "status");
    }
    await this.settle();
  }

  /** Plays the kubelet for pods that are marked for deletion. */
  async endTerminating(): Promise<void> {
    for (const { metadata } of await this.pods()) {
      if (metadata.deletionTimestamp === undefined) continue;
      await this.admin.delete("pods", "default", metadata.name ?? "", { gracePeriodSeconds: 0 });
    }
    await this.settle();
  }

  /** `Normal SuccessfulCreate Created pod: web-1` */
  events(): string[] {
    return only(this.on.facts, "event").map(({ type, reason, message }) => `${type} ${reason} ${message}`);
  }

  /** `create 2 pods for ReplicaSet default/web: it has 0 of 2 replicas` */
  decisions(): string[] {
    return only(this.on.facts, "decision").flatMap(({ actor, level, what, why }) =>
      actor === "controller" && level < 2 ? [`${what}: ${why}`] : [],
    );
  }

  errors(): string[] {
    return errorsOf(this.on.facts);
  }

  /** number of writes so far, by all clients */
  async revision(): Promise<number> {
    return Number(await this.on.registry.resourceVersion());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.on[Symbol.asyncDispose]();
  }
}
