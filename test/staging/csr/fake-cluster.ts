import type { CertificateSigningRequest } from "../../../src/staging/apimachinery/api/certificates.js";
import type { KubeObject, Status, WatchEvent } from "../../../src/staging/apimachinery/api/meta.js";
import { isSuccess, refusal } from "../../../src/staging/client-go/rest/answers.js";
import type { KubeClient, KubeRequest, KubeResponse, RestConfig } from "../../../src/staging/client-go/rest/client.js";
import type { TraceEvent } from "../../../src/trace/events.js";
import { Trace } from "../../../src/trace/trace.js";
import { AsyncQueue } from "../../../src/util/async/async-queue.js";
import { FakeClock, FakeRandom } from "../../support/fake-clock.js";

function failure(code: number, reason: string): KubeResponse<Status> {
  const body = {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    reason,
    message: reason,
    code,
  } as const;
  return { status: code, headers: {}, body };
}

/** A client of an in-memory API server that has only CSRs. */
export class FakeCsrClient implements KubeClient {
  readonly config: RestConfig = { server: "https://127.0.0.1:1" };
  readonly sent: string[] = [];
  readonly #objects = new Map<string, CertificateSigningRequest>();
  readonly #watchers = new Set<AsyncQueue<WatchEvent>>();
  #revision = 0;
  #startWatching: () => void = () => undefined;
  /** resolves when a watch starts */
  readonly watching = new Promise<void>((resolve) => {
    this.#startWatching = resolve;
  });
  /** the number of PUTs that will meet a conflict */
  conflicts = 0;

  put(csr: CertificateSigningRequest): CertificateSigningRequest {
    this.#revision++;
    const metadata = { uid: "u1", ...csr.metadata, resourceVersion: `${this.#revision}` };
    const stored = { ...csr, metadata };
    this.#objects.set(metadata.name ?? "", stored);
    for (const watcher of this.#watchers) watcher.push({ type: "MODIFIED", object: stored });
    return stored;
  }

  read(name: string): CertificateSigningRequest | undefined {
    return this.#objects.get(name);
  }

  async request<T>(request: KubeRequest): Promise<KubeResponse<T>> {
    this.sent.push(`${request.method} ${request.path}`);
    return this.#answer(request) as KubeResponse<T>;
  }

  async expect<T>(request: KubeRequest): Promise<T> {
    const answer = await this.request<T>(request);
    if (isSuccess(answer)) return answer.body;
    throw refusal(answer, `${request.method} ${request.path}`, "nobody");
  }

  #answer(request: KubeRequest): KubeResponse {
    const name = request.path.split("/")[5] ?? "";
    const body = request.body as CertificateSigningRequest | undefined;
    const existing = this.#objects.get(name);
    if (request.method === "POST" && body !== undefined) {
      const given = body.metadata.name ?? `${body.metadata.generateName}x`;
      if (this.#objects.has(given)) return failure(409, "AlreadyExists");
      return {
        status: 201,
        headers: {},
        body: this.put({ ...body, metadata: { ...body.metadata, name: given }, status: {} }),
      };
    }
    if (existing === undefined) return failure(404, "NotFound");
    if (request.method === "GET") return { status: 200, headers: {}, body: existing };
    if (this.conflicts > 0) {
      this.conflicts--;
      return failure(409, "Conflict");
    }
    return {
      status: 200,
      headers: {},
      body: this.put({ ...existing, ...(body === undefined ? {} : { status: body.status ?? {} }) }),
    };
  }

  async *watch<T extends KubeObject>(
    _path: string,
    query: Readonly<Record<string, string | number | boolean | undefined>>,
    signal: AbortSignal,
  ): AsyncGenerator<WatchEvent<T>> {
    const queue = new AsyncQueue<WatchEvent>();
    const after = Number(query["resourceVersion"] ?? 0);
    for (const object of this.#objects.values()) {
      if (Number(object.metadata.resourceVersion) > after) queue.push({ type: "MODIFIED", object });
    }
    this.#watchers.add(queue);
    this.#startWatching();
    yield* queue.iterate(signal) as AsyncIterable<WatchEvent<T>>;
  }

  async close(): Promise<void> {}
  async [Symbol.asyncDispose](): Promise<void> {}
}

export function fakeDeps() {
  const clock = new FakeClock();
  const trace = new Trace(clock);
  const events: TraceEvent[] = [];
  trace.addSink({ write: (event) => events.push(event) });
  return { client: new FakeCsrClient(), clock, random: new FakeRandom(), trace, events };
}
