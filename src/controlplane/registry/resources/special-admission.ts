import type { KubeObject } from "../../../apimachinery/api/meta.js";
import type { SpecialRequest } from "../../apiserver/special.js";
import type { AdmissionAttributes, AdmissionPlugin } from "../../auth/contracts.js";

/** Which subresource is being created; its parent is in the core group. */
export interface SpecialTarget {
  readonly resource: string;
  readonly subresource: string;
  /** of the body: `Eviction` */
  readonly kind: string;
}

/**
 * Asks the admission plugins about a request that the generic store does not see.
 * @returns the body to go on with
 * @throws StatusError what a plugin refuses
 */
export async function admitSpecial(
  admission: readonly AdmissionPlugin[],
  { context, namespace = "", name = "", body }: SpecialRequest,
  target: SpecialTarget,
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
