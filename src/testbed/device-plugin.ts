import { existsSync } from "node:fs";
import { join } from "node:path";
import {
  type ContainerAllocateResponse,
  DEVICE_PLUGIN,
  DEVICE_PLUGIN_VERSION,
  HEALTHY,
  KUBELET_SOCKET,
  REGISTRATION,
  UNHEALTHY,
} from "../kubelet/apis/deviceplugin/v1beta1.js";
import type { Init } from "../staging/apimachinery/protobuf/fields.js";
import { openCriChannel } from "../staging/cri/client.js";
import { methodsOf, type RunningGrpcServer, serveGrpc } from "../staging/cri/grpc-server.js";
import type { CallContext } from "../staging/cri/served-call.js";
import type { RpcFailure } from "../staging/cri/status.js";
import type { Trace } from "../trace/trace.js";
import type { Clock } from "../util/clock.js";
import { untilAborted } from "../util/concurrency.js";
import { LabError } from "../util/errors.js";
import { Waker } from "../util/waker.js";

/** How long the kubelet may take to register a plugin: it dials for ten seconds. */
const REGISTER_TIMEOUT_MS = 20_000;
const RETRY_MS = 1_000;
const FILE = "pkg/kubelet/cm/devicemanager/plugin/v1beta1/stub.go";

export interface DevicePluginDeps {
  readonly clock: Clock;
  readonly trace: Trace;
}

export interface DevicePluginOptions {
  /** of the kubelet's socket and the plugins' */
  readonly folder: string;
  /** `example.com/gpu` */
  readonly resourceName: string;
  readonly count: number;
}

/**
 * A device plugin with made-up devices: each is the machine's `/dev/null` under another name.
 *
 * Mirrors Stub in pkg/kubelet/cm/devicemanager/plugin/v1beta1/stub.go.
 */
export class DevicePluginStub {
  /** `gpu-0`, `gpu-1` */
  readonly deviceIds: readonly string[];
  readonly #unhealthy = new Set<string>();
  readonly #changed = new Waker();
  readonly #kind: string;

  constructor(
    readonly deps: DevicePluginDeps,
    readonly options: DevicePluginOptions,
  ) {
    this.#kind = options.resourceName.slice(options.resourceName.lastIndexOf("/") + 1);
    this.deviceIds = Array.from({ length: options.count }, (_, index) => `${this.#kind}-${index}`);
  }

  /** where the kubelet calls it */
  get socketPath(): string {
    return join(this.options.folder, this.#socketName);
  }

  get #kubeletSocket(): string {
    return join(this.options.folder, KUBELET_SOCKET);
  }

