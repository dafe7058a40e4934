import type { KubeObject } from "../../apimachinery/api/meta.js";
import type { KubeClient, KubeRequest, KubeResponse, ReceivedEvent, RestConfig } from "./client.js";

/** A client with the number of requests that still use it. */
interface Generation {
  readonly client: KubeClient;
  inFlight: number;
  isRetired: boolean;
}

/**
 * A client whose identity can change while it is in use: current requests end on the old connections, later requests use
 * new connections with the new certificate.
 *
 * Mirrors pkg/kubelet/certificate/transport.go (UpdateTransport).
 * Differs: upstream closes every connection at once; here, a connection in use is closed when its last request ends.
 */
export class SwitchingClient implements KubeClient {
  #current: Generation;

  constructor(
    first: RestConfig,
    readonly create: (config: RestConfig) => KubeClient,
  ) {
    this.#current = { client: create(first), inFlight: 0, isRetired: false };
  }

  get config(): RestConfig {
    return this.#current.client.config;
  }

  /** Sends all later requests with this config. */
  async switchTo(config: RestConfig): Promise<void> {
    const old = this.#current;
    this.#current = { client: this.create(config), inFlight: 0, isRetired: false };
    old.isRetired = true;
    await closeIfFree(old);
  }

  request<T = unknown>(request: KubeRequest): Promise<KubeResponse<T>> {
    return this.#use((client) => client.request<T>(request));
  }

  expect<T = unknown>(request: KubeRequest): Promise<T> {
    return this.#use((client) => client.expect<T>(request));
  }

  async #use<T>(body: (client: KubeClient) => Promise<T>): Promise<T> {
    const generation = this.#current;
    generation.inFlight++;
    try {
      return await body(generation.client);
    } finally {
      generation.inFlight--;
      await closeIfFree(generation);
    }
  }

  async *watch<T extends KubeObject = KubeObject>(
    path: string,
    query: KubeRequest["query"] & object,
    signal: AbortSignal,
  ): AsyncGenerator<ReceivedEvent<T>> {
    const generation = this.#current;
    generation.inFlight++;
    try {
      yield* generation.client.watch<T>(path, query, signal);
    } finally {
      generation.inFlight--;
      await closeIfFree(generation);
    }
  }

  close(): Promise<void> {
    return this.#current.client.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

async function closeIfFree(generation: Generation): Promise<void> {
  if (generation.isRetired && generation.inFlight === 0) await generation.client.close();
}
