import { expect, test } from "vitest";
import { explainRights } from "../../../src/staging/cluster-bootstrap/admin.js";
import { FakeClock, START_MS } from "../../support/fake-clock.js";
import { status } from "../../support/https-server.js";
import { MemoryClient } from "../../support/memory-client.js";
import { recordingTrace } from "../../support/trace.js";

const group = (name: string) => ({ kind: "Group", name });
const binding = (name: string, role: string, ...groups: readonly string[]) => {
  return { metadata: { name }, roleRef: { name: role }, subjects: groups.map(group) };
};

const ROLES: Readonly<Record<string, { readonly status: number; readonly body: unknown }>> = {
  bootstrapper: { status: 200, body: { rules: [{ verbs: ["create"], resources: ["csrs"] }] } },
  empty: { status: 200, body: { rules: null } },
  hidden: { status: 403, body: status(403, "Forbidden", "may not") },
};

test("the rights of a token: what each role says, for the groups that its binding names", async () => {
  const items = [
    binding("one", "bootstrapper", "g1"),
    binding("two", "empty", "g2", "g1"),
    binding("three", "hidden", "g2"),
    binding("other", "bootstrapper", "g3"),
  ];
  const client = new MemoryClient(({ path }) => {
    if (path.endsWith("clusterrolebindings")) return { status: 200, body: { items } };
    return ROLES[path.split("/").at(-1) ?? ""] ?? { status: 404 };
  });
  const { trace, events } = recordingTrace(new FakeClock());
  await explainRights({ client, trace, nowMs: START_MS }, ["g1", "g2"]);
  const decisions = events.flatMap((event) => (event.kind === "decision" ? [`${event.what} | ${event.why}`] : []));
  expect(decisions).toEqual([
    "may create csrs | ClusterRoleBinding one gives ClusterRole bootstrapper to g1",
    "nothing: ClusterRole empty has no rules | ClusterRoleBinding two gives ClusterRole empty to g1, g2",
    "unknown: ClusterRole hidden cannot be read: may not | ClusterRoleBinding three gives ClusterRole hidden to g2",
  ]);
});