  get #socketName(): string {
    return `${this.#kind}.sock`;
  }

  /** Tells the kubelet that these devices have failed. Mirrors Update. */
  fail(deviceIds: readonly string[]): void {
    for (const id of deviceIds) this.#unhealthy.add(id);
    this.#changed.wake();
  }

  /**
   * Serves, registers, and does so again whenever the kubelet has gone and come back.
   * @param onRegistered called after each registration
   * @throws LabError RUNTIME_UNREACHABLE if no kubelet listens at first, REFUSED if it refuses the plugin; the signal's reason
   */
  async run(onRegistered: () => void, signal: AbortSignal): Promise<never> {
    for (let isFirst = true; ; isFirst = false) {
      const gone = new AbortController();
      await using server = await this.#serve(gone);
      const failure = await this.#register(signal);
      if (failure === undefined) {
        onRegistered();
        await untilAborted(AbortSignal.any([signal, gone.signal]));
        signal.throwIfAborted();
        const why = "the kubelet has ended ListAndWatch, and a new kubelet forgets its plugins";
        this.#decided("register again when it is back", why, "Register");
      } else if (isFirst || failure.outcome !== "unavailable") throw this.#refused(failure);
      // A kubelet that starts removes the plugins' sockets before it makes its own.
      await server.close();
      do await this.deps.clock.sleep(RETRY_MS, signal);
      while (!existsSync(this.#kubeletSocket));
    }
  }

  /** @param gone aborts when the kubelet has gone */
  #serve(gone: AbortController): Promise<RunningGrpcServer> {
    const methods = methodsOf(DEVICE_PLUGIN, {
      getDevicePluginOptions: () => ({}),
      listAndWatch: (_request, context) => this.#listAndWatch(context, gone),
      allocate: ({ containerRequests }) => ({
        containerResponses: containerRequests.map(({ devicesIds }) => this.#allocate(devicesIds)),
      }),
    });
    return serveGrpc(methods, `unix://${this.socketPath}`, { trace: this.deps.trace });
  }

  async *#listAndWatch({ signal }: CallContext, gone: AbortController) {
    try {
      for (;;) {
        this.#changed.forget();
        const devices = this.#devices();
        const unhealthy = devices.filter(({ health }) => health === UNHEALTHY).map(({ id }) => id);
        const why = unhealthy.length === 0 ? "all are healthy" : `unhealthy: ${unhealthy.join(" ")}`;
        this.#decided(`list ${devices.length} of ${this.options.resourceName}`, why, "ListAndWatch");
        yield { devices };
        await this.#changed.wait(this.deps.clock, undefined, signal);
      }
    } finally {
      gone.abort();
    }
  }

  #devices(): { readonly id: string; readonly health: string }[] {
    return this.deviceIds.map((id) => ({ id, health: this.#unhealthy.has(id) ? UNHEALTHY : HEALTHY }));
  }

  #allocate(ids: readonly string[]): Init<typeof ContainerAllocateResponse> {
    const variable = this.options.resourceName.toUpperCase().replace(/[^A-Z0-9]/g, "_");
    const what = `answer Allocate with ${variable}=${ids.join(",")} and ${ids.map((id) => `/dev/${id}`).join(" ")}`;
    this.#decided(what, "the kubelet gives these devices to a container", "Allocate");
    return {
      envs: { [variable]: ids.join(",") },
      devices: ids.map((id) => ({ containerPath: `/dev/${id}`, hostPath: "/dev/null", permissions: "rw" })),
      annotations: { [this.options.resourceName]: ids.join(",") },
    };
  }

  /** @returns why it has failed */
  async #register(signal: AbortSignal): Promise<RpcFailure | undefined> {
    const { resourceName } = this.options;
    await using channel = openCriChannel(`unix://${this.#kubeletSocket}`, { ...this.deps, actor: "user" });
    const request = { version: DEVICE_PLUGIN_VERSION, endpoint: this.#socketName, resourceName };
    const upstream = { file: FILE, func: "Register" };
    const result = await this.deps.trace.step("user", `Register ${resourceName} with the kubelet`, { upstream }, () =>
      channel.call(REGISTRATION.register, request, { timeoutMs: REGISTER_TIMEOUT_MS, signal }),
    );
    return result.outcome === "ok" ? undefined : result;
  }

  #refused({ outcome, message }: RpcFailure): LabError {
    if (outcome === "unavailable") return noKubelet(this.#kubeletSocket);
    const hint = "A name of an extended resource has a domain: example.com/gpu.";
    const { resourceName } = this.options;
    return new LabError("REFUSED", `the kubelet refuses the device plugin of ${resourceName}: ${message}`, hint);
  }

  #decided(what: string, why: string, func: string): void {
    this.deps.trace.emit({ kind: "decision", what, why, upstream: { file: FILE, func } }, { actor: "user" });
  }
}

/** The failure of a plugin without a kubelet. @param socket where it should listen */
export function noKubelet(socket: string): LabError {
  const hint = "Start a node with `kubelab node`, or name its folder with --root-dir.";
  return new LabError("RUNTIME_UNREACHABLE", `no kubelet listens at ${socket}`, hint);
}
