import { createRegistry } from "../../../../src/cluster/apiserver/registry/generic/create-registry.js";
import type { ResourceDefinition, Strategy } from "../../../../src/cluster/apiserver/registry/rest/definition.js";
import type { Registry, RequestContext } from "../../../../src/cluster/apiserver/registry/rest/registry.js";
import { MemoryStorage, type MemoryStorageOptions } from "../../../../src/cluster/apiserver/storage/memory.js";
import type { KubeObject } from "../../../../src/staging/apimachinery/api/meta.js";
import { StatusError } from "../../../../src/staging/apimachinery/errors.js";
import type { AdmissionPlugin } from "../../../../src/staging/server/admission/interfaces.js";
import type { TraceEvent } from "../../../../src/trace/events.js";
import type { Trace } from "../../../../src/trace/trace.js";
import type { Random } from "../../../../src/util/random.js";
import { FakeClock, FakeRandom } from "../../../support/fake-clock.js";
import { recordingTrace } from "../../../support/trace.js";

/** Small rows for the cases of the generic store; the real table is tested with its kinds. */

type Fields = Readonly<Record<string, unknown>>;

export function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

function row(
  group: string,
  kind: string,
  resource: string,
  strategy: Strategy,
  options: Partial<ResourceDefinition> = {},
): ResourceDefinition {
  return {
    group,
    version: "v1",
    kind,
    resource,
    singular: kind.toLowerCase(),
    namespaced: true,
    verbs: [],
    schema: kind,
    strategy,
    ...options,
  };
}

const keepSpec = { prepareForUpdate: (object: KubeObject, old: KubeObject) => ({ ...object, spec: old.spec }) };

export const CONFIG_MAPS = row("", "ConfigMap", "configmaps", { allowUnconditionalUpdate: true });

export const NODES = row(
  "",
  "Node",
  "nodes",
  { allowUnconditionalUpdate: true, prepareForUpdate: (object, old) => ({ ...object, status: old.status }) },
  {
    namespaced: false,
    subresources: [{ name: "status", verbs: [], strategy: keepSpec }],
    selectableFields: (node) => ({ "spec.unschedulable": String(fieldsOf(node.spec).unschedulable ?? false) }),
  },
);

export const LEASES = row("coordination.k8s.io", "Lease", "leases", { allowCreateOnUpdate: true });

/** Barely checks names, keeps the spec. */
export const CSRS = row(
  "certificates.k8s.io",
  "CertificateSigningRequest",
  "certificatesigningrequests",
  { validateName: () => [], ...keepSpec },
  {
    namespaced: false,
    selectableFields: (csr) => ({ "spec.signerName": String(fieldsOf(csr.spec).signerName ?? "") }),
  },
);

export const PODS = row(
  "",
  "Pod",
  "pods",
  {
    allowUnconditionalUpdate: true,
    gracePeriodSeconds(pod, asked) {
      const spec = fieldsOf(pod.spec);
      const phase = fieldsOf(pod.status).phase;
      if (spec.nodeName === undefined || phase === "Succeeded" || phase === "Failed") return 0;
      return asked ?? Number(spec.terminationGracePeriodSeconds ?? 30);
    },
  },
  {
    deleteReturnsObject: true,
    subresources: [{ name: "status", verbs: [], strategy: keepSpec }],
    selectableFields: (pod) => ({
      "spec.nodeName": String(fieldsOf(pod.spec).nodeName ?? ""),
      "status.phase": String(fieldsOf(pod.status).phase ?? ""),
    }),
  },
);

export const NAMESPACES = row(
  "",
  "Namespace",
  "namespaces",
  {
    allowUnconditionalUpdate: true,
    prepareForCreate: (object) => ({ ...object, spec: { finalizers: ["kubernetes"] }, status: { phase: "Active" } }),
    prepareForUpdate: (object, old) => ({ ...object, spec: old.spec, status: old.status }),
    prepareForDelete: (object) => ({ ...object, status: { phase: "Terminating" } }),
    hasOwnFinalizers: ({ spec }) => ((fieldsOf(spec).finalizers as unknown[] | undefined) ?? []).length > 0,
  },
  {
    namespaced: false,
    subresources: [
      {
        name: "finalize",
        verbs: [],
        strategy: { prepareForUpdate: (object, old) => ({ ...object, status: old.status }) },
      },
    ],
  },
);

/** A second view of config maps, with different field names. */
export const VIEWS = row(
  "view.example.com",
  "View",
  "views",
  { allowUnconditionalUpdate: true },
  {
    storedAs: {
      resource: "configmaps",
      toStored: ({ content, ...view }) => ({ ...view, apiVersion: "v1", kind: "ConfigMap", data: content }),
      fromStored: ({ data, ...stored }) => ({
        ...stored,
        apiVersion: "view.example.com/v1",
        kind: "View",
        content: data,
      }),
    },
    selectableFields: (view) => ({ "content.k": String(fieldsOf(view.content).k ?? "") }),
  },
);

export const NEWER = row("", "Newer", "newers", {}, { since: "1.30" });

export const ROWS = [CONFIG_MAPS, NODES, LEASES, CSRS, PODS, NAMESPACES, VIEWS, NEWER];

export const ADMIN: RequestContext["user"] = { username: "admin", groups: ["system:masters"] };

export function contextOf(overrides: Partial<RequestContext> = {}): RequestContext {
  return { user: ADMIN, warnings: [], ...overrides };
}

export interface Lab {
  readonly clock: FakeClock;
  readonly storage: MemoryStorage;
  readonly registry: Registry;
  readonly trace: Trace;
  readonly facts: readonly TraceEvent[];
}

export interface LabOptions {
  readonly admission?: readonly AdmissionPlugin[];
  readonly kubeVersion?: string;
  readonly random?: Random;
  readonly storage?: MemoryStorageOptions;
}

export function openLab(options: LabOptions = {}): Lab {
  const clock = new FakeClock();
  const storage = new MemoryStorage({ clock }, options.storage);
  const { trace, events } = recordingTrace(clock);
  const registry = createRegistry({
    storage,
    clock,
    trace,
    random: options.random ?? new FakeRandom(),
    definitions: ROWS,
    admission: options.admission ?? [],
    kubeVersion: options.kubeVersion ?? "1.25",
  });
  return { clock, storage, registry, trace, facts: events };
}

export function configMap(name: string, data: Fields = {}, labels?: Readonly<Record<string, string>>): KubeObject {
  const metadata = labels === undefined ? { name } : { name, labels };
  return { kind: "ConfigMap", apiVersion: "v1", metadata, data };
}

export function pod(name: string, spec: Fields = {}, status: Fields = { phase: "Pending" }): KubeObject {
  return { kind: "Pod", apiVersion: "v1", metadata: { name }, spec, status };
}

/** The Status of a refused call. */
export async function refusal(call: Promise<unknown> | (() => unknown)): Promise<StatusError["status"]> {
  try {
    await (typeof call === "function" ? call() : call);
  } catch (error) {
    if (error instanceof StatusError) return error.status;
    throw error;
  }
  throw new Error("not refused");
}
