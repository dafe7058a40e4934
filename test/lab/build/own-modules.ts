import type { PodStats } from "../../../src/kubelet/apis/stats/v1alpha1.js";
import { clientUsages, nodeSubject } from "../../../src/kubelet/certificate/node-identity.js";
import { PodConfig, type SourceChannel } from "../../../src/kubelet/config/pod-config.js";
import { PodCache } from "../../../src/kubelet/container/cache.js";
import type { PodStatus } from "../../../src/kubelet/container/runtime.js";
import { rankPods } from "../../../src/kubelet/eviction/ranking.js";
import {
  convertState,
  generateEvents,
  isSyncPodWorthy,
  type PodLifecycleEvent,
} from "../../../src/kubelet/pleg/events.js";
import { GenericPleg, type PlegDeps } from "../../../src/kubelet/pleg/generic.js";
import { genericRelistDuration } from "../../../src/kubelet/pleg/health.js";
import { mirrorPodOf, whatToDo } from "../../../src/kubelet/pod/mirror-client.js";
import { getPhase } from "../../../src/kubelet/status/phase.js";
import type { PodSource, PodUpdate } from "../../../src/kubelet/types/pod-update.js";
import type { KubeObject } from "../../../src/staging/apimachinery/api/meta.js";
import type { V1Pod } from "../../../src/staging/apimachinery/api/pod.js";
import { rfc3339Micro } from "../../../src/staging/apimachinery/time.js";
import { Backoff } from "../../../src/staging/client-go/backoff.js";
import { csrObject } from "../../../src/staging/client-go/certificate/csr.js";
import { execUrl } from "../../../src/staging/client-go/remotecommand/exec-url.js";
import type { ClientCtx, KubeRequest } from "../../../src/staging/client-go/rest/client.js";
import { expirationMs, type TokenUsage, tokenSecret } from "../../../src/staging/cluster-bootstrap/secret.js";
import { type BootstrapToken, parseToken } from "../../../src/staging/cluster-bootstrap/token.js";
import { LeaseController, type LeaseObject } from "../../../src/staging/component-helpers/lease/controller.js";
import { renewIntervalMs } from "../../../src/staging/component-helpers/lease/lease-observer.js";
import { generatePrivateKey } from "../../../src/staging/pki/keys.js";
import { streamTypes } from "../../../src/staging/streaming/remote-command/spdy-protocols.js";
import { Trace } from "../../../src/trace/trace.js";
import { AsyncQueue } from "../../../src/util/async/async-queue.js";
import type { Clock } from "../../../src/util/clock.js";
import { messageOf } from "../../../src/util/errors.js";
import { factFor } from "../../../src/util/release/facts.js";
import { SeededRandom } from "../../../src/util/seeded-random.js";
import { FakeClock, settle } from "../../support/fake-clock.js";
import { OwnPodWorker, ownGracePeriod } from "./own-pod-worker.js";

const KUBE_VERSION = "1.25";
const NEVER = new AbortController().signal;

interface Streams {
  readonly stdin?: boolean;
  readonly stdout?: boolean;
  readonly stderr?: boolean;
  readonly tty?: boolean;
}

/** The cache's entries have more than the learner's. */
class OwnPodCache {
  readonly #cache = new PodCache();
  get = (uid: string) => short(this.#cache.get(uid));
  set = (uid: string, status: PodStatus | undefined, error: unknown, timeMs: number) =>
    void this.#cache.set(uid, status, error, timeMs);
  delete = (uid: string) => this.#cache.delete(uid);
  updateTime = (timeMs: number) => this.#cache.updateTime(timeMs);
  getNewerThan = async (uid: string, minTimeMs: number) => short(await this.#cache.getNewerThan(uid, minTimeMs));
}

function short({ status, error, kind }: ReturnType<PodCache["get"]>) {
  return { status: kind === "default" ? undefined : status, error };
}

/** Only the sync loop reads the changes of kubelab's. */
class OwnPodConfig {
  readonly #config = new PodConfig({
    clock: new FakeClock(),
    trace: new Trace(new FakeClock()),
    recorder: { event: () => {} },
  });
  readonly #seen: PodUpdate[] = [];
  readonly #channels = new Map<PodSource, SourceChannel>();

