import type { KubeObject } from "../../src/staging/apimachinery/api/meta.js";
import { isSuccess, refusal } from "../../src/staging/client-go/rest/answers.js";
import type {
  KubeClient,
  KubeRequest,
  KubeResponse,
  ReceivedEvent,
  RestConfig,
} from "../../src/staging/client-go/rest/client.js";
import { AsyncQueue } from "../../src/util/async/async-queue.js";

export interface MemoryAnswer {
  readonly status: number;
  readonly body?: unknown;
}

/** A client without a network, for tests with a fake clock: a function answers each request at once. */
export class MemoryClient implements KubeClient {
  readonly requests: KubeRequest[] = [];
  readonly watches: { readonly path: string; readonly query: object; readonly queue: AsyncQueue<ReceivedEvent> }[] = [];

  constructor(
    readonly answer: (request: KubeRequest) => MemoryAnswer | Error,
    readonly config: RestConfig = { server: "https://memory" },
  ) {}

  async request<T = unknown>(request: KubeRequest): Promise<KubeResponse<T>> {
    request.signal?.throwIfAborted();
    const { signal: _, ...rest } = request;
    this.requests.push(structuredClone(rest));
    const answer = this.answer(request);
    if (answer instanceof Error) throw answer;
    return { status: answer.status, headers: {}, body: structuredClone(answer.body) as T };
  }

  async expect<T = unknown>(request: KubeRequest): Promise<T> {
    const response = await this.request<T>(request);
    if (isSuccess(response)) return response.body;
    throw refusal(response, `${request.method} ${request.path}`, "memory");
  }

  async *watch<T extends KubeObject = KubeObject>(
    path: string,
    query: KubeRequest["query"] & object,
    signal: AbortSignal,
  ): AsyncGenerator<ReceivedEvent<T>> {
    const queue = new AsyncQueue<ReceivedEvent>();
    this.watches.push({ path, query, queue });
    yield* queue.iterate(signal) as AsyncGenerator<ReceivedEvent<T>>;
  }

  /** `METHOD /path`, for comparisons */
  get lines(): string[] {
    return this.requests.map(({ method, path }) => `${method} ${path}`);
  }

  async close(): Promise<void> {}
  async [Symbol.asyncDispose](): Promise<void> {}
}
