import { WAIT_FOR_API_SERVER_SYNC_PERIOD_MS } from "../../src/kubelet/config/apiserver.js";
import { setPodDefaults } from "../../src/kubelet/config/decode.js";
import {
  FILE_CHECK_FREQUENCY_MS,
  FILE_WATCH_MAX_RETRY_MS,
  FILE_WATCH_RETRY_MS,
} from "../../src/kubelet/config/file.js";
import { HTTP_CHECK_FREQUENCY_MS, HTTP_TIMEOUT_MS } from "../../src/kubelet/config/http.js";
import { DEFAULT_GC_POLICY } from "../../src/kubelet/container/generic-runtime.js";
import { IMAGE_BACK_OFF } from "../../src/kubelet/images/image-manager.js";
import { CONTAINER_BACK_OFF } from "../../src/kubelet/kuberuntime/do-back-off.js";
import { MINIMUM_GRACE_PERIOD_SECONDS } from "../../src/kubelet/kuberuntime/kill-container.js";
import { killPodTimeoutSeconds, MIN_GRACE_PERIOD_SECONDS } from "../../src/kubelet/podworkers/grace-period.js";
import { BasicWorkQueue } from "../../src/kubelet/podworkers/work-queue.js";
import { KUBELET_PORT } from "../../src/kubelet/server/server.js";
import { STATUS_CHANNEL_CAPACITY, STATUS_SYNC_PERIOD_MS } from "../../src/kubelet/status/manager.js";
import { CONTAINER_GC_PERIOD_MS } from "../../src/kubelet/sync/garbage-collection.js";
import { MAX_WAIT_FOR_CONTAINER_RUNTIME_MS } from "../../src/kubelet/sync/runtime-state.js";
import { RUNTIME_UP_PERIOD_MS } from "../../src/kubelet/sync/runtime-up.js";
import {
  HOUSEKEEPING_PERIOD_MS,
  HOUSEKEEPING_WARNING_MS,
  SKIP_BASE_MS,
  SKIP_MAX_MS,
  SYNC_PERIOD_MS,
} from "../../src/kubelet/sync/sync-loop.js";
import { Backoff, type BackoffOptions } from "../../src/staging/client-go/backoff.js";
import { NODE_LEASES } from "../../src/staging/client-go/rest/paths.js";
import { checkGroup, TOKEN_SECRET_TYPE, tokenSecretName } from "../../src/staging/cluster-bootstrap/secret.js";
import { RUNTIME_REQUEST_TIMEOUT_MS } from "../../src/staging/cri/remote/remote-runtime.js";
import { type FactName, factFor } from "../../src/util/release/facts.js";
import { makePod } from "../kubelet/podworkers/pods.js";
import { FakeClock } from "../support/fake-clock.js";
import { differences, type GoldenLine } from "./golden.js";

/** One line of `facts.json`. */
export interface FactLine extends GoldenLine {
  readonly value: unknown;
}

/** What the golden data writes in seconds. */
const seconds = (ms: number) => ms / 1_000;
const inSeconds = (name: FactName) => seconds(Number(factFor(name, "1.25")));
const ours = (name: FactName) => factFor(name, "1.25");

/** `0.1, 0.2, 0.4, …` up to the longest. */
function doubling(initialMs: number, maxMs: number, length: number): number[] {
  return Array.from({ length }, (_, i) => seconds(Math.min(initialMs * 2 ** i, maxMs)));
}

/** The waits that our back-off really gives, one failure after the other. */
async function backOffSequence(options: BackoffOptions, length: number): Promise<number[]> {
  const clock = new FakeClock();
  const backOff = new Backoff(clock, options);
  const waits: number[] = [];
  for (let i = 0; i < length; i++) {
    backOff.next("c", clock.now());
    waits.push(seconds(backOff.get("c")));
    await clock.advance(backOff.get("c"));
  }
  return waits;
}

/** After how much quiet the first wait holds again: the moment before it, and the moment itself. */
async function backOffResetAfter(): Promise<number> {
  const clock = new FakeClock();
  const backOff = new Backoff(clock, CONTAINER_BACK_OFF);
  const isOverAfter = (ms: number) => {
    backOff.reset("c");
    backOff.next("c", clock.now());
    backOff.next("c", clock.now() + ms);
    return backOff.get("c") === CONTAINER_BACK_OFF.initialMs;
  };
  let ms = CONTAINER_BACK_OFF.maxMs;
  while (!isOverAfter(ms + 1)) ms += 1_000;
  return seconds(ms);
}

