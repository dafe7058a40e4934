import type { ControllerDeps } from "../../../../src/cluster/controllers/controller.js";
import type { CertificateSigningRequest } from "../../../../src/staging/apimachinery/api/certificates.js";
import type { KubeObject } from "../../../../src/staging/apimachinery/api/meta.js";
import type { LocalClient, WatchItem } from "../../../../src/staging/client-go/dynamic/interface.js";
import { createAuthority } from "../../../../src/staging/pki/authority.js";
import type { CertificateAuthority } from "../../../../src/staging/pki/issue.js";
import type { AuthorizationAttributes, Authorizer } from "../../../../src/staging/server/authorization/authorizer.js";
import type { TraceEvent } from "../../../../src/trace/events.js";
import { Trace } from "../../../../src/trace/trace.js";
import { AsyncQueue } from "../../../../src/util/async/async-queue.js";
import { FakeClock, FakeRandom } from "../../../support/fake-clock.js";
import { SYSTEM_APISERVER } from "../../control-plane/system-apiserver.js";

/** CSRs in memory, with a watch: the part of the cluster that these controllers use. Records each write. */
export class FakeClient implements LocalClient {
  readonly user = SYSTEM_APISERVER;
  readonly writes: string[] = [];
  readonly #objects = new Map<string, KubeObject>();
  readonly #watchers = new Set<AsyncQueue<WatchItem>>();
  #revision = 0;
  /** the number of `modify` calls that will be refused */
  failures = 0;

  put(object: KubeObject): void {
    this.#revision++;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: `${this.#revision}` } };
    this.#objects.set(object.metadata.name ?? "", stored);
    for (const watcher of this.#watchers) watcher.push({ type: "applied", object: stored, previous: undefined });
  }

  read(name: string): CertificateSigningRequest {
    // The tests store only CSRs.
    return this.#objects.get(name) as unknown as CertificateSigningRequest;
  }

  names(): string[] {
    return [...this.#objects.keys()];
  }

  async get<T extends KubeObject>(_resource: string, _namespace: string | undefined, name: string) {
    return this.#objects.get(name) as T | undefined;
  }

  async list<T extends KubeObject>() {
    return [...this.#objects.values()] as unknown as readonly T[];
  }

  async create(): Promise<never> {
    throw new Error("these controllers create nothing");
  }

  async update(): Promise<never> {
    throw new Error("these controllers only modify");
  }

  async patch(): Promise<never> {
    throw new Error("these controllers only modify");
  }

  async modify<T extends KubeObject>(
    resource: string,
    _namespace: string | undefined,
    name: string,
    change: (current: T) => KubeObject,
    subresource?: string,
  ): Promise<T | undefined> {
    if (this.failures > 0) {
      this.failures--;
      throw new Error("the store is away");
    }
    const current = this.#objects.get(name) as T | undefined;
    if (current === undefined) return undefined;
    const next = change(current);
    if (next !== current) {
      this.writes.push(`${resource}/${name}/${subresource}`);
      this.put(next);
    }
    return this.#objects.get(name) as T;
  }

  async delete(_resource: string, _namespace: string | undefined, name: string): Promise<boolean> {
    return this.#objects.delete(name);
  }

  async *reflect<T extends KubeObject>(_resource: string, signal: AbortSignal): AsyncGenerator<WatchItem<T>> {
    const queue = new AsyncQueue<WatchItem>();
    for (const object of this.#objects.values()) queue.push({ type: "init", object });
    queue.push({ type: "initDone" });
    this.#watchers.add(queue);
    yield* queue.iterate(signal) as AsyncIterable<WatchItem<T>>;
  }
}

/** Allows what `may` names, `user: subresource`, and records the requests. */
export class FakeAuthorizer implements Authorizer {
  readonly asked: AuthorizationAttributes[] = [];
  readonly may = new Set<string>();

  async authorize(attributes: AuthorizationAttributes) {
    this.asked.push(attributes);
    const allowed = this.may.has(`${attributes.user.username}: ${attributes.subresource}`);
    const cause = allowed ? "RBAC: a binding allows it" : "RBAC: no binding allows it";
    return { allowed, reason: "", cause } as const;
  }

  async rulesFor() {
    return { resourceRules: [], nonResourceRules: [], incomplete: false };
  }
}

export interface Cluster {
  readonly deps: ControllerDeps;
  readonly client: FakeClient;
  readonly authorizer: FakeAuthorizer;
  readonly clock: FakeClock;
  readonly events: TraceEvent[];
}

let sharedCa: CertificateAuthority | undefined;

/** @param caNotAfterMs when the CA ends; default in ten years */
export async function fakeCluster(options: { readonly caValidityMs?: number } = {}): Promise<Cluster> {
  const clock = new FakeClock();
  const random = new FakeRandom();
  const { caValidityMs } = options;
  sharedCa ??= await createAuthority({ clock, random }, { commonName: "kubernetes" });
  const ca =
    caValidityMs === undefined
      ? sharedCa
      : await createAuthority({ clock, random }, { commonName: "kubernetes", validityMs: caValidityMs });
  const events: TraceEvent[] = [];
  const trace = new Trace(clock);
  trace.addSink({ write: (event) => events.push(event) });
  const client = new FakeClient();
  const authorizer = new FakeAuthorizer();
  const serverUrl = "https://127.0.0.1:1";
  return {
    deps: { client, clock, random, trace, kubeVersion: "1.25", ca, authorizer, serverUrl },
    client,
    authorizer,
    clock,
    events,
  };
}