  constructor() {
    void this.#read();
  }

  async #read() {
    for await (const update of this.#config.updates(NEVER)) this.#seen.push(update);
  }

  async set(source: PodSource, pods: readonly V1Pod[]) {
    const channel = this.#channels.get(source) ?? this.#config.channel(source);
    this.#channels.set(source, channel);
    await channel({ op: "SET", pods }, NEVER);
    await settle();
    const updates = this.#seen.splice(0).filter((one) => one.pods.length > 0);
    return Object.fromEntries(updates.map(({ op, pods }) => [op, pods.map(({ metadata }) => metadata.uid)]));
  }
}

interface OwnLeaseClient {
  get(name: string): Promise<LeaseAnswer>;
  create(lease: unknown): Promise<LeaseAnswer>;
  update(lease: unknown): Promise<LeaseAnswer>;
}
interface LeaseAnswer {
  readonly status: number;
  readonly lease?: LeaseObject;
}

/** kubelab's speaks HTTP, and asks for the Node that owns the Lease. */
class OwnLeaseController {
  readonly #own: LeaseController;

  constructor(client: OwnLeaseClient, clock: Clock, options: { nodeName: string; leaseDurationSeconds: number }) {
    const request = async ({ method, path, body }: KubeRequest) => {
      if (path.includes("/nodes/")) return { status: 200, body: { metadata: { uid: "u1" } }, headers: {} };
      const answer =
        method === "GET"
          ? await client.get(options.nodeName)
          : method === "POST"
            ? await client.create(withoutOwner(body))
            : await client.update(withoutOwner(body));
      return { status: answer.status, body: answer.lease ?? {}, headers: {} };
    };
    const trace = new Trace(clock);
    const deps = { client: { request }, clock, trace, random: new SeededRandom(1) } as unknown as ClientCtx;
    this.#own = new LeaseController(deps, { ...options, kubeVersion: KUBE_VERSION });
  }

  async sync() {
    return (await this.#own.sync(NEVER)).type;
  }
}

function withoutOwner(body: unknown): unknown {
  const { metadata, ...rest } = body as LeaseObject;
  const { ownerReferences: _, ...others } = metadata;
  return { ...rest, metadata: others };
}

/** The start of kubelab's node makes the first round. */
async function keepLease(
  node: { renew(): Promise<"renewed"> },
  clock: Clock,
  options: { readonly leaseDurationSeconds: number },
  random?: () => number,
) {
  const deps = { clock, trace: new Trace(new FakeClock()), random: { float: random } } as unknown as ClientCtx;
  const jitter = random !== undefined;
  const own = new LeaseController(deps, { ...options, nodeName: "n1", kubeVersion: KUBE_VERSION, jitter });
  Object.assign(own, {
    sync: async () => ({ type: await node.renew(), renewTime: rfc3339Micro(clock.now()), why: "failed" }),
  });
  await own.sync(NEVER);
  for await (const _ of own.run(NEVER));
}

interface ListedPod {
  readonly podUid: string;
  readonly containers: readonly { readonly containerId: string; readonly state: string }[];
}

/** kubelab's sends its events through a queue, and keeps more of each status. */
class OwnRelist {
  readonly #pleg: GenericPleg;
  readonly #events = new AsyncQueue<PodLifecycleEvent>(1000);

  constructor(
    runtime: { getPods(): Promise<readonly ListedPod[]>; getPodStatus(podUid: string): Promise<unknown> },
    cache: Readonly<Record<"set" | "delete" | "updateTime", (...args: readonly unknown[]) => void>>,
    clock: Clock,
  ) {
    const deps = {
      clock,
      trace: new Trace(new FakeClock()),
      events: this.#events,
      runtime: {
        getPods: async () =>
          (await runtime.getPods()).map((pod) => ({ ...pod, name: "", namespace: "", sandboxes: [] })),
        getPodStatus: async ({ podUid }: ListedPod) => {
          const value = await runtime.getPodStatus(podUid);
          return { podUid, value, ips: ["10.0.0.1"], containerStatuses: [], sandboxStatuses: [] };
        },
      },
      cache: {
        ...{ get: () => ({}), delete: cache.delete, updateTime: cache.updateTime },
        set: (podUid: string, status: { value: unknown } | undefined, error: unknown, timeMs: number) => {
          cache.set(podUid, status?.value, error === undefined ? undefined : messageOf(error), timeMs);
          return true;
        },
      },
    };
    this.#pleg = new GenericPleg(deps as unknown as PlegDeps, genericRelistDuration(KUBE_VERSION));
  }

