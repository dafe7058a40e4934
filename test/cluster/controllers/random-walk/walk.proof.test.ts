import { beforeAll, expect, test } from "vitest";
import type { EndpointSlice } from "../../../../src/cluster/controllers/endpoints/util/slices.js";
import { controllerOf } from "../../../../src/cluster/controllers/support/controller-ref.js";
import type { KubeObject } from "../../../../src/staging/apimachinery/api/meta.js";
import { isTerminating, nameOf, type PodObject } from "../../../../src/staging/apimachinery/api/objects.js";
import { isPodReady } from "../../../../src/staging/apimachinery/api/pod.js";
import { WorkloadStage } from "../support/workload-stage.js";
import { Chance } from "./chance.js";
import { Clients, DAEMON_SETS, DEPLOYMENTS, JOBS, REPLICA_SETS, STATEFUL_SETS, type Wanted } from "./clients.js";
import { History } from "./history.js";
import { Nodes } from "./nodes.js";

const WALK_SECONDS = 30 * 60;
const SEEDS = (process.env["KUBELAB_WALK_SEEDS"] ?? "1,2,3").split(",").map(Number);

beforeAll(async () => {
  await Promise.all([
    import("../../../../src/cluster/controllers/endpoints/endpoint/endpoints-controller.js"),
    import("../../../../src/cluster/controllers/endpoints/endpointslice/endpointslice-controller.js"),
  ]);
});

/** 30 minutes in which several clients create, scale, roll and delete, pods and nodes fail, and controllers are restarted. */
async function walk(stage: WorkloadStage, clients: Clients, nodes: Nodes, chance: Chance): Promise<void> {
  const { clock } = stage.on;
  const endMs = clock.now() + WALK_SECONDS * 1000;
  while (clock.now() < endMs) {
    await Promise.all([clients.act(), nodes.act()]);
    if (chance.happens(0.1)) await nodes.kill();
    if (chance.happens(0.02)) await nodes.vanish();
    if (chance.happens(0.02)) await nodes.leaveOrJoin();
    if (chance.happens(0.02)) await stage.on.restartControllers();
    await stage.pass(chance.below(6));
  }
}

/** Nothing more happens to the cluster until all of its work is done. */
async function finish(stage: WorkloadStage, clients: Clients, nodes: Nodes): Promise<void> {
  await nodes.comeBack();
  await clients.resumeAll();
  for (let i = 0; i < 120; i++) {
    await nodes.act(true);
    await stage.pass(10);
  }
}

test.each(SEEDS)(
  "seed %i: a walk ends in the state that its clients asked for",
  async (seed) => {
    const chance = new Chance(seed);
    await using stage = await WorkloadStage.open();
    const history = new History(stage.admin, stage.on.clock);
    const [clients, nodes] = [new Clients(stage, chance), new Nodes(stage, chance)];
    await nodes.register();
    await walk(stage, clients, nodes, chance);
    await finish(stage, clients, nodes);
    const requests = stage.on.requests();
    await stage.pass(600);
    expect(stage.on.requests() - requests, "requests in ten quiet minutes").toBe(0);
    await history.close();

    expect(history.excesses(), `seed ${seed}`).toEqual([]);
    const cluster = await Cluster.read(stage);
    expect(cluster.lost(), `seed ${seed}`).toEqual([]);
    const wanted = [...clients.wanted.values()];
    expect(cluster.workloads(), `seed ${seed}`).toEqual(wanted.map((one) => lineOf(one, nodes.count)).sort());
    expect(await endpointsOf(stage, clients.services)).toEqual(cluster.endpoints(clients.services));
    // As upstream, slices are tried again until the pods of a deleted node are gone.
    expect(stage.errors().filter((one) => !/: Node n\d Not Found/.test(one))).toEqual([]);
  },
  300_000,
);

/** `deployments.apps dep-1: 3 of nginx:2` */
function lineOf({ resource, name, replicas, image }: Wanted, nodes: number): string {
  const count = resource === DAEMON_SETS ? nodes : replicas;
  return `${resource} ${name}: ${resource === JOBS ? "complete" : `${count} of ${image}`}`;
}

/** All objects that controllers look after. */
class Cluster {
  private constructor(
    readonly deployments: readonly KubeObject[],
    readonly sets: readonly KubeObject[],
    readonly statefulSets: readonly KubeObject[],
    readonly daemonSets: readonly KubeObject[],
    readonly jobs: readonly KubeObject[],
    readonly pods: readonly PodObject[],
  ) {}

