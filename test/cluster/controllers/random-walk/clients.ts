import type { KubeObject } from "../../../../src/staging/apimachinery/api/meta.js";
import { podTemplate, type WorkloadStage } from "../support/workload-stage.js";
import type { Chance } from "./chance.js";

export const DEPLOYMENTS = "deployments.apps";
export const REPLICA_SETS = "replicasets.apps";
export const STATEFUL_SETS = "statefulsets.apps";
export const DAEMON_SETS = "daemonsets.apps";
export const JOBS = "jobs.batch";
/** with the kinds and groups of their objects */
const RESOURCES: Readonly<Record<string, readonly [kind: string, apiVersion: string]>> = {
  [DEPLOYMENTS]: ["Deployment", "apps/v1"],
  [REPLICA_SETS]: ["ReplicaSet", "apps/v1"],
  [STATEFUL_SETS]: ["StatefulSet", "apps/v1"],
  [DAEMON_SETS]: ["DaemonSet", "apps/v1"],
  [JOBS]: ["Job", "batch/v1"],
};
type Change = "scale" | "image" | "pause";
/** What clients do to the objects of a resource, besides creating and deleting them. */
const CHANGES: Readonly<Record<string, readonly Change[]>> = {
  [DEPLOYMENTS]: ["scale", "image", "pause"],
  [REPLICA_SETS]: ["scale"],
  [STATEFUL_SETS]: ["scale"],
  [DAEMON_SETS]: ["image"],
};
const NAMES = 4;
const IMAGES = ["nginx:1", "nginx:2", "nginx:3", "nginx:4"];
const SURGES = [1, 2, "50%"];

/** What a client has asked for and has not taken back. */
export interface Wanted {
  readonly resource: string;
  readonly name: string;
  /** a DaemonSet has one for each node */
  replicas: number;
  image: string;
  isPaused: boolean;
}

type Spec = Record<string, unknown>;

/** What several clients ask for at the same time. No two of them change the same field of an object, so that the outcome is certain. */
export class Clients {
  readonly wanted = new Map<string, Wanted>();
  readonly #services = new Map<string, string>();

  constructor(
    readonly stage: WorkloadStage,
    readonly chance: Chance,
  ) {}

  /** @returns the selector of each service */
  get services(): ReadonlyMap<string, string> {
    return this.#services;
  }

  /** Some clients act at once, each on an object of its own or on a field of its own. */
  async act(): Promise<void> {
    const count = this.chance.below(4);
    const names = this.chance.shuffle(
      Object.keys(RESOURCES).flatMap((resource) =>
        Array.from({ length: NAMES }, (_, i) => ({ resource, name: `${resource.slice(0, 3)}-${i}` })),
      ),
    );
    const acts = names.slice(0, count).map((one) => this.#actOn(one.resource, one.name));
    if (this.chance.happens(0.1)) acts.push(this.#actOnService());
    await Promise.all(acts);
  }

  async #actOn(resource: string, name: string): Promise<void> {
    const wanted = this.wanted.get(`${resource}/${name}`);
    if (wanted === undefined) return this.#create(resource, name);
    if (this.chance.happens(0.12)) return this.#delete(wanted);
    const changes = CHANGES[resource]?.map((change) => () => this.#change(wanted, change)) ?? [];
    const many = this.chance.happens(0.3) ? changes : [this.chance.pick(changes)];
    await Promise.all(many.map((change) => change?.()));
  }

  #change(wanted: Wanted, change: Change): Promise<void> {
    if (change === "scale") return this.#scale(wanted);
    return change === "image" ? this.#setImage(wanted) : this.#pause(wanted);
  }

  async #create(resource: string, name: string): Promise<void> {
    // It may still be on its way out.
    if ((await this.stage.admin.get(resource, "default", name)) !== undefined) return;
    const replicas = this.chance.below(7);
    const image = this.chance.pick(IMAGES) ?? "";
    const labels = { app: name };
    const template = podTemplate({ labels, image });
    const spec: Spec = { selector: { matchLabels: labels }, template };
    if (resource === DAEMON_SETS) spec["updateStrategy"] = this.#updateStrategy();
    else spec["replicas"] = replicas;
    if (resource === DEPLOYMENTS) spec["strategy"] = this.#strategy();
    if (resource === STATEFUL_SETS) {
      spec["serviceName"] = name;
      spec["podManagementPolicy"] = this.chance.pick(["OrderedReady", "Parallel"]);
    }
    const jobSpec = {
      completions: replicas,
      parallelism: 1 + this.chance.below(4),
      backoffLimit: 100,
      template: { ...template, spec: { ...template.spec, restartPolicy: "Never" } },
    };
    const [kind, apiVersion] = RESOURCES[resource] ?? [];
    const body = { apiVersion, kind, metadata: { name }, spec: resource === JOBS ? jobSpec : spec };
    await this.stage.send(resource, body);
    this.wanted.set(`${resource}/${name}`, { resource, name, replicas, image, isPaused: false });
  }

