import type { V1ResourceFieldSelector } from "@kubernetes/client-node";
import type { V1Container, V1Pod } from "../../staging/apimachinery/api/pod.js";
import { resourcesOf } from "../../staging/apimachinery/corev1/container-resources.js";
import { isZeroQuantity, milliValue, type ResourceList, unitValue } from "../../staging/apimachinery/quantity.js";
import type { Wire } from "../../staging/apimachinery/wire.js";

/** Prints a map as Go does: sorted lines of key="value". Mirrors FormatMap in pkg/fieldpath/fieldpath.go. */
function formatMap(map: Readonly<Record<string, string>> | undefined): string {
  const entries = Object.entries(map ?? {}).map(([key, value]) => `${key}=${goQuote(value)}`);
  return entries.sort().join("\n");
}

/** As Go's %q: JSON's escapes, with a few exceptions. */
function goQuote(text: string): string {
  return JSON.stringify(text)
    .replace(/\\u00([01][0-9a-f])/g, (_, hex: string) => SHORT[hex] ?? `\\x${hex}`)
    .replaceAll("\x7f", "\\x7f");
}

const SHORT: Readonly<Record<string, string>> = { "07": "\\a", "0b": "\\v" };

/**
 * Reads a field of the pod's metadata, for the paths that environment variables and volumes share. Pure.
 *
 * Mirrors ExtractFieldPathAsString in pkg/fieldpath/fieldpath.go.
 * @returns undefined for any other path
 */
export function extractFieldPath(pod: V1Pod, fieldPath: string): string | undefined {
  const { metadata } = pod;
  const [, map = "", key = ""] = /^metadata\.(annotations|labels)\['(.*)'\]$/.exec(fieldPath) ?? [];
  const from = (own: Readonly<Record<string, string>> | undefined) =>
    own !== undefined && Object.hasOwn(own, key) ? (own[key] ?? "") : "";
  if (map === "annotations") return from(metadata.annotations);
  if (map === "labels") return from(metadata.labels);
  switch (fieldPath) {
    case "metadata.annotations":
      return formatMap(metadata.annotations);
    case "metadata.labels":
      return formatMap(metadata.labels);
    case "metadata.name":
      return metadata.name;
    case "metadata.namespace":
      return metadata.namespace;
    case "metadata.uid":
      return metadata.uid;
    default:
      return undefined;
  }
}

/** Only these default to the node's amount. Mirrors MergeContainerResourceLimits in pkg/api/v1/resource/helpers.go. */
const DEFAULTED = ["cpu", "memory", "ephemeral-storage"];

/**
 * A container's limit or request, in units of the divisor and rounded up. Without a limit, the node's amount counts.
 *
 * Mirrors ExtractContainerResourceValue in pkg/api/v1/resource/helpers.go and defaultPodLimitsForDownwardAPI.
 * @param own the container whose variable this is; undefined for a volume
 * @returns a problem when the pod has no such container, or the resource is not one that can be read
 */
export function extractResource(
  ref: Wire<V1ResourceFieldSelector>,
  containers: readonly V1Container[],
  own: V1Container | undefined,
  allocatable: ResourceList,
): { readonly value: string } | { readonly problem: string } {
  const { containerName = "", resource } = ref;
  const container = containerName === "" ? own : containers.find(({ name }) => name === containerName);
  if (container === undefined) return { problem: `container ${containerName} not found` };
  const [, kind = "", name = ""] = /^(limits|requests)\.(.+)$/.exec(resource) ?? [];
  const isKnown = DEFAULTED.includes(name) || name.startsWith("hugepages-");
  if (!isKnown) return { problem: `Unsupported container resource : ${resource}` };
  const { limits, requests } = resourcesOf(container);
  const said = kind === "limits" ? limits[name] : requests[name];
  const amount = kind === "limits" && isZeroQuantity(said) && DEFAULTED.includes(name) ? allocatable[name] : said;
  const divisor = isZeroQuantity(ref.divisor) ? "1" : ref.divisor;
  const inUnits = name === "cpu" ? milliValue : unitValue;
  return { value: String(Math.ceil(inUnits(amount ?? "0") / inUnits(divisor))) };
}
