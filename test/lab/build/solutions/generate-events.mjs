export function convertState(state) {
  return state === "created" ? "unknown" : state;
}

export function generateEvents(ref, before, after) {
  if (before === after) return [];
  const event = (type) => ({ type, ...ref });
  if (after === "running") return [event("ContainerStarted")];
  if (after === "exited") return [event("ContainerDied")];
  if (after === "unknown") return [event("ContainerChanged")];
  if (before === "exited") return [event("ContainerRemoved")];
  return [event("ContainerDied"), event("ContainerRemoved")];
}

export function isSyncPodWorthy(event) {
  return event.type !== "ContainerRemoved";
}
