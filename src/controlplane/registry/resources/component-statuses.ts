import type { KubeObject } from "../../../apimachinery/api/meta.js";
import { notFound } from "../../../apimachinery/errors.js";
import type { SpecialHandler } from "../../apiserver/special.js";

const HEALTHY = ["controller-manager", "scheduler", "etcd-0"];

/**
 * The health of the control plane's components.
 *
 * Mirrors pkg/registry/core/componentstatus/rest.go. Differs: all components run in this process, so they are always
 * healthy.
 */
export const componentStatuses: SpecialHandler = async ({ name, context }) => {
  context.warnings.push("v1 ComponentStatus is deprecated in v1.19+");
  if (name === undefined) {
    const items = HEALTHY.map((one) => componentStatus(one));
    const list: KubeObject = { kind: "ComponentStatusList", apiVersion: "v1", metadata: {}, items };
    return { code: 200, body: list };
  }
  if (!HEALTHY.includes(name)) throw notFound({ group: "", resource: "componentstatuses" }, name);
  return { code: 200, body: { kind: "ComponentStatus", apiVersion: "v1", ...componentStatus(name) } };
};

function componentStatus(name: string) {
  const message = name === "etcd-0" ? '{"health":"true"}' : "ok";
  return {
    metadata: { name, creationTimestamp: null },
    conditions: [{ type: "Healthy", status: "True", message }],
  };
}
