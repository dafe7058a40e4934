import type { KubeObject } from "../../../apimachinery/api/meta.js";
import type { ActionRequest } from "../../apiserver/action.js";
import type { AdmissionAttributes, AdmissionPlugin } from "../../auth/contracts.js";

/** The subresource to create; its parent is in the core group. */
export interface ActionTarget {
  readonly resource: string;
  readonly subresource: string;
  /** the body's kind: `Eviction` */
  readonly kind: string;
}

/**
 * Runs the admission plugins for a request that the generic store does not handle.
 * @returns the admitted body
 * @throws StatusError when a plugin refuses it
 */
export async function admitAction(
  admission: readonly AdmissionPlugin[],
  { context, namespace = "", name = "", body }: ActionRequest,
  target: ActionTarget,
): Promise<KubeObject | undefined> {
  let attributes: AdmissionAttributes = {
    ...target,
    user: context.user,
    operation: "CREATE",
    group: "",
    namespace,
    name,
    object: body,
    oldObject: undefined,
    dryRun: context.dryRun === true,
  };
  const { operation } = attributes;
  const asked = admission.filter((plugin) => plugin.handles?.({ ...target, group: "", operation }) !== false);
  for (const plugin of asked) {
    const object = await plugin.admit?.(attributes);
    if (object !== undefined) attributes = { ...attributes, object };
  }
  for (const plugin of asked) await plugin.validate?.(attributes);
  return attributes.object;
}
