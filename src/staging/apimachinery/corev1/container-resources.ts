import type { ResourceList } from "../quantity.js";

/** The requests and limits of a container; empty lists if it sets none. */
export interface ContainerResources {
  readonly requests: ResourceList;
  readonly limits: ResourceList;
}

export function resourcesOf(container: object): ContainerResources {
  const { requests, limits } = fieldsOf((container as { readonly resources?: unknown }).resources);
  return { requests: fieldsOf(requests), limits: fieldsOf(limits) };
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : {};
}