  async relist() {
    await this.#pleg.relist(NEVER);
    return this.#events.takeAll().map(({ type, podUid, containerId }) => ({ type, podUid, containerId }));
  }
}

interface RankedPod {
  readonly name: string;
  readonly priority: number;
  readonly request: number;
  readonly usage?: number;
}

function rankMemoryPressure(pods: readonly RankedPod[]): readonly string[] {
  const podOf = ({ name, priority, request }: RankedPod) => ({
    metadata: { name, namespace: "default", uid: name },
    spec: { priority, containers: [{ name: "c", resources: { requests: { memory: String(request) } } }] },
    status: {},
  });
  const usages = new Map(pods.map(({ name, usage }) => [name, usage]));
  const ranked = rankPods("memory.available", false, pods.map(podOf) as unknown as readonly V1Pod[], (pod) => {
    const workingSetBytes = usages.get(pod.metadata.name);
    return workingSetBytes === undefined ? undefined : ({ memory: { workingSetBytes } } as unknown as PodStats);
  });
  return ranked.map(({ pod }) => pod.metadata.name);
}

/** kubelab's own module for each task, with the signature that the learner's file has. */
export const OWN_MODULES: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  "renew-interval": {
    renewInterval: (leaseDurationSeconds: number) =>
      renewIntervalMs({ kubeVersion: KUBE_VERSION, leaseDurationSeconds }),
    nextBackoff: (lastMs: number | undefined) =>
      lastMs === undefined
        ? factFor("leaseBackoffInitial", KUBE_VERSION)
        : Math.min(lastMs * 2, factFor("leaseBackoffMax", KUBE_VERSION)),
    jitter: (ms: number, factor: number, random: () => number) => ms * (1 + random() * factor),
  },
  "generate-events": { generateEvents, convertState, isSyncPodWorthy },
  phase: { getPhase },
  "bootstrap-token": {
    parseToken,
    tokenSecret: (
      token: BootstrapToken,
      settings: { readonly usages: readonly TokenUsage[]; readonly groups: readonly string[] },
    ) => tokenSecret({ token, ...settings }),
    isExpired: (secret: KubeObject, nowMs: number) => {
      const atMs = expirationMs(secret);
      return atMs !== undefined && (Number.isNaN(atMs) || nowMs > atMs);
    },
  },
  "crash-loop-back-off": { Backoff },
  "get-newer-than": { PodCache: OwnPodCache },
  "exec-url": {
    execUrl: (
      { namespace, pod, container = "" }: { namespace: string; pod: string; container?: string },
      words: readonly string[],
      { stdin = false, stdout = false, stderr = false, tty = false }: Streams,
    ) => execUrl({ namespace, name: pod, subresource: "exec", container, words }, { stdin, stdout, stderr, tty }),
    streamsToOpen: ({ stdin = false, stdout = false, stderr = false, tty = false }: Streams) =>
      streamTypes({ stdin, stdout, stderr: stderr && !tty, tty }, "v4.channel.k8s.io"),
  },
  csr: {
    nodeSubject,
    clientUsages: async (keyType: "ec" | "rsa") => clientUsages("1.27", await generatePrivateKey(keyType)),
    csrObject,
  },
  "merge-sources": { PodConfig: OwnPodConfig },
  "mirror-pod": { mirrorPodOf, whatToDo },
  "eviction-ranking": { rankMemoryPressure },
  "lease-loop": { LeaseController: OwnLeaseController },
  "lease-over-time": { keepLease },
  relist: { Relist: OwnRelist },
  "pod-worker": { calculateEffectiveGracePeriod: ownGracePeriod, PodWorker: OwnPodWorker },
};
