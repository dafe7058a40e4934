import type { Fact, TraceEvent } from "../../../src/trace/events.js";

type Options = Partial<
  Pick<
    TraceEvent,
    "actor" | "level" | "causedBy" | "origin" | "every" | "pod" | "instance" | "chapter" | "atMs" | "peer"
  >
>;

/** Facts of a run, with ids and times that count up. */
export class PageFacts {
  readonly events: TraceEvent[] = [];

  /** @returns the fact's id */
  add(fact: Fact, options: Options = {}): string {
    const seq = this.events.length + 1;
    const id = seq.toString(16).padStart(16, "0");
    this.events.push({ seq, id, atMs: seq * 10, actor: "kubelet", level: 1, ...options, ...fact });
    return id;
  }
}

const VERSION = (resourceVersion: string, phase: string) => ({
  kind: "Pod",
  metadata: { name: "web", uid: "uid-1", resourceVersion },
  status: { phase },
});
const CALL = { server: "https://127.0.0.1:6443", identity: "admin", durationMs: 5, auditId: "" };

/** A pod that a user creates: the scheduler binds it, a kubelet starts it and reports. */
export function podFacts(): TraceEvent[] {
  const facts = new PageFacts();
  const start = facts.add({ kind: "step", title: "Create the pod" }, { actor: "user", origin: "command" });
  const created = facts.add(
    {
      kind: "request",
      method: "POST",
      path: "/api/v1/namespaces/default/pods",
      status: 201,
      version: "uid-1@1",
      ...CALL,
      requestBody: { kind: "Pod", metadata: { name: "web" } },
      responseBody: VERSION("1", "Pending"),
    },
    { actor: "user", level: 2, causedBy: start },
  );
  facts.add(
    { kind: "state", subject: "pods default/web", what: "stored", to: "1" },
    { actor: "apiserver", causedBy: created },
  );
  facts.add(
    { kind: "decision", what: "bind default/web to n1", why: "the only node" },
    { actor: "scheduler", causedBy: "uid-1@1" },
  );
  const seen = facts.add(
    { kind: "watch", type: "ADDED", resource: "pods", object: "default/web" },
    { level: 2, causedBy: "uid-1@1", instance: "n1" },
  );
  const pod = { pod: "default/web", instance: "n1" };
  const decided = facts.add(
    {
      kind: "decision",
      what: "start container app",
      why: "it has never run",
      constants: [{ name: "backOffPeriod", value: "10 s", release: "v1.25" }],
      upstream: { file: "pkg/kubelet/kubelet_pods.go", func: "syncPod" },
    },
    { ...pod, causedBy: seen },
  );
  facts.add(
    {
      kind: "rpc",
      service: "RuntimeService",
      method: "StartContainer",
      endpoint: "unix:///r",
      code: "OK",
      durationMs: 3,
    },
    { ...pod, level: 2, causedBy: decided },
  );
  facts.add(
    {
      kind: "request",
      method: "PATCH",
      path: "/api/v1/namespaces/default/pods/web/status",
      status: 200,
      version: "uid-1@2",
      ...CALL,
      responseBody: VERSION("2", "Running"),
    },
    { ...pod, level: 2, causedBy: decided },
  );
  facts.add(
    { kind: "event", type: "Warning", reason: "Slow", message: "it was slow", object: "Pod/web" },
    { ...pod, causedBy: decided },
  );
  facts.add({ kind: "note", text: "a detail" }, { level: 3, origin: "timer", every: "10 s" });
  return facts.events;
}

/** The same with the command's story: the request, the choice, the start of the container, the status. */
export function toldFacts(): TraceEvent[] {
  const facts = new PageFacts();
  facts.events.push(...podFacts());
  const id = (seq: number) => seq.toString(16).padStart(16, "0");
  const upstream = { file: "pkg/scheduler/schedule_one.go", func: "schedulePod" };
  const steps = [
    { fact: id(2), text: "asks the API server to create pod web", why: "the user ran kubectl" },
    { fact: id(4), text: "chooses n1 for pod web", why: "it is the only node", topic: "scheduler", upstream },
    { fact: id(7), text: "tells the runtime to start container app" },
    { fact: id(8), text: "reports that the pod runs" },
  ];
  facts.add(
    { kind: "story", title: "pod default/web: from the request to Running", steps },
    { actor: "user", level: 4 },
  );
  return facts.events;
}
