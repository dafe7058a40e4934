import { lstat, readdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { isExtendedResource } from "../../../../staging/apimachinery/corev1/resource-names.js";
import type { Decoded } from "../../../../staging/apimachinery/protobuf/fields.js";
import { methodsOf, type RunningGrpcServer, serveSocket } from "../../../../staging/cri/grpc/grpc-server.js";
import type { Trace } from "../../../../trace/trace.js";
import type { Clock } from "../../../../util/clock.js";
import { makeFolder } from "../../../../util/os/files.js";
import { socketPathProblem } from "../../../../util/os/paths.js";
import {
  DEVICE_PLUGIN_VERSION,
  type Device,
  type DevicePluginOptions,
  KUBELET_SOCKET,
  REGISTRATION,
  type RegisterRequest,
} from "../../../apis/deviceplugin/v1beta1.js";
import type { KubeletMetrics } from "../../../metrics/kubelet-metrics.js";
import type { DeviceObserver } from "../device-observer.js";
import { PluginClient } from "./client.js";

const FOLDER_MODE = 0o750;

/** Receives the events of plugins. Mirrors ClientHandler in pkg/kubelet/cm/devicemanager/plugin/v1beta1/api.go. */
export interface ClientHandler {
  pluginConnected(plugin: PluginClient, options: Decoded<typeof DevicePluginOptions>): void;
  pluginListAndWatchReceiver(resourceName: string, devices: readonly Decoded<typeof Device>[]): void;
  pluginDisconnected(resourceName: string, why: string): void;
}

export interface RegistrationServerDeps {
  readonly clock: Clock;
  readonly trace: Trace;
  readonly metrics: KubeletMetrics;
  readonly handler: ClientHandler;
  readonly observer: DeviceObserver;
}

/**
 * The socket at which device plugins register, and the connections to those that have.
 *
 * Mirrors pkg/kubelet/cm/devicemanager/plugin/v1beta1/server.go and handler.go.
 * Differs: a plugin that registers a resource again replaces the one before it. Upstream keeps both streams, and the end of the
 * first marks the devices of the second as unhealthy.
 */
export class RegistrationServer {
  #starting: Promise<RunningGrpcServer> | undefined;
  /** by resource */
  readonly #clients = new Map<string, PluginClient>();
  readonly #running = new Set<Promise<void>>();

  /** @param folder of the sockets */
  constructor(
    readonly deps: RegistrationServerDeps,
    readonly folder: string,
    readonly signal: AbortSignal,
  ) {}

  get socketPath(): string {
    return join(this.folder, KUBELET_SOCKET);
  }

  /**
   * Removes the sockets of earlier plugins, and listens. Plugins notice that their socket disappeared, and register again.
   * @throws Error or LabError if it cannot listen; the file system's error
   */
  async start(): Promise<void> {
    this.#starting = this.#listen();
    await this.#starting;
  }

  async #listen(): Promise<RunningGrpcServer> {
    await makeFolder(this.folder, FOLDER_MODE);
    await this.#cleanupPluginDirectory();
    const methods = methodsOf(REGISTRATION, { register: (request) => this.#register(request) });
    const server = await serveSocket(methods, this.socketPath, this.deps.trace);
    // The kubelet has ended meanwhile.
    if (this.signal.aborted) await server.close();
    return server;
  }

  /** Mirrors CleanupPluginDirectory in manager.go, as of later releases: v1.25 removes other files too. */
  async #cleanupPluginDirectory(): Promise<void> {
    for (const name of await readdir(this.folder)) {
      const path = join(this.folder, name);
      if (!(await lstat(path)).isSocket()) continue;
      await unlink(path);
      this.deps.observer.removesSocket(path);
    }
  }

  async #register({ version, endpoint, resourceName }: Decoded<typeof RegisterRequest>) {
    this.deps.metrics.add("kubelet_device_plugin_registration_total", { resource_name: resourceName });
    try {
      const problem = registrationProblem(version, resourceName);
      if (problem !== undefined) throw new Error(problem);
      await this.#connectClient(resourceName, join(this.folder, endpoint));
    } catch (error) {
      this.deps.observer.refusesPlugin(resourceName, error);
      throw error;
    }
    return {};
  }

  async #connectClient(resourceName: string, socketPath: string): Promise<void> {
    const { signal } = this;
    const problem = socketPathProblem(socketPath);
    if (problem !== undefined) throw new Error(`failed to dial device plugin: ${problem}`);
    const client = new PluginClient(this.deps, resourceName, socketPath);
    try {
      const options = await client.connect(signal);
      const earlier = this.#clients.get(resourceName);
      this.#clients.set(resourceName, client);
      await earlier?.close();
      this.deps.observer.acceptsPlugin(resourceName, earlier !== undefined);
      this.deps.handler.pluginConnected(client, options);
    } catch (error) {
      await client.close();
      throw error;
    }
    const running = this.deps.trace.detached(() => this.#runClient(client), "observed");
    this.#running.add(running);
    void running.finally(() => this.#running.delete(running));
  }

  /** Mirrors runClient. */
  async #runClient(client: PluginClient): Promise<void> {
    const { handler } = this.deps;
    const { resourceName } = client;
    const why = await client.run((devices) => handler.pluginListAndWatchReceiver(resourceName, devices), this.signal);
    await client.close();
    // Another plugin has registered the resource meanwhile.
    if (this.#clients.get(resourceName) !== client) return;
    this.#clients.delete(resourceName);
    if (!this.signal.aborted) handler.pluginDisconnected(resourceName, why);
  }

  async close(): Promise<void> {
    // A start that is under way would listen after the end.
    const server = await this.#starting?.catch(() => undefined);
    await server?.close();
    for (const client of this.#clients.values()) await client.close();
    await Promise.all(this.#running);
  }
}

/** Why a plugin cannot register, in upstream's words. */
function registrationProblem(version: string, resourceName: string): string | undefined {
  if (version !== DEVICE_PLUGIN_VERSION) {
    const wanted = JSON.stringify(version);
    return `requested API version ${wanted} is not supported by kubelet. Supported version is ["${DEVICE_PLUGIN_VERSION}"]`;
  }
  return isExtendedResource(resourceName) ? undefined : `the ResourceName ${JSON.stringify(resourceName)} is invalid`;
}
