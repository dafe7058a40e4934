import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startRuntime } from "../../../src/cluster/runtime/start.js";
import type { PodRef, PodStatus } from "../../../src/kubelet/container/runtime.js";
import type { ProbeResult, ProbeResults, RuntimeHelper } from "../../../src/kubelet/container/runtime-helper.js";
import type { PodSyncResult } from "../../../src/kubelet/container/sync-result.js";
import type { PodEventOptions, PodEventRecorder } from "../../../src/kubelet/events/pod-recorder.js";
import { CONTAINER_BACK_OFF } from "../../../src/kubelet/kuberuntime/do-back-off.js";
import { KubeGenericRuntimeManager } from "../../../src/kubelet/kuberuntime/kuberuntime-manager.js";
import type {
  KubeRuntimeManagerDeps,
  KubeRuntimeManagerOptions,
} from "../../../src/kubelet/kuberuntime/manager-context.js";
import type { V1Container, V1Pod } from "../../../src/staging/apimachinery/api/pod.js";
import { Backoff } from "../../../src/staging/client-go/backoff.js";
import { type CriClient, createCriClient } from "../../../src/staging/cri/remote/create-cri-client.js";
import type { Trace } from "../../../src/trace/trace.js";
import type { Clock } from "../../../src/util/clock.js";
import { FakeClock, FakeRandom } from "../../support/fake-clock.js";
import { recordingTrace } from "../../support/trace.js";

export const { signal } = new AbortController();

/** Keeps events as `Normal Pulled Container image ...`; only the last word of where with `fieldPaths`. */
export class EventLog implements PodEventRecorder {
  readonly lines: string[] = [];
  readonly fieldPaths: string[] = [];

  event(_pod: V1Pod, type: string, reason: string, message: string, options: PodEventOptions = {}): void {
    this.lines.push(`${type} ${reason} ${message}`);
    this.fieldPaths.push(options.fieldPath ?? "");
  }

  /** What was recorded since the last time. */
  take(): string[] {
    return this.lines.splice(0);
  }
}

/** Probe results that a test sets. */
export class FakeProbes implements ProbeResults {
  readonly results = new Map<string, ProbeResult>();

  get(containerId: string): ProbeResult | undefined {
    return this.results.get(containerId);
  }
}

/** The kubelet's answers, without a kubelet: nothing of a pod's environment but two variables. */
export function fakeHelper(folder: string, changes: Partial<RuntimeHelper> = {}): RuntimeHelper {
  return {
    generateRunContainerOptions: async (pod, container) => ({
      outcome: "ok",
      options: {
        envs: [{ name: "POD", value: pod.metadata.name }],
        mounts: [],
        podContainerDir: join(folder, "pods", pod.metadata.uid, "containers", container.name),
      },
    }),
    getPodDNS: async () => ({ outcome: "ok", dns: { servers: ["10.96.0.10"], searches: [], options: [] } }),
    getPodCgroupParent: () => "",
    getPodDir: (podUid) => join(folder, "pods", podUid),
    generatePodHostNameAndDomain: (pod) => ({ outcome: "ok", hostname: pod.metadata.name, domain: "" }),
    getExtraSupplementalGroupsForPod: () => [],
    ...changes,
  };
}

/** Calls over the socket take some turns of the event loop, so some steps: they must not add up to a deadline. */
const DRIVE_STEP_MS = 100;

export interface LabOptions {
  readonly kubeVersion?: string;
  readonly helper?: Partial<RuntimeHelper>;
  readonly options?: Partial<KubeRuntimeManagerOptions>;
  readonly deps?: Partial<KubeRuntimeManagerDeps>;
}

/** A runtime manager over an existing runtime. */
export class ManagerLab {
  readonly events = new EventLog();
  readonly liveness = new FakeProbes();
  readonly startup = new FakeProbes();
  /** pods that are gone: of these nothing stays */
  readonly gone = new Set<string>();
  /** pods that are to end */
  readonly ending = new Set<string>();
  readonly manager: KubeGenericRuntimeManager;
  readonly backOff: Backoff;
  readonly helper: RuntimeHelper;

