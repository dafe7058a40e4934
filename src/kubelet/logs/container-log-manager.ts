import { statSync } from "node:fs";
import { rename } from "node:fs/promises";
import { nanoValue, unitValue } from "../../staging/apimachinery/quantity.js";
import { CONTAINER_NAME_LABEL, POD_NAME_LABEL, POD_NAMESPACE_LABEL } from "../../staging/cri/labels.js";
import { ContainerState } from "../../staging/cri/messages/enums.js";
import type { RemoteRuntimeService } from "../../staging/cri/remote/remote-runtime.js";
import type { Trace } from "../../trace/trace.js";
import { until } from "../../trace/until.js";
import { untilAborted } from "../../util/async/concurrency.js";
import type { Clock } from "../../util/clock.js";
import { LabError } from "../../util/errors.js";
import type { KubeletConfiguration } from "../apis/config/defaults.js";
import { isOwnLog } from "../kuberuntime/logs/log-paths.js";
import { ContainerLogObserver } from "./container-log-observer.js";
import { makeRoomForRotated } from "./rotated-logs.js";

/** Mirrors containerLogMonitorInterval, which was a constant of this value before it became configurable. */
export const LOG_MONITOR_PERIOD_MS = 10_000;

/** Mirrors LogRotatePolicy. */
export interface LogRotatePolicy {
  /** size in bytes from which a log is rotated; negative: never */
  readonly maxSize: number;
  /** how many files of a container's log are kept, including the current one; at least 2 */
  readonly maxFiles: number;
}

/**
 * The policy of a configuration. Mirrors NewContainerLogManager and parseMaxSize.
 * @throws LabError BAD_FILE
 */
export function logRotatePolicy(
  config: Pick<KubeletConfiguration, "containerLogMaxSize" | "containerLogMaxFiles">,
): LogRotatePolicy {
  const { containerLogMaxSize: size, containerLogMaxFiles: maxFiles } = config;
  const fail = (why: string, hint: string) =>
    new LabError("BAD_FILE", `failed to initialize container log manager: ${why}`, hint);
  if (maxFiles <= 1) {
    throw fail(
      `invalid MaxFiles ${maxFiles}, must be > 1`,
      "containerLogMaxFiles counts the file in use and an old one.",
    );
  }
  if (nanoValue(size) === undefined) {
    const why = `failed to parse container log max size ${JSON.stringify(size)}`;
    throw fail(why, "containerLogMaxSize is a number of bytes such as 10Mi; -1: logs are not rotated.");
  }
  return { maxSize: unitValue(size), maxFiles };
}

export interface ContainerLogManagerDeps {
  readonly runtimeService: Pick<RemoteRuntimeService, "listContainers" | "containerStatus" | "reopenContainerLog">;
  readonly clock: Clock;
  readonly trace: Trace;
}

export interface ContainerLogManagerOptions {
  /** logs elsewhere are left alone, as the kubelet did not create them */
  readonly podLogsDirectory: string;
  readonly policy: LogRotatePolicy;
}

interface ContainerLog {
  readonly path: string;
  /** `default/web/nginx` */
  readonly container: string;
}

/**
 * Rotates the logs of containers: a log that has grown too large is renamed, the runtime opens a new one, and the
 * newest few renamed files are kept, compressed.
 *
 * Mirrors pkg/kubelet/logs/container_log_manager.go (containerLogManager); Clean is in `removeContainer`.
 * Differs: the log's path is read once per container, since it cannot change; the time in a name is UTC.
 */
export class ContainerLogManager {
  /** by container; undefined: no log, or one outside the kubelet's folder */
  readonly #logs = new Map<string, ContainerLog | undefined>();

  constructor(
    readonly deps: ContainerLogManagerDeps,
    readonly options: ContainerLogManagerOptions,
    readonly observer = new ContainerLogObserver(deps.trace),
  ) {}

  /** Checks all logs now and every 10 s, until the signal aborts. Mirrors Start. @throws the signal's reason */
  async run(signal: AbortSignal): Promise<void> {
    // An error here would end the kubelet.
    if (this.options.policy.maxSize < 0) return untilAborted(signal);
    await until(this.deps, LOG_MONITOR_PERIOD_MS, () => this.rotateLogs(signal), signal, {
      what: "rotate logs",
      setBy: "log monitoring period",
    });
  }

