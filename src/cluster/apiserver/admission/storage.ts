import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import { nameOf } from "../../../staging/apimachinery/api/objects.js";
import { FROM_CACHE } from "../../../staging/apimachinery/api/options.js";
import { compareQuantities } from "../../../staging/apimachinery/quantity.js";
import {
  type Claim,
  defaultClassOf,
  hasStorageClass,
  requestedBy,
  type StorageClass,
  storageClassOf,
} from "../../../staging/component-helpers/storage/volume.js";
import { admissionForbidden } from "../../../staging/server/admission/errors.js";
import type {
  AdmissionAttributes,
  AdmissionPlugin,
  AdmissionSubject,
} from "../../../staging/server/admission/interfaces.js";
import type { Registry } from "../registry/rest/registry.js";

const CLASSES = "storageclasses.storage.k8s.io";
const PROTECTED: Readonly<Record<string, string>> = {
  persistentvolumeclaims: "kubernetes.io/pvc-protection",
  persistentvolumes: "kubernetes.io/pv-protection",
};

/** A claim without a class gets the default one. Mirrors plugin/pkg/admission/storage/storageclass/setdefault/admission.go. */
export class DefaultStorageClass implements AdmissionPlugin {
  readonly name = "DefaultStorageClass";

  constructor(readonly registry: Registry) {}

  handles(write: AdmissionSubject): boolean {
    return isClaimWrite(write, "CREATE");
  }

  async admit({ object }: AdmissionAttributes): Promise<KubeObject | undefined> {
    const claim = object as Claim | undefined;
    if (claim === undefined || hasStorageClass(claim)) return claim;
    const { items } = await this.registry.store(CLASSES).list(undefined);
    const byDefault = defaultClassOf(items as readonly StorageClass[]);
    if (byDefault === undefined) return claim;
    return { ...claim, spec: { ...claim.spec, storageClassName: nameOf(byDefault) } } as KubeObject;
  }
}

/**
 * Gives claims and volumes the finalizer that their controllers remove when no pod or claim uses them.
 * Mirrors plugin/pkg/admission/storage/storageobjectinuseprotection/admission.go.
 */
export const storageObjectInUseProtection: AdmissionPlugin = {
  name: "StorageObjectInUseProtection",
  handles: ({ group, resource, subresource, operation }) =>
    group === "" && Object.hasOwn(PROTECTED, resource) && subresource === "" && operation === "CREATE",
  admit({ object, resource }) {
    const finalizer = PROTECTED[resource];
    const { finalizers = [] } = object?.metadata ?? {};
    if (object === undefined || finalizer === undefined || finalizers.includes(finalizer)) return object;
    return { ...object, metadata: { ...object.metadata, finalizers: [...finalizers, finalizer] } };
  },
};

/** Only claims whose class allows it can grow. Mirrors plugin/pkg/admission/storage/persistentvolume/resize/admission.go. */
export class PersistentVolumeClaimResize implements AdmissionPlugin {
  readonly name = "PersistentVolumeClaimResize";

  constructor(readonly registry: Registry) {}

  handles(write: AdmissionSubject): boolean {
    return isClaimWrite(write, "UPDATE");
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    const claim = attributes.object as Claim | undefined;
    const before = attributes.oldObject as Claim | undefined;
    if (claim === undefined || before === undefined) return;
    if (compareQuantities(requestedBy(claim), requestedBy(before)) <= 0) return;
    if (before.status?.phase !== "Bound")
      throw admissionForbidden(attributes, "Only bound persistent volume claims can be expanded");
    if (await this.#canGrow(storageClassOf(claim))) return;
    const why =
      "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize";
    throw admissionForbidden(attributes, why);
  }

  async #canGrow(className: string): Promise<boolean> {
    if (className === "") return false;
    const found = await this.registry
      .store(CLASSES)
      .get(undefined, className, FROM_CACHE)
      .catch(() => undefined);
    return (found as StorageClass | undefined)?.allowVolumeExpansion === true;
  }
}

function isClaimWrite({ group, resource, subresource, operation }: AdmissionSubject, wanted: string): boolean {
  return group === "" && resource === "persistentvolumeclaims" && subresource === "" && operation === wanted;
}
