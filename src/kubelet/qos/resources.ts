import type { V1Container } from "../../apimachinery/api/pod.js";
import type { ResourceList } from "./quantity.js";

/** What a container asks for and what it is limited to; empty lists where it says nothing. */
export interface ContainerResources {
  readonly requests: ResourceList;
  readonly limits: ResourceList;
}

export function resourcesOf(container: V1Container): ContainerResources {
  const { requests, limits } = fieldsOf(container["resources"]);
  return { requests: fieldsOf(requests), limits: fieldsOf(limits) };
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : {};
}