  /** One round. Failures are reported, and tried again in the next round. @throws the signal's reason */
  async rotateLogs(signal: AbortSignal): Promise<void> {
    const { runtimeService } = this.deps;
    const listed = await runtimeService.listContainers(undefined, signal);
    signal.throwIfAborted();
    // Other parts report that the runtime is unreachable.
    if (listed.outcome !== "ok") return this.observer.notListed(listed.text);
    // Dead containers write no more: a new file would stay empty.
    const running = listed.value.filter(({ state }) => state === ContainerState.CONTAINER_RUNNING).map(({ id }) => id);
    for (const id of this.#logs.keys()) if (!running.includes(id)) this.#logs.delete(id);
    for (const id of running) await this.#rotateIfLarge(id, signal);
  }

  async #rotateIfLarge(id: string, signal: AbortSignal): Promise<void> {
    const log = await this.#logOf(id, signal);
    if (log === undefined) return;
    const { path } = log;
    const size = await this.#sizeOf(id, path, signal);
    if (size === undefined || size < this.options.policy.maxSize) return;
    try {
      await this.#rotate(id, log, size, signal);
    } catch (error) {
      signal.throwIfAborted();
      this.observer.notRotated(id, path, error);
    }
  }

  /** undefined: no log, or one outside the kubelet's folder */
  async #logOf(id: string, signal: AbortSignal): Promise<ContainerLog | undefined> {
    if (this.#logs.has(id)) return this.#logs.get(id);
    const result = await this.deps.runtimeService.containerStatus(id, false, signal);
    signal.throwIfAborted();
    if (result.outcome !== "ok") {
      // Removed after the list was read.
      if (result.outcome !== "not-found") this.observer.noStatus(id, result.text);
      return undefined;
    }
    const { logPath: path = "", labels = {} } = result.value.status ?? {};
    const container = [POD_NAMESPACE_LABEL, POD_NAME_LABEL, CONTAINER_NAME_LABEL]
      .map((label) => labels[label])
      .join("/");
    const log = isOwnLog(path, this.options.podLogsDirectory) ? { path, container } : undefined;
    this.#logs.set(id, log);
    return log;
  }

  /**
   * The size of a log. Reopens a log whose file was deleted: the runtime writes into an unlinked file. That fails while an evicted
   * pod ends, because the folder of its logs is removed at once.
   * @returns undefined: not known, which is reported
   */
  async #sizeOf(id: string, path: string, signal: AbortSignal): Promise<number | undefined> {
    try {
      const size = sizeOf(path);
      if (size !== undefined) return size;
    } catch (error) {
      this.observer.notMeasured(id, path, error);
      return undefined;
    }
    try {
      await this.#reopen(id, signal);
    } catch (error) {
      signal.throwIfAborted();
      this.observer.notReopened(id, path, error);
      return undefined;
    }
    try {
      return statSync(path).size;
    } catch (error) {
      this.observer.notMeasured(id, path, error, " after reopen");
      return undefined;
    }
  }

  /** Mirrors rotateLog and rotateLatestLog. */
  async #rotate(id: string, { path, container }: ContainerLog, size: number, signal: AbortSignal): Promise<void> {
    const { policy } = this.options;
    const { clock } = this.deps;
    await makeRoomForRotated(path, policy.maxFiles, signal);
    const rotated = `${path}.${timestampOf(clock.now())}`;
    await rename(path, rotated);
    try {
      await this.#reopen(id, signal);
    } catch (error) {
      // The next round tries again; if the kubelet ends before, the log keeps the rotated name.
      await rename(rotated, path).catch((lost: unknown) => this.observer.notRenamedBack(rotated, lost));
      throw error;
    }
    this.observer.rotated(container, path, rotated, size, policy);
  }

  async #reopen(id: string, signal: AbortSignal): Promise<void> {
    const result = await this.deps.runtimeService.reopenContainerLog(id, signal);
    if (result.outcome !== "ok") throw new Error(`failed to reopen container log "${id}": ${result.text}`);
  }
}

/** undefined: the file does not exist */
function sizeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.size;
}

/** `20260102-030405`. Mirrors timestampFormat. */
function timestampOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replaceAll(/[-:]/g, "").replace("T", "-");
}
