import { RbacAuthorizer } from "../../../../src/cluster/apiserver/auth/authorization/rbac.js";
import { UnionAuthorizer } from "../../../../src/cluster/apiserver/auth/authorization/union.js";
import { authorizedClient } from "../../../../src/cluster/apiserver/auth/authorized-client.js";
import { createRegistry } from "../../../../src/cluster/apiserver/registry/generic/create-registry.js";
import { createLocalClient } from "../../../../src/cluster/apiserver/registry/generic/local-client.js";
import type { ResourceDefinition } from "../../../../src/cluster/apiserver/registry/rest/definition.js";
import type { Registry, ResourceStore } from "../../../../src/cluster/apiserver/registry/rest/registry.js";
import { resourcesFor } from "../../../../src/cluster/apiserver/registry/table.js";
import { MemoryStorage } from "../../../../src/cluster/apiserver/storage/memory.js";
import { startControllers } from "../../../../src/cluster/control-plane/components.js";
import { writeInitialObjects } from "../../../../src/cluster/control-plane/initial-objects.js";
import type { KubeObject } from "../../../../src/staging/apimachinery/api/meta.js";
import type { LocalClient } from "../../../../src/staging/client-go/dynamic/interface.js";
import type { AdmissionPlugin } from "../../../../src/staging/server/admission/interfaces.js";
import type { TraceEvent } from "../../../../src/trace/events.js";
import { Trace } from "../../../../src/trace/trace.js";
import { Turns } from "../../../../src/util/async/turns.js";
import { FakeClock, FakeRandom } from "../../../support/fake-clock.js";
import { SYSTEM_APISERVER } from "../../control-plane/system-apiserver.js";

export interface StoreHarness extends AsyncDisposable {
  readonly clock: FakeClock;
  /** an administrator, without admission */
  readonly admin: LocalClient;
  readonly registry: Registry;
  readonly facts: TraceEvent[];
  /** the number of requests of all controllers so far */
  requests(): number;
  readonly names: readonly string[];
  /**
   * Ends all controllers, and starts new ones, which know nothing of what the others did.
   * @param jumpMs how the machine's time was set meanwhile; default: not
   */
  restartControllers(jumpMs?: number): Promise<void>;
  create(resource: string, object: KubeObject): Promise<KubeObject>;
}

export const CA_PEM = "-----BEGIN CERTIFICATE-----\nQ0E=\n-----END CERTIFICATE-----\n";
/** A process does not start in the instant in which another ends. */
const RESTART_MS = 1_000;
export const SERVER_URL = "https://127.0.0.1:6443";

/**
 * All controllers (except some; by default without the signer) over the real registry and the real storage in memory,
 * on a fake clock.
 */
export async function startOnStore(
  options: {
    kubeVersion?: string;
    without?: readonly string[];
    random?: FakeRandom;
    admission?: readonly AdmissionPlugin[];
    /** makes the store of metrics */
    computedStore?: (definition: ResourceDefinition) => ResourceStore;
  } = {},
): Promise<StoreHarness> {
  const clock = new FakeClock();
  const random = options.random ?? new FakeRandom();
  const kubeVersion = options.kubeVersion ?? "1.25";
  const trace = new Trace(clock);
  const facts: TraceEvent[] = [];
  trace.addSink({ write: (event) => facts.push(event) });
  const storage = new MemoryStorage({ clock });
  const definitions = resourcesFor(kubeVersion);
  await writeInitialObjects({ storage, random, definitions, nowMs: clock.now(), kubeVersion, withKubeadmJoin: true });
  const registry = createRegistry({
    storage,
    clock,
    random,
    trace,
    admission: options.admission ?? [],
    kubeVersion,
    definitions,
    ...(options.computedStore === undefined ? {} : { computedStore: options.computedStore }),
  });
  const rbac = new RbacAuthorizer({ registry: () => registry, clock });
  const union = new UnionAuthorizer([rbac]);
  let requests = 0;
  const authorizer = {
    authorize(...asked: Parameters<typeof union.authorize>) {
      requests++;
      return union.authorize(...asked);
    },
  };
  const stop = new AbortController();
  const following = rbac.views.map((view) => view.follow(stop.signal));
  const turns = new Turns(clock);
  const start = () =>
    startControllers(
      {
        clientFor: (user, own = trace) =>
          authorizedClient(createLocalClient(registry, user), { registry, authorizer, trace: own, turns }),
        clock,
        random,
        trace,
        kubeVersion,
        ca: { certificatePem: CA_PEM, privateKeyPem: "" },
        authorizer: {
          authorize: async () => ({ allowed: false, reason: "", cause: "RBAC: no binding applies to the user" }),
          rulesFor: async () => ({ resourceRules: [], nonResourceRules: [], incomplete: false }),
        },
        serverUrl: SERVER_URL,
        definitions: registry.definitions,
      },
      // The signer needs a CA with a key, which takes longer than the rest of a test. It has separate tests.
      { without: options.without ?? ["csrsigning"] },
    );
  let running = start();
  const admin = createLocalClient(registry, SYSTEM_APISERVER);
  await clock.advance(0);
  return {
    clock,
    admin,
    registry,
    facts,
    requests: () => requests,
    names: running.names,
    async restartControllers(jumpMs = 0) {
      await running.close();
      await clock.advance(RESTART_MS);
      clock.jump(jumpMs);
      running = start();
      await clock.advance(0);
    },
    create: (resource, object) => admin.create(resource, object.metadata.namespace, object),
    async [Symbol.asyncDispose]() {
      await running.close();
      stop.abort();
      await Promise.all(following);
      await storage.close();
    },
  };
}

/** The reported errors; empty if there were no errors. */
export function errorsOf(facts: readonly TraceEvent[]): string[] {
  return facts.flatMap((fact) => (fact.kind === "error" && fact.level < 3 ? [fact.message] : []));
}
