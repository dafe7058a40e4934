import type { ContainerFilter } from "../../../staging/cri/messages/container.js";
import type { PodSandboxFilter } from "../../../staging/cri/messages/sandbox.js";
import type { ContainerStatsFilter, PodSandboxStatsFilter } from "../../../staging/cri/messages/stats.js";
import type { Container, Sandbox } from "../state/container.js";
import type { RuntimeCore } from "../state/core.js";
import type { IdIndex } from "../state/id-index.js";
import { containerState, sandboxState } from "../state/status.js";

type Labels = Readonly<Record<string, string>>;

/** Sandboxes that match all fields of a filter. Mirrors containerd's filterCRISandboxes. */
export function selectSandboxes(
  core: RuntimeCore,
  filter: PodSandboxFilter | (PodSandboxStatsFilter & { readonly state?: undefined }) | undefined,
): Iterable<Sandbox> {
  if (filter === undefined) return core.sandboxes.values();
  const { id, labelSelector, state } = filter;
  return filtered(
    core.sandboxes,
    id,
    ({ sandboxId }) => sandboxId,
    (sandbox) =>
      (state === undefined || sandboxState(sandbox) === state.state) && hasLabels(sandbox.config.labels, labelSelector),
  );
}

/** Containers that match all fields of a filter. Mirrors containerd's filterCRIContainers. */
export function selectContainers(
  core: RuntimeCore,
  filter: ContainerFilter | (ContainerStatsFilter & { readonly state?: undefined }) | undefined,
): Iterable<Container> {
  if (filter === undefined) return core.containers.values();
  const { id, podSandboxId, labelSelector, state } = filter;
  const sandbox = podSandboxId === "" ? undefined : only(core.sandboxes, podSandboxId);
  if (podSandboxId !== "" && sandbox === undefined) return [];
  const passes = (container: Container) =>
    (sandbox === undefined || container.sandbox === sandbox) &&
    (state === undefined || containerState(container.phase) === state.state) &&
    hasLabels(container.config.labels, labelSelector);
  if (sandbox !== undefined && id === "") return [...sandbox.containers].filter(passes);
  return filtered(core.containers, id, ({ containerId }) => containerId, passes);
}

function filtered<T>(index: IdIndex<T>, id: string, idOf: (item: T) => string, passes: (item: T) => boolean): T[] {
  if (id === "") return [...index.values()].filter(passes);
  const found = only(index, id);
  return found !== undefined && idOf(found).startsWith(id) && passes(found) ? [found] : [];
}

/** As in containerd, an ID filter can be a prefix, if it is unique. */
function only<T>(index: IdIndex<T>, id: string): T | undefined {
  try {
    return index.find(id);
  } catch {
    return undefined; // an ambiguous prefix: no ID is equal to it
  }
}

function hasLabels(labels: Labels, wanted: Labels): boolean {
  return Object.entries(wanted).every(([name, value]) => Object.hasOwn(labels, name) && labels[name] === value);
}
