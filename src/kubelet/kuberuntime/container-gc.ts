import { readdir, readlink, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { POD_UID_LABEL } from "../../staging/cri/labels.js";
import type { Container } from "../../staging/cri/messages/container.js";
import { ContainerState, PodSandboxState } from "../../staging/cri/messages/enums.js";
import type { PodSandbox } from "../../staging/cri/messages/sandbox.js";
import { describeFileError } from "../../util/os/files.js";
import type { GcPolicy } from "../container/generic-runtime.js";
import { toMs } from "./convert.js";
import { killContainer } from "./kill-container.js";
import { containerIdFromLegacyLogSymlink, parsePodUidFromLogsDirectory } from "./logs/log-paths.js";
import type { ManagerContext } from "./manager-context.js";
import { removeContainer } from "./remove-container.js";

/** A dead container. Mirrors containerGCInfo. */
export interface DeadContainer {
  readonly containerId: string;
  readonly podUid: string;
  readonly name: string;
  readonly createdAtMs: number;
  /** unknown state: the container is stopped first */
  readonly isUnknown: boolean;
}

export interface GcOptions {
  readonly policy: GcPolicy;
  readonly allSourcesReady: boolean;
  readonly evictNonDeletedPods: boolean;
}

/**
 * Removes dead containers, then sandboxes without containers, then logs of deleted pods.
 *
 * Mirrors GarbageCollect in pkg/kubelet/kuberuntime/kuberuntime_gc.go.
 * @returns the error that ended it; a failure for one container is reported and tried again next time
 */
export async function garbageCollect(
  context: ManagerContext,
  options: GcOptions,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const problems: string[] = [];
  const keep = (problem: string | undefined) => {
    if (problem !== undefined) problems.push(problem);
  };
  keep(await evictContainers(context, options, signal));
  keep(await evictSandboxes(context, options.evictNonDeletedPods, signal));
  if (options.allSourcesReady) keep(await evictPodLogs(context));
  await removeDeadLinks(context, signal);
  return problems;
}

/** Reports pods whose dead containers must all go: deleted ones, or (`evictNonDeletedPods`) terminated ones. */
function isGone({ podStateProvider }: ManagerContext, podUid: string, evictNonDeletedPods: boolean): boolean {
  if (podStateProvider.shouldPodContentBeRemoved(podUid)) return true;
  return evictNonDeletedPods && podStateProvider.shouldPodRuntimeBeRemoved(podUid);
}

async function evictContainers(
  context: ManagerContext,
  { policy, allSourcesReady, evictNonDeletedPods }: GcOptions,
  signal: AbortSignal,
): Promise<string | undefined> {
  const list = await context.runtimeService.listContainers(undefined, signal);
  if (list.outcome !== "ok") return list.text;
  const dead = evictableContainers(list.value, context.clock.now() - policy.minAgeMs);
  const isOver = (podUid: string) => allSourcesReady && isGone(context, podUid, evictNonDeletedPods);
  for (const one of containersToRemove(dead, policy, isOver)) {
    context.observer.removesContainer(one, isOver(one.podUid), policy);
    const problem = await removeDead(context, one, signal);
    if (problem !== undefined) context.observer.notRemoved(`container ${one.containerId}`, problem);
  }
  return undefined;
}

/** Not running, and old enough. Mirrors evictableContainers. */
export function evictableContainers(containers: readonly Container[], newestMs: number): DeadContainer[] {
  return containers.flatMap(({ id, metadata, state, createdAt, labels }) => {
    const createdAtMs = toMs(createdAt);
    if (metadata === undefined || state === ContainerState.CONTAINER_RUNNING || createdAtMs > newestMs) return [];
    const podUid = labels[POD_UID_LABEL];
    // Other containers in this runtime are not the kubelet's to remove.
    if (podUid === undefined) return [];
    const isUnknown = state === ContainerState.CONTAINER_UNKNOWN;
    return [{ containerId: id, podUid, name: metadata.name, createdAtMs, isUnknown }];
  });
}

/**
 * The dead containers to remove, the oldest first: all containers of deleted pods; of each other container all but the
 * newest few; and beyond the node's limit the same number from each container.
 *
 * Mirrors evictContainers, enforceMaxContainersPerEvictUnit and removeOldestN. Pure.
 */
export function containersToRemove(
  dead: readonly DeadContainer[],
  { maxPerPodContainer, maxContainers }: GcPolicy,
  isOver: (podUid: string) => boolean,
): DeadContainer[] {
  const removed = dead.filter(({ podUid }) => isOver(podUid)).sort(oldestFirst);
  let units = groupByUnit(dead.filter(({ podUid }) => !isOver(podUid)));
  const enforce = (perUnit: number) => {
    for (const unit of units) removed.push(...unit.slice(perUnit).reverse());
    units = units.map((unit) => unit.slice(0, perUnit));
  };
  const count = () => units.reduce((sum, unit) => sum + unit.length, 0);
  if (maxPerPodContainer >= 0) enforce(maxPerPodContainer);
  if (maxContainers >= 0 && count() > maxContainers) {
    enforce(Math.max(1, Math.trunc(maxContainers / units.length)));
    const left = units.flat().sort(oldestFirst);
    removed.push(...left.slice(0, Math.max(0, left.length - maxContainers)));
  }
  return removed;
}

/** By pod and container, the newest first. */
function groupByUnit(dead: readonly DeadContainer[]): DeadContainer[][] {
  const units = new Map<string, DeadContainer[]>();
  for (const one of dead) {
    const key = `${one.podUid}/${one.name}`;
    units.set(key, [...(units.get(key) ?? []), one]);
  }
  return [...units.values()].map((unit) => unit.sort((a, b) => oldestFirst(b, a)));
}

function oldestFirst(a: DeadContainer, b: DeadContainer): number {
  return a.createdAtMs - b.createdAtMs;
}

async function removeDead(
  context: ManagerContext,
  one: DeadContainer,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { containerId, name, isUnknown } = one;
  if (isUnknown) {
    const message = "Container is in unknown state, try killing it before removal";
    const kill = { pod: undefined, containerId, name, message, reason: "Unknown" } as const;
    const problem = await killContainer(context, kill, signal);
    if (problem !== undefined) return problem;
  }
  return removeContainer(context, containerId, signal);
}

async function evictSandboxes(
  context: ManagerContext,
  evictNonDeletedPods: boolean,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { runtimeService } = context;
  // Sandboxes after containers, so that a sandbox whose container was just created does not look empty.
  const containers = await runtimeService.listContainers(undefined, signal);
  if (containers.outcome !== "ok") return containers.text;
  const sandboxes = await runtimeService.listPodSandbox(undefined, signal);
  if (sandboxes.outcome !== "ok") return sandboxes.text;
  const used = new Set(containers.value.map(({ podSandboxId }) => podSandboxId));
  for (const id of sandboxesToRemove(sandboxes.value, used, (uid) => isGone(context, uid, evictNonDeletedPods))) {
    context.observer.removesSandbox(id);
    // It should be stopped already; if not, its network must be torn down.
    const stopped = await runtimeService.stopPodSandbox(id, signal);
    const removed = stopped.outcome === "ok" ? await runtimeService.removePodSandbox(id, signal) : stopped;
    if (removed.outcome !== "ok") context.observer.notRemoved(`sandbox ${id}`, removed.text);
  }
  return undefined;
}

/**
 * Sandboxes that are not ready, have no container, and are not the newest of an existing pod.
 * Mirrors evictSandboxes and removeOldestNSandboxes. Pure.
 */
export function sandboxesToRemove(
  sandboxes: readonly PodSandbox[],
  used: ReadonlySet<string>,
  isOver: (podUid: string) => boolean,
): string[] {
  const byPod = new Map<string, PodSandbox[]>();
  for (const sandbox of sandboxes) {
    const podUid = sandbox.metadata?.uid;
    if (podUid !== undefined) byPod.set(podUid, [...(byPod.get(podUid) ?? []), sandbox]);
  }
  return [...byPod].flatMap(([podUid, ofPod]) => {
    const newestFirst = ofPod.sort((a, b) => toMs(b.createdAt) - toMs(a.createdAt));
    const isActive = ({ id, state }: PodSandbox) => state === PodSandboxState.SANDBOX_READY || used.has(id);
    const candidates = newestFirst.slice(isOver(podUid) ? 0 : 1).reverse();
    return candidates.filter((sandbox) => !isActive(sandbox)).map(({ id }) => id);
  });
}

/** Mirrors evictPodLogsDirectories. */
async function evictPodLogs(context: ManagerContext): Promise<string | undefined> {
  const { podLogsDirectory } = context.options;
  let names: readonly string[];
  try {
    names = await readdir(podLogsDirectory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    return `failed to read podLogsRootDirectory "${podLogsDirectory}": ${describeFileError(error)}`;
  }
  for (const name of names) {
    // Only names of pod folders: the root may contain other files.
    if (name.split("_").length < 3) continue;
    if (!context.podStateProvider.shouldPodContentBeRemoved(parsePodUidFromLogsDirectory(name))) continue;
    context.observer.removesLogs(name);
    try {
      await rm(join(podLogsDirectory, name), { recursive: true, force: true });
    } catch (error) {
      context.observer.notRemoved(`pod logs directory ${name}`, describeFileError(error));
    }
  }
  return undefined;
}

/** Removes links to missing logs, unless their container still exists: a rotation takes a log away for a moment. */
async function removeDeadLinks(context: ManagerContext, signal: AbortSignal): Promise<void> {
  const { containerLogsDirectory } = context.options;
  if (containerLogsDirectory === undefined) return;
  for (const name of await namesIn(containerLogsDirectory)) {
    const link = join(containerLogsDirectory, name);
    const containerId = containerIdFromLegacyLogSymlink(name);
    if (containerId === undefined || !(await isDangling(link))) continue;
    const result = await context.runtimeService.containerStatus(containerId, false, signal);
    const state = result.outcome === "ok" ? result.value.status?.state : ContainerState.CONTAINER_EXITED;
    if (state !== ContainerState.CONTAINER_EXITED) continue;
    context.observer.removesLink(name);
    await rm(link, { force: true });
  }
}

async function namesIn(folder: string): Promise<readonly string[]> {
  // Without the folder there are no links.
  return readdir(folder).catch(() => []);
}

async function isDangling(link: string): Promise<boolean> {
  try {
    await readlink(link);
    await stat(link);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT";
  }
}
