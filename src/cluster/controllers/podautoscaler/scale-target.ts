import type { Scale } from "../../../staging/apimachinery/api/objects.js";
import type { ApiResource } from "../../../staging/apimachinery/api/resource.js";
import { qualifiedResource, StatusError } from "../../../staging/apimachinery/errors.js";
import type { LocalClient } from "../../../staging/client-go/dynamic/interface.js";
import { messageOf } from "../../../util/errors.js";
import type { Hpa } from "./status.js";

/** What an autoscaler scales, or why that cannot be read. */
export type ScaleTarget =
  | {
      readonly outcome: "found";
      readonly scale: Scale;
      /** as the registry names it: `deployments.apps` */
      readonly resource: string;
    }
  | {
      readonly outcome: "failed";
      /** of the condition and the event */
      readonly message: string;
      /** what the controller could not do */
      readonly problem: string;
    };

/**
 * Reads the scale of the autoscaler's target. Mirrors the first part of reconcileAutoscaler and scaleForResourceMappings in
 * pkg/controller/podautoscaler/horizontal.go.
 */
export async function getScaleTarget(
  client: LocalClient,
  definitions: readonly ApiResource[],
  { metadata, spec }: Hpa,
): Promise<ScaleTarget> {
  const { apiVersion = "", kind = "", name = "" } = spec?.scaleTargetRef ?? {};
  const parts = apiVersion.split("/");
  if (parts.length > 2) {
    const message = `unexpected GroupVersion string: ${apiVersion}`;
    return { outcome: "failed", message, problem: "invalid API version in scale target reference" };
  }
  const group = parts.length === 2 ? (parts[0] ?? "") : "";
  const definition = definitions.find((one) => one.kind === kind && one.group === group && one.storedAs === undefined);
  if (definition === undefined) {
    const message = `no matches for kind ${JSON.stringify(kind)} in group ${JSON.stringify(group)}`;
    return { outcome: "failed", message, problem: "unable to determine resource for scale target reference" };
  }
  const { namespace } = metadata;
  const problem = `failed to query scale subresource for ${kind}/${namespace}/${name}`;
  const failed = (message: string) => ({ outcome: "failed", message, problem }) as const;
  if (definition.subresources?.some((one) => one.name === "scale") !== true) {
    return failed("the server could not find the requested resource");
  }
  const resource = qualifiedResource(definition);
  try {
    const scale = await client.get<Scale>(resource, namespace, name, "scale");
    if (scale !== undefined) return { outcome: "found", scale, resource };
    return failed(
      `${qualifiedResource({ ...definition, resource: `${definition.resource}/scale` })} "${name}" not found`,
    );
  } catch (error) {
    if (error instanceof StatusError) return failed(messageOf(error));
    throw error;
  }
}
