import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import { notFound } from "../../../../staging/apimachinery/errors.js";
import { failureOf, type HealthCheck } from "../../../../staging/server/healthz.js";
import type { ActionHandler } from "../rest/action.js";

/**
 * The health of the control plane's components.
 *
 * Mirrors pkg/registry/core/componentstatus/rest.go. Differs: all components run in this process, so their checks are called
 * directly; the embedded storage has the place of etcd-0.
 */
export function componentStatuses(components: readonly HealthCheck[]): ActionHandler {
  return async ({ name, context }) => {
    context.warnings.push("v1 ComponentStatus is deprecated in v1.19+");
    if (name === undefined) {
      const items = await Promise.all(components.map(componentStatus));
      const list: KubeObject = { kind: "ComponentStatusList", apiVersion: "v1", metadata: {}, items };
      return { code: 200, body: list };
    }
    const component = components.find((one) => one.name === name);
    if (component === undefined) throw notFound({ group: "", resource: "componentstatuses" }, name);
    return { code: 200, body: { kind: "ComponentStatus", apiVersion: "v1", ...(await componentStatus(component)) } };
  };
}

async function componentStatus(component: HealthCheck) {
  const failure = await failureOf(component);
  return {
    metadata: { name: component.name, creationTimestamp: null },
    conditions: [{ type: "Healthy", status: failure === undefined ? "True" : "False", message: failure ?? "ok" }],
  };
}
