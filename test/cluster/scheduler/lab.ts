import { RbacAuthorizer } from "../../../src/cluster/apiserver/auth/authorization/rbac.js";
import { authorizedClient } from "../../../src/cluster/apiserver/auth/authorized-client.js";
import { bindingHandler } from "../../../src/cluster/apiserver/registry/core/pods/binding.js";
import { createRegistry } from "../../../src/cluster/apiserver/registry/generic/create-registry.js";
import { createLocalClient } from "../../../src/cluster/apiserver/registry/generic/local-client.js";
import { resourcesFor } from "../../../src/cluster/apiserver/registry/table.js";
import { MemoryStorage } from "../../../src/cluster/apiserver/storage/memory.js";
import { createBinder } from "../../../src/cluster/control-plane/binder.js";
import { writeInitialObjects } from "../../../src/cluster/control-plane/initial-objects.js";
import { runControllers } from "../../../src/cluster/controllers/run-controllers.js";
import type { Binder } from "../../../src/cluster/scheduler/framework.js";
import type { SchedulableNode, SchedulablePod } from "../../../src/cluster/scheduler/objects.js";
import { createScheduler } from "../../../src/cluster/scheduler/scheduler.js";
import type { KubeObject } from "../../../src/staging/apimachinery/api/meta.js";
import type { LocalClient } from "../../../src/staging/client-go/dynamic/interface.js";
import { SharedReflectors, sharingReflectors } from "../../../src/staging/client-go/informers/shared-reflector.js";
import type { TraceEvent } from "../../../src/trace/events.js";
import { Turns } from "../../../src/util/async/turns.js";
import { FakeClock, FakeRandom } from "../../support/fake-clock.js";
import { only, recordingTrace } from "../../support/trace.js";
import { SYSTEM_APISERVER } from "../control-plane/system-apiserver.js";

export interface LabOptions {
  readonly kubeVersion?: string;
  readonly random?: FakeRandom;
  /** called before the real binder, and can throw instead */
  readonly beforeBind?: (pod: KubeObject) => void | Promise<void>;
  /** called before the scheduler starts */
  readonly prepare?: (client: LocalClient) => Promise<void>;
}

/** The scheduler alone over the real registry and storage, on a fake clock. */
export class Lab implements AsyncDisposable {
  private constructor(
    readonly clock: FakeClock,
    readonly admin: LocalClient,
    readonly facts: readonly TraceEvent[],
    readonly close: () => Promise<void>,
  ) {}

  static async open(options: LabOptions = {}): Promise<Lab> {
    const clock = new FakeClock();
    const random = options.random ?? new FakeRandom();
    const kubeVersion = options.kubeVersion ?? "1.25";
    const { trace, events } = recordingTrace(clock, true);
    const storage = new MemoryStorage({ clock });
    const definitions = resourcesFor(kubeVersion);
    await writeInitialObjects({
      storage,
      random,
      definitions,
      nowMs: clock.now(),
      kubeVersion,
      withKubeadmJoin: false,
    });
    const registry = createRegistry({
      storage,
      clock,
      random,
      trace,
      admission: [],
      kubeVersion,
      definitions,
    });
    const user = { username: "system:kube-scheduler", groups: [] };
    const authorizer = new RbacAuthorizer({ registry: () => registry, clock });
    const authorization = { registry, authorizer, trace, turns: new Turns(clock) };
    const own = authorizedClient(createLocalClient(registry, user), authorization);
    const reflectors = new SharedReflectors(own, trace);
    const client = sharingReflectors(own, reflectors);
    const real = createBinder({ ...authorization, handler: bindingHandler(clock) }, user);
    const bind: Binder = async (pod, nodeName) => {
      await options.beforeBind?.(pod);
      await real(pod, nodeName);
    };
    const admin = createLocalClient(registry, SYSTEM_APISERVER);
    await options.prepare?.(admin);
    const scheduler = createScheduler({ client, clock, random, trace, kubeVersion, reflectors, bind });
    const stop = new AbortController();
    const running = runControllers([scheduler], { clock, trace }, stop.signal);
    await clock.advance(0);
    return new Lab(clock, admin, events, async () => {
      stop.abort();
      await Promise.all([running, reflectors.close()]);
      await storage.close();
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Runs everything that is due, and advances the clock by `ms`. */
  async pass(ms = 0): Promise<void> {
    for (let i = 0; i < 5; i++) await this.clock.advance(0);
    if (ms > 0) await this.clock.advance(ms);
    for (let i = 0; i < 5; i++) await this.clock.advance(0);
  }

  async addNode(node: SchedulableNode): Promise<void> {
    await this.admin.create("nodes", undefined, node);
    await this.pass();
  }

  async addPod(pod: SchedulablePod): Promise<void> {
    await this.admin.create("pods", "default", complete(pod));
    await this.pass();
  }

  async changeNode(name: string, change: (node: SchedulableNode) => SchedulableNode, part?: "status"): Promise<void> {
    await this.admin.modify<SchedulableNode>("nodes", undefined, name, change, part);
    await this.pass();
  }

  async pod(name: string): Promise<SchedulablePod> {
    const pod = await this.admin.get<SchedulablePod>("pods", "default", name);
    if (pod === undefined) throw new Error(`there is no pod ${name}`);
    return pod;
  }

  /** The node of a pod; undefined until it is bound. */
  async nodeOf(name: string): Promise<string | undefined> {
    return (await this.pod(name)).spec?.nodeName;
  }

  /** The message of PodScheduled=False. */
  async whyNot(name: string): Promise<string | undefined> {
    return (await this.pod(name)).status?.conditions?.find(({ type }) => type === "PodScheduled")?.message;
  }

  /** All events about one pod, as stored. */
  async events(name: string): Promise<readonly KubeObject[]> {
    const all = await this.admin.list("events", "default", { fieldSelector: `involvedObject.name=${name}` });
    return [...all].sort((a, b) => String(a["eventTime"]).localeCompare(String(b["eventTime"])));
  }

  /** The decisions with their reasons. */
  decisions(): readonly string[] {
    return only(this.facts, "decision").map(({ what, why }) => `${what}: ${why}`);
  }

  errors(): readonly string[] {
    return only(this.facts, "error").map(({ message }) => message);
  }
}

/** Sets the schema's defaults: the local client stores objects unchanged. */
export function complete(pod: SchedulablePod): SchedulablePod {
  const containers = (pod.spec?.containers ?? []).map((container, i) => ({
    image: "busybox:1.35",
    imagePullPolicy: "IfNotPresent",
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
    resources: {},
    ...container,
    name: `c${i}`,
  }));
  const defaults = {
    restartPolicy: "Always",
    dnsPolicy: "ClusterFirst",
    schedulerName: "default-scheduler",
    terminationGracePeriodSeconds: 30,
    enableServiceLinks: true,
    securityContext: {},
  };
  return { ...pod, spec: { ...defaults, ...pod.spec, containers } };
}
