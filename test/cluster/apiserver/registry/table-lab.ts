import assert from "node:assert/strict";
import { createAdmission } from "../../../../src/cluster/apiserver/admission/create-admission.js";
import { RbacAuthorizer } from "../../../../src/cluster/apiserver/auth/authorization/rbac.js";
import { UnionAuthorizer } from "../../../../src/cluster/apiserver/auth/authorization/union.js";
import { createRegistry } from "../../../../src/cluster/apiserver/registry/generic/create-registry.js";
import type { ResourceDefinition } from "../../../../src/cluster/apiserver/registry/rest/definition.js";
import type { Registry, RequestContext } from "../../../../src/cluster/apiserver/registry/rest/registry.js";
import { resourcesFor } from "../../../../src/cluster/apiserver/registry/table.js";
import { MemoryStorage } from "../../../../src/cluster/apiserver/storage/memory.js";
import { defaultNamespaceObjects, systemObjects } from "../../../../src/cluster/control-plane/system-objects.js";
import type { KubeObject, Status } from "../../../../src/staging/apimachinery/api/meta.js";
import { StatusError } from "../../../../src/staging/apimachinery/errors.js";
import { decodeRequestBody } from "../../../../src/staging/apimachinery/scheme/request.js";
import type { AdmissionPlugin } from "../../../../src/staging/server/admission/interfaces.js";
import type { UserInfo } from "../../../../src/staging/server/authentication/user.js";
import { Trace } from "../../../../src/trace/trace.js";
import { FakeClock, FakeRandom } from "../../../support/fake-clock.js";

export const ADMIN: UserInfo = { username: "kubernetes-admin", groups: ["system:masters", "system:authenticated"] };

export function contextOf(user: UserInfo = ADMIN): RequestContext {
  return { user, warnings: [] };
}

/** The real table over a real store, with this folder's admission plugins; no sockets. */
export interface TableLab {
  readonly registry: Registry;
  readonly clock: FakeClock;
  readonly admission: readonly AdmissionPlugin[];
  definition(resource: string, group?: string): ResourceDefinition;
  /** like a POST: decoded through the schema first */
  create(resource: string, body: unknown, options?: WriteOptions): Promise<KubeObject>;
  /** like a PUT */
  put(resource: string, name: string, body: unknown, options?: WriteOptions): Promise<KubeObject>;
}

export interface WriteOptions {
  readonly namespace?: string;
  readonly subresource?: string;
  readonly user?: UserInfo;
  readonly dryRun?: boolean;
  /** collects the texts of the answer's Warning headers */
  readonly warnings?: string[];
}

export async function openTableLab(given?: Trace, kubeVersion = "1.25"): Promise<TableLab> {
  const clock = new FakeClock();
  const trace = given ?? new Trace(clock);
  const random = new FakeRandom();
  const storage = new MemoryStorage({ clock });
  const admission: AdmissionPlugin[] = [];
  const definitions = resourcesFor(kubeVersion);
  const registry = createRegistry({
    storage,
    clock,
    random,
    trace,
    admission,
    kubeVersion,
    definitions,
  });
  const qualified = ({ group, resource }: ResourceDefinition) => (group === "" ? resource : `${resource}.${group}`);
  for (const object of [...systemObjects(), ...defaultNamespaceObjects()]) {
    const row = definitions.find((one) => one.kind === object.kind);
    assert.ok(row);
    await registry.store(qualified(row)).create(contextOf(), object.metadata.namespace, object);
  }
  for (const namespace of ["default", "kube-system"]) {
    const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default" } };
    await registry.store("serviceaccounts").create(contextOf(), namespace, account);
  }
  const rbac = new RbacAuthorizer({ registry: () => registry, clock });
  const auth = { rbac, authorizer: new UnionAuthorizer([rbac]) };
  admission.push(...createAdmission({ registry, clock, random, trace, auth, kubeVersion }));

  const definition = (resource: string, group?: string): ResourceDefinition => {
    const row = definitions.find((one) => one.resource === resource && (group === undefined || one.group === group));
    assert.ok(row, `no row for ${resource}`);
    return row;
  };
  const decode = (row: ResourceDefinition, body: unknown): KubeObject =>
    decodeRequestBody(JSON.stringify(body), row).object;
  const namespaceOf = (row: ResourceDefinition, { namespace = "default" }: WriteOptions) =>
    row.namespaced ? namespace : undefined;
  return {
    registry,
    clock,
    admission,
    definition,
    async create(resource, body, options = {}) {
      const row = definition(resource);
      const store = registry.store(qualified(row));
      const { user, dryRun = false, warnings = [] } = options;
      const context = { ...contextOf(user), dryRun, warnings };
      return store.create(context, namespaceOf(row, options), decode(row, body));
    },
    async put(resource, name, body, options = {}) {
      const row = definition(resource);
      const store = registry.store(qualified(row));
      const object = decode(row, body);
      const { subresource } = options;
      const written = await store.update(
        contextOf(options.user),
        namespaceOf(row, options),
        name,
        subresource,
        () => object,
      );
      return written.object;
    },
  };
}

/** The Status of a refused write. */
export async function refusal(write: Promise<unknown>): Promise<Status> {
  try {
    await write;
  } catch (error) {
    if (error instanceof StatusError) return error.status;
    throw error;
  }
  assert.fail("the write was accepted");
}

/** The Status of a refused write; undefined if it was accepted. */
export async function refusalIfAny(write: Promise<unknown>): Promise<Status | undefined> {
  try {
    await write;
    return undefined;
  } catch (error) {
    if (error instanceof StatusError) return error.status;
    throw error;
  }
}
