import { isIPv6 } from "node:net";
import type { V1HTTPGetAction } from "@kubernetes/client-node";
import type { ContainerSpec, V1Pod } from "../../staging/apimachinery/api/pod.js";
import type { Wire } from "../../staging/apimachinery/wire.js";
import type { Clock } from "../../util/clock.js";
import { messageOf } from "../../util/errors.js";
import { isSet } from "../../util/records.js";
import { isAtLeast } from "../../util/release/facts.js";
import { formatPod, type LifecycleHandler } from "../container/helpers.js";
import type { PodRef, PodStatus } from "../container/runtime.js";

/** The target of a hook's URL. */
export interface HookTarget {
  readonly podUid: string;
  /** the hook sets no host, so the target is the pod */
  readonly isPod: boolean;
}

/** Sends a hook's HTTP request, with only the URL and headers of the pod's spec. Upstream: kubetypes.HTTPDoer. */
export interface HookHttpClient {
  /** @returns the status code. @throws Error when there was no answer; its message gives the reason */
  get(
    url: string,
    headers: readonly { readonly name: string; readonly value: string }[],
    target: HookTarget,
    signal: AbortSignal,
  ): Promise<number>;
}

export interface HandlerRunnerDeps {
  /** runs a command in the container, to its end. @throws Error when the runtime refuses */
  runInContainer(
    containerId: string,
    cmd: readonly string[],
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<{ readonly output: Buffer; readonly exitCode: number; readonly stderr: string }>;
  getPodStatus(pod: PodRef, signal: AbortSignal): Promise<PodStatus>;
  readonly clock: Clock;
  readonly httpClient?: HookHttpClient;
}

/** undefined: it succeeded; otherwise the error in upstream's words. It may contain the hook's output. */
export type HookFailure = string | undefined;

/**
 * Runs the hooks of a container: `exec` in it, `httpGet` at the pod's address, `sleep` (v1.29). Any other handler
 * (`tcpSocket`) is refused, as upstream does.
 *
 * Mirrors handlerRunner in pkg/kubelet/lifecycle/handlers.go (Run, runHTTPHandler).
 * Differs: the URL's scheme and headers are used, as from v1.26 on.
 */
export class HandlerRunner {
  /** @param options.kubeVersion `1.25` */
  constructor(
    readonly deps: HandlerRunnerDeps,
    readonly options: { readonly kubeVersion: string },
  ) {}

  async run(
    containerId: string,
    pod: V1Pod,
    container: ContainerSpec,
    handler: LifecycleHandler,
    signal: AbortSignal,
  ): Promise<HookFailure> {
    const where = `for Container "${container.name}" in Pod "${formatPod(pod)}" failed`;
    if (isSet(handler.exec)) {
      const cmd = handler.exec.command ?? [];
      const failure = await this.#exec(containerId, cmd, signal);
      if (failure === undefined) return undefined;
      const { error, output } = failure;
      return `Exec lifecycle hook ([${cmd.join(" ")}]) ${where} - error: ${error}, message: ${JSON.stringify(output)}`;
    }
    if (isSet(handler.httpGet)) {
      const error = await this.#httpGet(pod, container, handler.httpGet, signal);
      if (error === undefined) return undefined;
      // Up to v1.25 the response body follows; without a response it is empty.
      const body = isAtLeast(this.options.kubeVersion, "1.26") ? "" : ', message: ""';
      return `HTTP lifecycle hook (${handler.httpGet.path ?? ""}) ${where} - error: ${error}${body}`;
    }
    if (isSet(handler.sleep)) {
      await this.deps.clock.sleep(handler.sleep.seconds * 1000, signal);
      return undefined;
    }
    return `Cannot run handler: invalid handler: ${JSON.stringify(handler)}`;
  }

  async #exec(
    containerId: string,
    cmd: readonly string[],
    signal: AbortSignal,
  ): Promise<{ readonly error: string; readonly output: string } | undefined> {
    try {
      // Has no timeout, because the caller sets a deadline.
      const { exitCode, output, stderr } = await this.deps.runInContainer(containerId, cmd, 0, signal);
      if (exitCode === 0) return undefined;
      return { error: `command '${cmd.join(" ")}' exited with ${exitCode}: ${stderr}`, output: output.toString() };
    } catch (error) {
      signal.throwIfAborted();
      return { error: messageOf(error), output: "" };
    }
  }

  async #httpGet(
    pod: V1Pod,
    container: ContainerSpec,
    action: Wire<V1HTTPGetAction>,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { httpClient } = this.deps;
    if (httpClient === undefined) return "this kubelet has no way to the pod's network";
    try {
      const port = resolvePort(action.port, container);
      if (port === undefined) return `couldn't find port: ${action.port} in ${container.name}`;
      const isPod = (action.host ?? "") === "";
      const host = isPod ? await this.#podIp(pod, signal) : action.host;
      if (host === undefined) return `failed to find networking container: ${formatPod(pod)}`;
      const url = hookUrl(action, host, port);
      await httpClient.get(url, action.httpHeaders ?? [], { podUid: pod.metadata.uid, isPod }, signal);
      // Any response counts, whatever its status.
      return undefined;
    } catch (error) {
      signal.throwIfAborted();
      return messageOf(error);
    }
  }

  async #podIp(pod: V1Pod, signal: AbortSignal): Promise<string | undefined> {
    const { uid: podUid, name, namespace } = pod.metadata;
    return (await this.deps.getPodStatus({ podUid, name, namespace }, signal)).ips[0];
  }
}

/** A number, a number as a string, or the name of one of the container's ports. Mirrors resolvePort. */
export function resolvePort(port: number | string, { ports }: ContainerSpec): number | undefined {
  if (typeof port === "number") return port;
  if (port === "") return 80;
  if (/^\d{1,5}$/.test(port)) return Number(port);
  return (ports ?? []).find(({ name }) => name === port)?.containerPort;
}

/** Mirrors formatURL in pkg/probe/http/request.go. */
function hookUrl({ scheme = "HTTP", path = "" }: Wire<V1HTTPGetAction>, host: string, port: number): string {
  const authority = `${isIPv6(host) ? `[${host}]` : host}:${port}`;
  return `${scheme.toLowerCase()}://${authority}${path.startsWith("/") ? "" : "/"}${path}`;
}
