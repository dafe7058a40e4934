import type { ResourceDefinition } from "../../../../src/cluster/apiserver/registry/rest/definition.js";
import {
  CONTROLLER_MANAGER,
  type ControllersDeps,
  createControllers,
} from "../../../../src/cluster/controllers/create-controllers.js";
import { runControllers } from "../../../../src/cluster/controllers/run-controllers.js";
import { SharedReflectors } from "../../../../src/staging/client-go/informers/shared-reflector.js";
import type { TraceEvent } from "../../../../src/trace/events.js";
import { Trace } from "../../../../src/trace/trace.js";
import { FakeClock, FakeRandom } from "../../../support/fake-clock.js";
import { FakeCluster } from "./fake-cluster.js";

const VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

function definition(kind: string, resource: string, namespaced: boolean, group = ""): ResourceDefinition {
  const singular = kind.toLowerCase();
  return { group, version: "v1", kind, resource, singular, namespaced, verbs: VERBS, schema: kind, strategy: {} };
}

/** The resources that the tests need. */
export const DEFINITIONS: readonly ResourceDefinition[] = [
  definition("Namespace", "namespaces", false),
  definition("Node", "nodes", false),
  definition("Pod", "pods", true),
  definition("ConfigMap", "configmaps", true),
  definition("Secret", "secrets", true),
  definition("ServiceAccount", "serviceaccounts", true),
  definition("Event", "events", true),
  definition("Lease", "leases", true, "coordination.k8s.io"),
];

export const LEASES = "leases.coordination.k8s.io";

export interface Harness {
  readonly clock: FakeClock;
  readonly cluster: FakeCluster;
  readonly facts: TraceEvent[];
  /** Stops the controllers and waits for their end. */
  stop(): Promise<void>;
}

/** Starts the given controllers (all by default) over a fake cluster. */
export async function startOnFakes(
  names: readonly string[],
  options: { kubeVersion?: string; prepare?: (cluster: FakeCluster) => void } = {},
): Promise<Harness> {
  const clock = new FakeClock();
  const cluster = new FakeCluster(clock);
  options.prepare?.(cluster);
  const trace = new Trace(clock);
  const facts: TraceEvent[] = [];
  trace.addSink({ write: (event) => facts.push(event) });
  const reflectors = new SharedReflectors(cluster.client(CONTROLLER_MANAGER), trace);
  const deps: ControllersDeps = {
    clientFor: (user) => cluster.client(user),
    clock,
    random: new FakeRandom(),
    trace,
    kubeVersion: options.kubeVersion ?? "1.25",
    ca: { certificatePem: "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n", privateKeyPem: "" },
    authorizer: {
      authorize: async () => ({ allowed: false, reason: "", cause: "RBAC: no binding applies to the user" }),
      rulesFor: async () => ({ resourceRules: [], nonResourceRules: [], incomplete: false }),
    },
    serverUrl: "https://127.0.0.1:6443",
    definitions: DEFINITIONS,
  };
  const stop = new AbortController();
  const controllers = createControllers(deps, reflectors).filter(({ name }) => names.includes(name));
  const running = runControllers(controllers, { clock, trace }, stop.signal);
  await clock.advance(0);
  return {
    clock,
    cluster,
    facts,
    async stop() {
      stop.abort();
      await Promise.all([running, reflectors.close()]);
    },
  };
}