  #strategy(): object {
    if (this.chance.happens(0.2)) return { type: "Recreate" };
    const rollingUpdate = { maxSurge: this.chance.pick(SURGES), maxUnavailable: this.chance.below(3) };
    return { type: "RollingUpdate", rollingUpdate };
  }

  #updateStrategy(): object {
    const rollingUpdate = this.chance.pick([
      { maxUnavailable: 1 },
      { maxUnavailable: "100%" },
      { maxSurge: 1, maxUnavailable: 0 },
    ]);
    return { type: "RollingUpdate", rollingUpdate };
  }

  async #delete({ resource, name }: Wanted): Promise<void> {
    this.wanted.delete(`${resource}/${name}`);
    const propagationPolicy = this.chance.pick(["Background", "Foreground"] as const) ?? "Background";
    await this.stage.admin.delete(resource, "default", name, { propagationPolicy });
  }

  #changeSpec({ resource, name }: Wanted, change: Spec | ((spec: Spec) => Spec)): Promise<unknown> {
    return this.stage.admin.modify(resource, "default", name, (object: KubeObject) => {
      const spec = object["spec"] as Spec;
      return { ...object, spec: { ...spec, ...(typeof change === "function" ? change(spec) : change) } };
    });
  }

  async #scale(wanted: Wanted): Promise<void> {
    wanted.replicas = this.chance.below(9);
    await this.#changeSpec(wanted, { replicas: wanted.replicas });
  }

  async #setImage(wanted: Wanted): Promise<void> {
    wanted.image = this.chance.pick(IMAGES) ?? "";
    const template = podTemplate({ labels: { app: wanted.name }, image: wanted.image });
    await this.#changeSpec(wanted, (spec) => {
      const before = spec["template"] as { readonly spec: { readonly containers: readonly object[] } };
      const containers = before.spec.containers.map((one, i) => ({ ...one, ...template.spec.containers[i] }));
      return { template: { ...before, spec: { ...before.spec, containers } } };
    });
  }

  async #pause(wanted: Wanted): Promise<void> {
    wanted.isPaused = !wanted.isPaused && this.chance.happens(0.5);
    await this.#changeSpec(wanted, { paused: wanted.isPaused });
  }

  async #actOnService(): Promise<void> {
    const name = `service-${this.chance.below(3)}`;
    if (this.#services.delete(name)) {
      await this.stage.admin.delete("services", "default", name);
      return;
    }
    const app = `${this.chance.pick(["dep", "rep", "sta"])}-${this.chance.below(NAMES)}`;
    const spec = { selector: { app }, ports: [{ port: 80 }] };
    await this.stage.send("services", { apiVersion: "v1", kind: "Service", metadata: { name }, spec });
    this.#services.set(name, app);
  }

  /** Every rollout goes on. */
  async resumeAll(): Promise<void> {
    for (const wanted of this.wanted.values()) {
      if (!wanted.isPaused) continue;
      wanted.isPaused = false;
      await this.#changeSpec(wanted, { paused: false });
    }
  }
}
