import type { Random } from "../util/random.js";
import { rbacSeed } from "./auth/policy/seed.js";
import type { ResourceDefinition } from "./registry/definition.js";
import { resourceKeys } from "./registry/keys.js";
import { timestamp } from "./registry/object-meta.js";
import { defaultNamespaceObjects, systemObjects } from "./registry/resources/seed.js";
import type { Storage } from "./storage/storage.js";

export interface SeedDeps {
  readonly storage: Storage;
  readonly random: Random;
  readonly definitions: readonly ResourceDefinition[];
  /** Unix ms: when the objects come into being */
  readonly nowMs: number;
  readonly kubeVersion: string;
  /** what `kubeadm init` adds for `kubeadm join` */
  readonly withKubeadmJoin: boolean;
}

/**
 * Writes what a new cluster holds before anybody asks it: namespaces, priority classes, roles and bindings, its service.
 *
 * Differs: straight into the storage, without admission and validation: start-up must not take longer than the rest of
 * a command.
 */
export async function seedCluster(deps: SeedDeps): Promise<void> {
  const byKind = new Map(deps.definitions.map((definition) => [`${definition.group}/${definition.kind}`, definition]));
  const creationTimestamp = timestamp(deps.nowMs);
  const objects = [...systemObjects(), ...rbacSeed(deps), ...defaultNamespaceObjects()];
  for (const object of objects) {
    const group = object.apiVersion.includes("/") ? object.apiVersion.slice(0, object.apiVersion.indexOf("/")) : "";
    const definition = byKind.get(`${group}/${object.kind}`);
    if (definition === undefined) throw new Error(`nothing stores ${object.apiVersion} ${object.kind}`);
    const { namespace, name = "" } = object.metadata;
    const metadata = { ...object.metadata, uid: deps.random.uuid(), creationTimestamp };
    await deps.storage.create(resourceKeys(definition).key(namespace, name), { ...object, metadata });
  }
}
