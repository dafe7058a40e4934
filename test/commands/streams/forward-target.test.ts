import { expect, test } from "vitest";
import { findPod, parseForwardTarget } from "../../../src/commands/streams/forward-target.js";
import type { KubeRequest } from "../../../src/staging/client-go/rest/client.js";

const PARSED: readonly (readonly [text: string, want: string])[] = [
  ["web", "pod web"],
  ["pod/web", "pod web"],
  ["po/web", "pod web"],
  ["svc/web", "Service web"],
  ["service/web", "Service web"],
  ["services/web", "Service web"],
  ["deployment/web", "Deployment web"],
  ["deploy/web", "Deployment web"],
  ["deployments.apps/web", "Deployment web"],
  ["sts/web", "StatefulSet web"],
  ["ds/web", "DaemonSet web"],
  ["rs/web", "ReplicaSet web"],
  ["rc/web", "ReplicationController web"],
  ["jobs/web", "Job web"],
  ["node/web", 'ports of "node/web" cannot be forwarded'],
  ["svc/", '"" is not a pod name'],
  ["svc/Web", '"Web" is not a pod name'],
];

test.each(PARSED)("port-forward %s", (text, want) => {
  const parsed = () => {
    const target = parseForwardTarget(text, "default");
    return `${target.type === "pod" ? "pod" : target.kind.kind} ${target.name.name}`;
  };
  if (/^\w+ web$/.test(want)) expect(parsed()).toBe(want);
  else expect(parsed).toThrow(want);
});

interface PodOptions {
  readonly phase?: string;
  readonly readyAt?: string;
  readonly node?: string;
  readonly restarts?: number;
}

function pod(name: string, { phase = "Running", readyAt, node = "n1", restarts = 0 }: PodOptions = {}) {
  const status = readyAt === undefined ? "False" : "True";
  const conditions = [{ type: "Ready", status, lastTransitionTime: readyAt }];
  return {
    metadata: { name, namespace: "default", uid: name, creationTimestamp: "2026-01-01T00:00:00Z" },
    spec: { nodeName: node, containers: [] },
    status: { phase, conditions, containerStatuses: [{ name: "c", restartCount: restarts }] },
  };
}

/** Answers with one object, and one list of pods. */
function answering(spec: object, pods: readonly object[]) {
  const asked: string[] = [];
  const expectOf = async <T>({ path, query }: KubeRequest): Promise<T> => {
    asked.push(`${path}${query === undefined ? "" : `?${query["labelSelector"]}`}`);
    return (query === undefined ? { kind: "x", metadata: { name: "web" }, spec } : { items: pods }) as T;
  };
  return { asked, expect: expectOf };
}

const CHOSEN: readonly (readonly [title: string, pods: readonly object[], want: string])[] = [
  ["a ready pod", [pod("a"), pod("b", { readyAt: "2026-01-01T00:00:00Z" })], "b"],
  [
    "the one that has been ready for longest",
    [pod("a", { readyAt: "2026-01-01T00:01:00Z" }), pod("b", { readyAt: "2026-01-01T00:00:00Z" })],
    "b",
  ],
  ["one with a node", [pod("a", { node: "", phase: "Pending" }), pod("b", { phase: "Pending" })], "b"],
  ["one that runs", [pod("a", { phase: "Pending" }), pod("b")], "b"],
  ["none that has ended", [pod("a", { phase: "Failed" }), pod("b", { phase: "Pending" })], "b"],
  ["the one with fewer restarts", [pod("a", { restarts: 3 }), pod("b")], "b"],
];

test.each(CHOSEN)("port-forward to a deployment chooses %s", async (_title, pods, want) => {
  const target = parseForwardTarget("deployment/web", "default");
  if (target.type === "pod") throw new Error("not a pod");
  const api = answering({ selector: { matchLabels: { app: "web" }, matchExpressions: [] } }, pods);
  const { name, service } = await findPod(api, target, new AbortController().signal);
  expect([name.name, service, api.asked]).toEqual([
    want,
    undefined,
    ["/apis/apps/v1/namespaces/default/deployments/web", "/api/v1/namespaces/default/pods?app=web"],
  ]);
});

test("port-forward to a service without a selector, or without pods, says so", async () => {
  const target = parseForwardTarget("svc/web", "default");
  if (target.type === "pod") throw new Error("not a pod");
  const { signal } = new AbortController();
  await expect(findPod(answering({}, []), target, signal)).rejects.toThrow(
    "the service default/web is defined without a selector",
  );
  await expect(findPod(answering({ selector: { app: "web" } }, []), target, signal)).rejects.toThrow(
    "the service default/web has no pods",
  );
});
