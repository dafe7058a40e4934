import type { KubeObject } from "../apimachinery/api/meta.js";
import type { Random } from "../util/random.js";
import { rbacSeed } from "./auth/policy/seed.js";
import type { ResourceDefinition } from "./registry/definition.js";
import { resourceKeys } from "./registry/keys.js";
import { timestamp } from "./registry/object-meta.js";
import {
  apiServerEndpoints,
  authenticationConfigMap,
  defaultNamespaceObjects,
  systemObjects,
} from "./registry/resources/seed.js";
import type { Storage } from "./storage/storage.js";

interface WriteDeps {
  readonly storage: Storage;
  readonly random: Random;
  readonly definitions: readonly ResourceDefinition[];
  /** Unix ms: when the objects come into being */
  readonly nowMs: number;
}

export interface SeedDeps extends WriteDeps {
  readonly kubeVersion: string;
  /** what `kubeadm init` adds for `kubeadm join` */
  readonly withKubeadmJoin: boolean;
  /** PEM; absent: nobody is told which CA clients' certificates are of */
  readonly clientCaPem?: string;
}

/**
 * Writes what a new cluster holds before anybody asks it: namespaces, priority classes, roles and bindings, its service.
 *
 * Differs: straight into the storage, without admission and validation: start-up must not take longer than the rest of
 * a command.
 */
export async function seedCluster(deps: SeedDeps): Promise<void> {
  const { clientCaPem } = deps;
  const authentication = clientCaPem === undefined ? [] : [authenticationConfigMap(clientCaPem)];
  await writeObjects(deps, [...systemObjects(), ...authentication, ...rbacSeed(deps), ...defaultNamespaceObjects()]);
}

/** What can be told only once the server listens: where the service `kubernetes` leads. */
export async function seedEndpoints(deps: WriteDeps, host: string, port: number): Promise<void> {
  await writeObjects(deps, [apiServerEndpoints(host, port)]);
}

async function writeObjects(deps: WriteDeps, objects: readonly KubeObject[]): Promise<void> {
  const byKind = new Map(deps.definitions.map((definition) => [`${definition.group}/${definition.kind}`, definition]));
  const creationTimestamp = timestamp(deps.nowMs);
  for (const object of objects) {
    const group = object.apiVersion.includes("/") ? object.apiVersion.slice(0, object.apiVersion.indexOf("/")) : "";
    const definition = byKind.get(`${group}/${object.kind}`);
    if (definition === undefined) throw new Error(`nothing stores ${object.apiVersion} ${object.kind}`);
    const { namespace, name = "" } = object.metadata;
    const metadata = { ...object.metadata, uid: deps.random.uuid(), creationTimestamp };
    await deps.storage.create(resourceKeys(definition).key(namespace, name), { ...object, metadata });
  }
}
