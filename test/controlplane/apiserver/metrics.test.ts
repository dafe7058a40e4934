import { expect, test } from "vitest";
import { Metrics } from "../../../src/controlplane/apiserver/metrics.js";

/** Each metric with a change of its subject. */
const CHANGES: Readonly<Record<string, (metrics: Metrics) => unknown>> = {
  apiserver_current_inflight_requests: (metrics) => metrics.begin(),
  apiserver_longrunning_requests: (metrics) => metrics.watchBegan(),
  apiserver_request_total: (metrics) => metrics.end("get", "pods", 200),
  // The stored objects are given to render.
  apiserver_storage_objects: () => undefined,
};
/** What the process itself measures. */
const MEASURED = ["process_resident_memory_bytes", "nodejs_heap_used_bytes"];

function linesOf(text: string, name: string): string {
  return text
    .split("\n")
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .join("\n");
}

test("every metric of the API server changes with its subject", () => {
  const metrics = new Metrics();
  const names = metrics.render(new Map()).match(/(?<=# TYPE )\S+/g);
  expect(names).toEqual([...Object.keys(CHANGES), ...MEASURED]);
  for (const [name, change] of Object.entries(CHANGES)) {
    const before = metrics.render(new Map([["pods", 1]]));
    change(metrics);
    const after = metrics.render(new Map([["pods", 2]]));
    expect(linesOf(after, name), name).not.toBe("");
    expect(linesOf(after, name), name).not.toBe(linesOf(before, name));
  }
});