async function readyCondition(): Promise<string> {
  const clock = new FakeClock();
  const queue = new BasicWorkQueue(clock);
  queue.enqueue("a", 10);
  await clock.advance(10);
  return queue.getWork().length === 0 ? "deadline strictly before now" : "deadline at or before now";
}

async function inBackoffCondition(): Promise<string> {
  const clock = new FakeClock();
  const backOff = new Backoff(clock, CONTAINER_BACK_OFF);
  const finishedAt = clock.now();
  backOff.next("c", finishedAt);
  await clock.advance(CONTAINER_BACK_OFF.initialMs);
  return backOff.isInBackOffSince("c", finishedAt) ? "now - finishedAt <= delay" : "now - finishedAt < delay";
}

function killPodTimeout(): string {
  const isSame = [3, 7, 21].every(
    (grace) => killPodTimeoutSeconds(grace) === Math.max(10, grace + Math.floor(grace / 2)),
  );
  return isSame ? "max(10, grace*1.5 in integer arithmetic: grace + grace/2)" : "something else";
}

/** Our code's value or behaviour for each fact. */
const OURS: Readonly<Record<string, () => unknown>> = {
  "pleg.relistPeriod": () => inSeconds("plegRelistPeriod"),
  "pleg.channelCapacity": () => ours("plegChannelCapacity"),
  "pleg.relistThreshold": () => inSeconds("plegRelistThreshold"),
  "kubelet.housekeepingPeriod": () => seconds(HOUSEKEEPING_PERIOD_MS),
  "kubelet.housekeepingWarningDuration": () => seconds(HOUSEKEEPING_WARNING_MS),
  "kubelet.syncTicker": () => seconds(SYNC_PERIOD_MS),
  "kubelet.syncLoopErrorBackoff": () => doubling(SKIP_BASE_MS, SKIP_MAX_MS, 8),
  "kubelet.updateRuntimeUpPeriod": () => seconds(RUNTIME_UP_PERIOD_MS),
  "kubelet.maxWaitForContainerRuntime": () => seconds(MAX_WAIT_FOR_CONTAINER_RUNTIME_MS),
  "kubelet.containerGCPeriod": () => seconds(CONTAINER_GC_PERIOD_MS),
  "kubelet.minDeadContainerInPod": () => DEFAULT_GC_POLICY.maxPerPodContainer,
  "kubelet.resyncInterval": () => inSeconds("podResyncInterval"),
  "podWorkers.resyncJitterFactor": () => ours("podWorkerResyncJitterFactor"),
  "podWorkers.backOffPeriod": () => inSeconds("podWorkerBackOffPeriod"),
  "podWorkers.backOffJitterFactor": () => ours("podWorkerBackOffJitterFactor"),
  "podWorkers.backOffOnTransientErrorPeriod": () => inSeconds("podWorkerTransientBackOffPeriod"),
  "workQueue.readyCondition": readyCondition,
  "podWorkers.minimumGracePeriod": () => MIN_GRACE_PERIOD_SECONDS,
  "podWorkers.killPodTimeout": killPodTimeout,
  "status.syncPeriod": () => seconds(STATUS_SYNC_PERIOD_MS),
  "status.channelCapacity": () => STATUS_CHANNEL_CAPACITY,
  "containerRestart.backoffInitial": () => seconds(CONTAINER_BACK_OFF.initialMs),
  "containerRestart.backoffCap": () => seconds(CONTAINER_BACK_OFF.maxMs),
  "containerRestart.backoffSequence": () => backOffSequence(CONTAINER_BACK_OFF, 8),
  "containerRestart.backoffResetAfter": backOffResetAfter,
  "containerRestart.inBackoffCondition": inBackoffCondition,
  "imagePull.backoffSequence": () => backOffSequence(IMAGE_BACK_OFF, 7),
  "containerKill.minimumGracePeriod": () => MINIMUM_GRACE_PERIOD_SECONDS,
  "pod.defaultTerminationGracePeriodSeconds": () => setPodDefaults(makePod("a")).spec.terminationGracePeriodSeconds,
  "node.leaseDurationSeconds": () => ours("leaseDurationSeconds"),
  "node.leaseRenewIntervalFraction": () => ours("leaseRenewIntervalFraction"),
  "node.leaseRenewInterval": () => inSeconds("leaseRenewInterval"),
  "node.leaseRenewJitterFactor": () => ours("leaseJitterFactor"),
  "node.leaseEnsureBackoffSequence": () =>
    doubling(Number(ours("leaseBackoffInitial")), Number(ours("leaseBackoffMax")), 10),
  "node.leaseMaxUpdateRetries": () => ours("leaseMaxUpdateRetries"),
  "node.leaseNamespace": () => NODE_LEASES.namespace,
  "node.statusUpdateFrequency": () => inSeconds("nodeStatusUpdateFrequency"),
  "node.statusReportFrequency": () => inSeconds("nodeStatusReportFrequency"),
  "node.statusUpdateRetry": () => ours("nodeStatusUpdateRetry"),
  "node.registerBackoffSequence": () =>
    doubling(Number(ours("registerBackoffInitial")), Number(ours("registerBackoffMax")), 9),
  "node.monitorGracePeriod": () => inSeconds("nodeMonitorGracePeriod"),
  "node.startupGracePeriod": () => inSeconds("nodeStartupGracePeriod"),
  "node.monitorPeriod": () => inSeconds("nodeMonitorPeriod"),
  "node.evictionRate": () => ours("nodeEvictionRate"),
  "pod.defaultNotReadyTolerationSeconds": () => ours("defaultNotReadyTolerationSeconds"),
  "pod.defaultUnreachableTolerationSeconds": () => ours("defaultUnreachableTolerationSeconds"),
  "csr.bootstrapTimeout": () => inSeconds("bootstrapCsrTimeout"),
  "csr.rotationTimeout": () => inSeconds("csrRotationTimeout"),
  "certRotation.deadlineWindow": () => [ours("rotationDeadlineMin"), ours("rotationDeadlineMax")],
  "csrCleaner.approvedExpiration": () => inSeconds("csrApprovedExpiration"),
  "csrCleaner.deniedExpiration": () => inSeconds("csrDeniedExpiration"),
  "csrCleaner.pendingExpiration": () => inSeconds("csrPendingExpiration"),
  "bootstrapToken.secretNamePrefix": () => tokenSecretName(""),
  "bootstrapToken.secretType": () => TOKEN_SECRET_TYPE,
  "bootstrapToken.groupFormat": groupFormat,
  "port.kubelet": () => KUBELET_PORT,
  "config.fileCheckFrequency": () => seconds(FILE_CHECK_FREQUENCY_MS),
  "config.httpCheckFrequency": () => seconds(HTTP_CHECK_FREQUENCY_MS),
  "config.httpTimeout": () => seconds(HTTP_TIMEOUT_MS),
  "config.fileWatchRetry": () => ({ initial: seconds(FILE_WATCH_RETRY_MS), cap: seconds(FILE_WATCH_MAX_RETRY_MS) }),
  "config.waitForAPIServerSyncPeriod": () => seconds(WAIT_FOR_API_SERVER_SYNC_PERIOD_MS),
  "runtime.requestTimeout": () => seconds(RUNTIME_REQUEST_TIMEOUT_MS),
};

/** Our code has the pattern to itself: what it takes and refuses tells whether it is the same. */
function groupFormat(): string {
  const takes = (group: string) => {
    try {
      checkGroup(group);
      return true;
    } catch {
      return false;
    }
  };
  const good = ["system:bootstrappers:a", "system:bootstrappers:a-b:c", `system:bootstrappers:${"a".repeat(256)}`];
  const bad = [
    "system:bootstrappers:",
    "system:bootstrappers:a-",
    "system:masters",
    `system:bootstrappers:${"a".repeat(257)}`,
  ];
  const isSame = good.every(takes) && !bad.some(takes);
  return isSame ? "^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$" : "something else";
}

/** Facts that our code can be asked about. The others are of parts that are not built, or are held by other areas. */
export function isCompared({ name }: GoldenLine): boolean {
  return name in OURS;
}

export async function replayFact({ name, value }: FactLine): Promise<readonly string[]> {
  return differences(value, await OURS[name]?.(), name);
}
