import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import type { AdmissionPlugin } from "../../../../staging/server/admission/interfaces.js";
import type { ActionRequest } from "./action.js";
import { AdmissionChains } from "./admission-chain.js";

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
  const chains = new AdmissionChains(admission, { ...target, group: "", version: "v1" });
  const { subresource } = target;
  const write = { operation: "CREATE", namespace, name, subresource, oldObject: undefined } as const;
  const object = await chains.admit(context, { ...write, object: body });
  await chains.validate(context, { ...write, object });
  return object;
}
