import type { V1Probe } from "@kubernetes/client-node";
import type { V1Container, V1Pod, V1PodStatus } from "../../staging/apimachinery/api/pod.js";
import type { Wire } from "../../staging/apimachinery/wire.js";
import { expand } from "../container/expansion.js";
import type { KubeGenericRuntime } from "../container/generic-runtime.js";
import { containerFieldPath, formatPod } from "../container/helpers.js";
import type { PodEventRecorder } from "../events/pod-recorder.js";
import { RuntimeCallError } from "../kuberuntime/kube-runtime.js";
import { probeGrpc } from "./grpc-probe.js";
import { type HttpProbeDeps, type ProbeOutcome, probeHttp } from "./http-probe.js";
import { DialError } from "./probe-dialer.js";
import { parseContainerId } from "./results.js";
import { type ProbeType, probeOf, resolveContainerPort } from "./spec.js";
import { ProbeTimeout, withTimeout } from "./timeout.js";

/** How often a probe that cannot be carried out is tried. Mirrors maxProbeRetries in pkg/kubelet/prober/prober.go. */
const MAX_PROBE_RETRIES = 3;

export interface ProberDeps extends HttpProbeDeps {
  readonly runner: Pick<KubeGenericRuntime, "runInContainer">;
  readonly recorder: PodEventRecorder;
}

export interface ProbeSubject {
  readonly type: ProbeType;
  readonly pod: V1Pod;
  readonly status: V1PodStatus;
  readonly container: V1Container;
  /** as the API writes it */
  readonly apiContainerId: string;
}

/** The probe itself failed, which says nothing about the container. */
class ProbeError extends Error {
  override readonly name = "ProbeError";
}

/**
 * Runs probes and records an Event for each that fails.
 *
 * Mirrors pkg/kubelet/prober/prober.go (prober).
 */
export class Prober {
  constructor(
    readonly deps: ProberDeps,
    readonly options: { readonly kubeVersion: string },
  ) {}

  /**
   * Probes once.
   * @returns undefined when the probe could not be carried out
   * @throws the signal's reason
   */
  async probe(subject: ProbeSubject, signal: AbortSignal): Promise<"success" | "failure" | undefined> {
    const { type, container } = subject;
    const spec = probeOf(container, type);
    if (spec === undefined) return "success";
    const title = `${type[0]?.toUpperCase()}${type.slice(1)} probe`;
    let outcome: ProbeOutcome;
    try {
      outcome = await this.#runProbeWithRetries(subject, spec, signal);
    } catch (error) {
      if (!(error instanceof ProbeError)) throw error;
      this.#record(subject, "Unhealthy", `${title} errored: ${error.message}`);
      return undefined;
    }
    if (outcome.result === "failure") this.#record(subject, "Unhealthy", `${title} failed: ${outcome.output}`);
    if (outcome.result === "warning") this.#record(subject, "ProbeWarning", `${title} warning: ${outcome.output}`);
    return outcome.result === "failure" ? "failure" : "success";
  }

  async #runProbeWithRetries(subject: ProbeSubject, spec: Wire<V1Probe>, signal: AbortSignal): Promise<ProbeOutcome> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#runProbe(subject, spec, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof ProbeError) || attempt >= MAX_PROBE_RETRIES) throw error;
      }
    }
  }

  #runProbe(subject: ProbeSubject, spec: Wire<V1Probe>, signal: AbortSignal): Promise<ProbeOutcome> {
    const timeoutMs = (spec.timeoutSeconds ?? 1) * 1000;
    const { container, pod, status } = subject;
    const { kubeVersion } = this.options;
    const podUid = pod.metadata.uid;
    const podIp = status.podIP ?? "";
    const port = (wanted: number | string) => {
      const found = resolveContainerPort(wanted, container);
      if ("problem" in found) throw new ProbeError(found.problem);
      return found.port;
    };
    return rejecting(() => {
      if (spec.exec) return this.#exec(subject, spec.exec.command ?? [], timeoutMs, signal);
      if (spec.httpGet) {
        const options = { podUid, podIp, port: port(spec.httpGet.port), timeoutMs, kubeVersion };
        return probeHttp(this.deps, spec.httpGet, options, signal);
      }
      if (spec.tcpSocket) {
        const { host = "" } = spec.tcpSocket;
        const target = {
          podUid,
          host: host === "" ? podIp : host,
          port: port(spec.tcpSocket.port),
          isPod: host === "",
        };
        return this.#tcp(target, timeoutMs, signal);
      }
      if (spec.grpc) {
        const target = { podUid, host: podIp, port: port(spec.grpc.port), isPod: true };
        const options = { target, service: spec.grpc.service ?? "", timeoutMs, kubeVersion };
        return probeGrpc(this.deps, options, signal);
      }
      throw new ProbeError(`missing probe handler for ${formatPod(pod)}:${container.name}`);
    });
  }

  /** Mirrors pkg/probe/exec/exec.go: a non-zero exit code and a timeout are failures. */
  async #exec(
    { container, apiContainerId }: ProbeSubject,
    command: readonly string[],
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<ProbeOutcome> {
    const cmd = expandCommandOnlyStatic(command, container);
    try {
      const containerId = parseContainerId(apiContainerId);
      const { exitCode, output } = await this.deps.runner.runInContainer(containerId, cmd, timeoutMs, signal);
      const text = output.subarray(0, MAX_OUTPUT_BYTES).toString("utf8");
      return { result: exitCode === 0 ? "success" : "failure", output: text };
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof RuntimeCallError)) throw error;
      if (error.failure.outcome === "timed-out") return { result: "failure", output: error.failure.text };
      throw new ProbeError(error.message, { cause: error });
    }
  }

  /** Mirrors pkg/probe/tcp/tcp.go (DoTCPProbe). */
  async #tcp(
    target: Parameters<HttpProbeDeps["dialer"]["reach"]>[0],
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<ProbeOutcome> {
    const { dialer, clock } = this.deps;
    try {
      await withTimeout(clock, timeoutMs, signal, (inner) => dialer.reach(target, inner));
      return { result: "success", output: "" };
    } catch (error) {
      if (error instanceof DialError) return { result: "failure", output: error.message };
      if (!(error instanceof ProbeTimeout)) throw error;
      const address = target.host.includes(":") ? `[${target.host}]` : target.host;
      return { result: "failure", output: `dial tcp ${address}:${target.port}: i/o timeout` };
    }
  }

  #record({ pod, container }: ProbeSubject, reason: string, message: string): void {
    this.deps.recorder.event(pod, "Warning", reason, message, { fieldPath: containerFieldPath(pod, container) });
  }
}

/** Mirrors maxReadLength in pkg/probe/exec/exec.go. */
const MAX_OUTPUT_BYTES = 10 * 1024;

/** Replaces references to variables with values in the spec itself. Mirrors ExpandContainerCommandOnlyStatic. */
function expandCommandOnlyStatic(command: readonly string[], container: V1Container): string[] {
  const values = new Map((container.env ?? []).map(({ name, value = "" }) => [name, value]));
  return command.map((word) => expand(word, (name) => values.get(name)));
}

/** Turns a synchronous throw of `body` into a rejection. */
async function rejecting<T>(body: () => Promise<T>): Promise<T> {
  return body();
}
