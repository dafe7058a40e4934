const stateOf = (statuses, { name }) => {
  const status = statuses.find((one) => one.name === name);
  const { running, terminated, waiting } = status?.state ?? {};
  const before = status?.lastState?.terminated;
  if (running) return { kind: "running" };
  if (terminated) return { kind: "stopped", exitCode: terminated.exitCode };
  if (waiting && before) return { kind: "stopped", exitCode: before.exitCode, again: true };
  return { kind: waiting ? "waiting" : "unknown" };
};

export function getPhase(spec, statuses) {
  const inits = (spec.initContainers ?? []).map((one) => stateOf(statuses, one));
  const mains = (spec.containers ?? []).map((one) => stateOf(statuses, one));
  if (spec.restartPolicy === "Never" && inits.some((one) => one.kind === "stopped" && one.exitCode !== 0))
    return "Failed";
  if (inits.some((one) => one.kind !== "stopped")) return "Pending";
  if (mains.some((one) => one.kind === "waiting" || one.kind === "unknown")) return "Pending";
  if (mains.some((one) => one.kind === "running")) return "Running";
  if (mains.length === 0) return "Pending";
  if (spec.restartPolicy === "Always") return "Running";
  if (mains.every((one) => one.exitCode === 0 && !one.again)) return "Succeeded";
  return spec.restartPolicy === "Never" ? "Failed" : "Running";
}