  static async read({ admin }: WorkloadStage): Promise<Cluster> {
    const list = (resource: string) => admin.list(resource, "default");
    const pods = await admin.list<PodObject>("pods", "default");
    return new Cluster(
      await list(DEPLOYMENTS),
      await list(REPLICA_SETS),
      await list(STATEFUL_SETS),
      await list(DAEMON_SETS),
      await list(JOBS),
      pods,
    );
  }

  /** Objects without an owner that exists, and those that are on their way out. */
  lost(): string[] {
    const owners = [...this.deployments, ...this.sets, ...this.statefulSets, ...this.daemonSets, ...this.jobs];
    const uids = new Set(owners.map(({ metadata }) => metadata.uid));
    const hasOwner = (object: KubeObject) => uids.has(controllerOf(object)?.uid);
    const orphans = [...this.pods, ...this.sets.filter((set) => nameOf(set).startsWith("dep"))].filter(
      (object) => !hasOwner(object),
    );
    return [...orphans, ...[...owners, ...this.pods].filter(isTerminating)].map((one) => `${one.kind} ${nameOf(one)}`);
  }

  /** Lines as `lineOf` makes them, of what is really there, where status and pods agree. */
  workloads(): string[] {
    return [
      ...this.deployments.map((one) => this.#line(DEPLOYMENTS, one, this.sets.filter(ownedBy(one)))),
      ...this.sets.filter((one) => controllerOf(one) === undefined).map((one) => this.#line(REPLICA_SETS, one, [one])),
      ...this.statefulSets.map((one) => this.#line(STATEFUL_SETS, one, [one])),
      ...this.daemonSets.map((one) => this.#line(DAEMON_SETS, one, [one])),
      ...this.jobs.map(
        (one) => `${JOBS} ${nameOf(one)}: ${isComplete(one) ? "complete" : JSON.stringify(one["status"])}`,
      ),
    ].sort();
  }

  #line(resource: string, object: KubeObject, sets: readonly KubeObject[]): string {
    const pods = this.pods.filter((pod) => sets.some((set) => ownedBy(set)(pod)) && pod.status?.phase !== "Failed");
    const ready = pods.filter(isPodReady).length;
    const { replicas, readyReplicas } = countsOf(object);
    const template = object["spec"] as { template: { spec: { containers: { image: string }[] } } };
    const images = new Set(pods.map(({ spec }) => spec?.containers[0]?.image));
    const [image = template.template.spec.containers[0]?.image] = images;
    const problems = [
      ...(images.size > 1 ? ["several images"] : []),
      ...(new Set([pods.length, ready, replicas, readyReplicas]).size > 1
        ? [`${pods.length} pods, ${ready} ready, status ${replicas}, ${readyReplicas}`]
        : []),
    ];
    return [`${resource} ${nameOf(object)}: ${ready} of ${image}`, ...problems].join(", ");
  }

  endpoints(services: ReadonlyMap<string, string>): ReadonlyMap<string, readonly string[]> {
    const addresses = (app: string) =>
      this.pods
        .filter((pod) => pod.metadata.labels?.["app"] === app && isPodReady(pod))
        .map(({ status }) => status?.podIP ?? "")
        .sort();
    return new Map([...services].sort().map(([name, app]) => [name, addresses(app)]));
  }
}

function countsOf({ kind, status }: KubeObject): { readonly replicas: number; readonly readyReplicas: number } {
  const counts = status as Readonly<Record<string, number>>;
  if (kind === "DaemonSet") {
    return { replicas: counts["currentNumberScheduled"] ?? 0, readyReplicas: counts["numberReady"] ?? 0 };
  }
  return { replicas: counts["replicas"] ?? 0, readyReplicas: counts["readyReplicas"] ?? 0 };
}

function ownedBy({ metadata: { uid } }: KubeObject): (object: KubeObject) => boolean {
  return (object) => controllerOf(object)?.uid === uid;
}

function isComplete({ status }: KubeObject): boolean {
  const { conditions = [], active = 0 } = status as {
    conditions?: { type: string; status: string }[];
    active?: number;
  };
  return active === 0 && conditions.some((one) => one.type === "Complete" && one.status === "True");
}

async function endpointsOf({ admin }: WorkloadStage, services: ReadonlyMap<string, string>) {
  const slices = await admin.list<EndpointSlice>("endpointslices.discovery.k8s.io", "default");
  const of = (name: string) =>
    slices
      .filter(({ metadata }) => metadata.labels?.["kubernetes.io/service-name"] === name)
      .flatMap(({ endpoints }) => (endpoints ?? []).filter(({ conditions }) => conditions?.ready === true))
      .map(({ addresses }) => addresses[0] ?? "")
      .sort();
  return new Map([...services.keys()].sort().map((name) => [name, of(name)]));
}
