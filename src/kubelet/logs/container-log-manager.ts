import { statSync } from "node:fs";
import { rename } from "node:fs/promises";
import { basename } from "node:path";
import { ContainerState } from "../../cri/messages/enums.js";
import type { Trace } from "../../trace/trace.js";
import type { Clock } from "../../util/clock.js";
import { messageOf } from "../../util/errors.js";
import { untilAborted } from "../../util/loops.js";
import type { RemoteRuntimeService } from "../cri/remote-runtime.js";
import { CONTAINER_NAME_LABEL, POD_NAME_LABEL, POD_NAMESPACE_LABEL } from "../kuberuntime/labels.js";
import { isOwnLog } from "../kuberuntime/log-paths.js";
import { makeRoomForRotated } from "./rotated-logs.js";

const FILE = "pkg/kubelet/logs/container_log_manager.go";
/** Mirrors containerLogMonitorInterval, which was this much before it could be set. */
const LOG_MONITOR_PERIOD_MS = 10_000;

/** Mirrors LogRotatePolicy. */
export interface LogRotatePolicy {
  /** bytes from which on a log is rotated; negative: none is */
  readonly maxSize: number;
  /** how many files a container's log may have, the one that is written included; at least 2 */
  readonly maxFiles: number;
}

/** Mirrors containerLogMaxSize (10Mi) and containerLogMaxFiles in pkg/kubelet/apis/config/v1beta1/defaults.go. */
export const DEFAULT_LOG_ROTATE_POLICY: LogRotatePolicy = { maxSize: 10 * 1024 * 1024, maxFiles: 5 };

export interface ContainerLogManagerDeps {
  readonly runtimeService: Pick<RemoteRuntimeService, "listContainers" | "containerStatus" | "reopenContainerLog">;
  readonly clock: Clock;
  readonly trace: Trace;
}

export interface ContainerLogManagerOptions {
  /** logs elsewhere are left alone: whoever put them there looks after them */
  readonly podLogsDirectory: string;
  readonly policy: LogRotatePolicy;
}

interface ContainerLog {
  readonly path: string;
  /** `default/web/nginx` */
  readonly container: string;
}

/**
 * Keeps the logs of containers small: one that has grown too large is moved aside, the runtime is asked to begin a new one,
 * and of those that were moved aside before, the newest few are kept, compressed.
 *
 * Mirrors pkg/kubelet/logs/container_log_manager.go (containerLogManager); Clean is with `removeContainer`.
 * Differs: a container is asked once where its log is, since that cannot change; the time in a name is UTC.
 */
export class ContainerLogManager {
  /** by container; undefined: it has none, or one that is not ours */
  readonly #logs = new Map<string, ContainerLog | undefined>();

  constructor(
    readonly deps: ContainerLogManagerDeps,
    readonly options: ContainerLogManagerOptions,
  ) {}

  /** Looks at all logs now and every 10 s, until the signal aborts. Mirrors Start. @throws the signal's reason */
  async run(signal: AbortSignal): Promise<void> {
    // Whatever ends a loop of the kubelet ends the kubelet.
    if (this.options.policy.maxSize < 0) return untilAborted(signal);
    for (;;) {
      await this.rotateLogs(signal);
      await this.deps.clock.sleep(LOG_MONITOR_PERIOD_MS, signal);
    }
  }

  /** One round. What fails is told, and tried again in the next. @throws the signal's reason */
  async rotateLogs(signal: AbortSignal): Promise<void> {
    const { runtimeService } = this.deps;
    const listed = await runtimeService.listContainers(undefined, signal);
    signal.throwIfAborted();
    // That a runtime is away is told elsewhere.
    if (listed.outcome !== "ok") return this.#failed("Failed to rotate container logs", listed.text, 2);
    // Those that ended write nothing any more: a new file would stay empty.
    const running = listed.value.filter(({ state }) => state === ContainerState.CONTAINER_RUNNING).map(({ id }) => id);
    for (const id of this.#logs.keys()) if (!running.includes(id)) this.#logs.delete(id);
    for (const id of running) await this.#rotateIfLarge(id, signal);
  }

  async #rotateIfLarge(id: string, signal: AbortSignal): Promise<void> {
    const log = await this.#logOf(id, signal);
    if (log === undefined) return;
    const { path } = log;
    try {
      const size = sizeOf(path) ?? (await this.#sizeAfterReopen(id, path, signal));
      if (size >= this.options.policy.maxSize) await this.#rotate(id, log, size, signal);
    } catch (error) {
      signal.throwIfAborted();
      this.#failed(`Failed to rotate log for container ${id} (${path})`, messageOf(error));
    }
  }

  /** undefined: it has none, or one that is not ours */
  async #logOf(id: string, signal: AbortSignal): Promise<ContainerLog | undefined> {
    if (this.#logs.has(id)) return this.#logs.get(id);
    const result = await this.deps.runtimeService.containerStatus(id, false, signal);
    signal.throwIfAborted();
    if (result.outcome !== "ok") {
      // Gone since the list was made.
      if (result.outcome !== "not-found") this.#failed(`Failed to get container status of ${id}`, result.text);
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

  /** Somebody took the file away: the runtime writes into what nobody finds. */
  async #sizeAfterReopen(id: string, path: string, signal: AbortSignal): Promise<number> {
    await this.#reopen(id, signal);
    return sizeOf(path) ?? 0;
  }

  /** Mirrors rotateLog and rotateLatestLog. */
  async #rotate(id: string, { path, container }: ContainerLog, size: number, signal: AbortSignal): Promise<void> {
    const { policy } = this.options;
    const { clock, trace } = this.deps;
    await makeRoomForRotated(path, policy.maxFiles, signal);
    const rotated = `${path}.${timestampOf(clock.now())}`;
    await rename(path, rotated);
    try {
      await this.#reopen(id, signal);
    } catch (error) {
      // The next round tries it again; a kubelet that ends in between loses the log's name.
      await rename(rotated, path).catch((lost: unknown) =>
        this.#failed(`Failed to rename ${rotated} back`, messageOf(lost)),
      );
      throw error;
    }
    const what = `rotate the log of ${container}: ${basename(path)} is ${basename(rotated)} now`;
    const why = `${size} bytes, and ${policy.maxSize} are allowed; the runtime begins a new one, and ${policy.maxFiles} files are kept`;
    const upstream = { file: FILE, func: "rotateLog" };
    trace.emit({ kind: "decision", what, why, upstream }, { actor: "kubelet" });
  }

  async #reopen(id: string, signal: AbortSignal): Promise<void> {
    const result = await this.deps.runtimeService.reopenContainerLog(id, signal);
    if (result.outcome !== "ok") throw new Error(`failed to reopen container log "${id}": ${result.text}`);
  }

  #failed(what: string, why: string, level: 1 | 2 = 1): void {
    this.deps.trace.emit({ kind: "error", message: `${what}: ${why}` }, { actor: "kubelet", level });
  }
}

/** undefined: there is no such file */
function sizeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.size;
}

/** `20260102-030405`. Mirrors timestampFormat. */
function timestampOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replaceAll(/[-:]/g, "").replace("T", "-");
}