  constructor(
    readonly client: CriClient,
    readonly clock: Clock,
    trace: Trace,
    readonly folder: string,
    { kubeVersion = "1.25", helper = {}, options = {}, deps = {} }: LabOptions,
  ) {
    this.backOff = new Backoff(clock, CONTAINER_BACK_OFF);
    this.helper = fakeHelper(folder, helper);
    this.manager = new KubeGenericRuntimeManager(
      {
        runtimeService: client.runtime,
        imageService: client.images,
        runtimeHelper: this.helper,
        livenessManager: this.liveness,
        startupManager: this.startup,
        podStateProvider: {
          isPodTerminationRequested: (uid) => this.ending.has(uid),
          shouldPodContentBeRemoved: (uid) => this.gone.has(uid),
          shouldPodRuntimeBeRemoved: (uid) => this.gone.has(uid),
        },
        recorder: this.events,
        clock,
        random: new FakeRandom(),
        trace,
        ...deps,
      },
      {
        kubeVersion,
        runtimeName: client.version.runtimeName,
        podLogsDirectory: join(folder, "logs"),
        containerLogsDirectory: join(folder, "links"),
        seccompProfileRoot: join(folder, "seccomp"),
        memoryCapacityBytes: 32 * 2 ** 30,
        ...options,
      },
    );
  }

  status(pod: V1Pod): Promise<PodStatus> {
    return this.manager.getPodStatus(refOf(pod), signal);
  }

  async sync(pod: V1Pod, until = signal): Promise<PodSyncResult> {
    return this.manager.syncPod(pod, await this.status(pod), [], this.backOff, until);
  }

  /** `app:running#0`, newest first, init containers among them. */
  async containers(pod: V1Pod): Promise<string[]> {
    const { containerStatuses } = await this.status(pod);
    return containerStatuses.map(({ name, state, restartCount }) => `${name}:${state}#${restartCount}`);
  }

  async containerId(pod: V1Pod, name: string): Promise<string> {
    const { containerStatuses } = await this.status(pod);
    return containerStatuses.find((status) => status.name === name)?.containerId ?? "";
  }
}

/** A manager on the embedded runtime, both on one stopped clock. */
export async function openLab(given: LabOptions = {}) {
  const clock = new FakeClock();
  const { trace, events: facts } = recordingTrace(clock);
  const folder = mkdtempSync(join(tmpdir(), "kubelab-kuberuntime-"));
  const deps = { clock, trace, random: new FakeRandom() };
  const runtime = await startRuntime({ ...deps, images: ["busybox", "nginx"], pullMs: 0, seed: 1 });
  const client = await createCriClient(runtime.endpoint, { clock, trace, actor: "kubelet" }, {}, signal);
  const lab = new ManagerLab(client, clock, trace, folder, given);
  return {
    ...lab,
    lab,
    clock,
    facts,
    control: runtime.control,
    /** Lets time pass until something has ended. */
    async drive<T>(work: Promise<T>): Promise<T> {
      let isDone = false;
      const done = work.finally(() => {
        isDone = true;
      });
      done.catch(() => {});
      while (!isDone) await clock.advance(DRIVE_STEP_MS);
      return done;
    },
    async [Symbol.asyncDispose]() {
      await client.close();
      await runtime.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export function refOf({ metadata }: V1Pod): PodRef {
  return { podUid: metadata.uid, name: metadata.name, namespace: metadata.namespace };
}

let serial = 0;

/** A pod of busyboxes that wait to be ended. */
export function podOf(
  containers: readonly Partial<V1Container>[],
  spec: Readonly<Record<string, unknown>> = {},
  metadata: Partial<V1Pod["metadata"]> = {},
): V1Pod {
  serial++;
  const filled = (list: readonly Partial<V1Container>[]) => list.map((one, i) => ({ ...container(`c${i}`), ...one }));
  const inits = (spec["initContainers"] ?? []) as readonly Partial<V1Container>[];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: `web-${serial}`, namespace: "default", uid: `uid-${serial}`, ...metadata },
    spec: {
      restartPolicy: "Always",
      terminationGracePeriodSeconds: 30,
      securityContext: {},
      ...spec,
      containers: filled(containers),
      ...(inits.length === 0 ? {} : { initContainers: filled(inits) }),
    },
    status: {},
  };
}

function container(name: string): V1Container {
  return {
    name,
    image: "busybox",
    imagePullPolicy: "IfNotPresent",
    command: ["sleep", "infinity"],
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
    resources: {},
  };
}

/** `StartContainer app CrashLoopBackOff`: what a sync did. */
export function resultTexts({ syncResults }: PodSyncResult): string[] {
  return syncResults.map(({ action, target, error }) => [action, target, error].filter(Boolean).join(" "));
}
