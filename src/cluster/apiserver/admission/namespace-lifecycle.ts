import type { V1Namespace } from "@kubernetes/client-node";
import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import { FROM_CACHE } from "../../../staging/apimachinery/api/options.js";
import { forbidden, notFound, StatusError } from "../../../staging/apimachinery/errors.js";
import type { Wire } from "../../../staging/apimachinery/wire.js";
import { admissionForbidden } from "../../../staging/server/admission/errors.js";
import type { AdmissionAttributes, AdmissionPlugin } from "../../../staging/server/admission/interfaces.js";
import type { Registry } from "../registry/rest/registry.js";

/** A cluster cannot work without these namespaces. */
const IMMORTAL_NAMESPACES = ["default", "kube-system", "kube-public"];

const NAMESPACES = { group: "", resource: "namespaces" };

/**
 * Refuses to create objects in a missing or terminating namespace, and to delete the three essential namespaces.
 *
 * Mirrors k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle/admission.go (Lifecycle.Admit).
 * Differs: reads the store instead of a cache that can lag behind.
 */
export class NamespaceLifecycle implements AdmissionPlugin {
  readonly name = "NamespaceLifecycle";

  constructor(readonly registry: Registry) {}

  admit(attributes: AdmissionAttributes): KubeObject | undefined | Promise<KubeObject | undefined> {
    const { operation, group, resource, namespace, name, object } = attributes;
    if (group === "" && resource === "namespaces") {
      if (operation === "DELETE" && IMMORTAL_NAMESPACES.includes(name)) {
        throw forbidden(NAMESPACES, name, "this namespace may not be deleted");
      }
      return object;
    }
    if (namespace === "" || operation === "DELETE") return object;
    return this.#admitInto(namespace, attributes);
  }

  async #admitInto(namespace: string, attributes: AdmissionAttributes): Promise<KubeObject | undefined> {
    const { status } = await this.#find(namespace);
    if (attributes.operation === "CREATE" && status?.phase === "Terminating") throw terminating(attributes);
    return attributes.object;
  }

  async #find(namespace: string): Promise<Wire<V1Namespace>> {
    try {
      return (await this.registry.store("namespaces").get(undefined, namespace, FROM_CACHE)) as Wire<V1Namespace>;
    } catch (error) {
      if (error instanceof StatusError && error.code === 404) throw notFound(NAMESPACES, namespace);
      throw error;
    }
  }
}

/** Clients recognize this cause and ignore the error while they clean up. */
function terminating(attributes: AdmissionAttributes): StatusError {
  const { namespace } = attributes;
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
  const { status } = admissionForbidden(attributes, why);
  const cause = {
    reason: "NamespaceTerminating",
    message: `namespace ${namespace} is being terminated`,
    field: "metadata.namespace",
  };
  return new StatusError({ ...status, details: { ...status.details, causes: [cause] } });
}
