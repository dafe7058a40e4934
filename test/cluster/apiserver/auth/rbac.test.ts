import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "vitest";
import { rulesOf } from "../../../../src/cluster/apiserver/auth/authorization/rbac-types.js";
import { ruleAllows } from "../../../../src/cluster/apiserver/auth/authorization/rule-matching.js";
import { binding, parseRule, role } from "../../../../src/cluster/apiserver/auth/policy/notation.js";
import type { KubeObject } from "../../../../src/staging/apimachinery/api/meta.js";
import { type AuthLab, attributes, startAuth, user } from "./fixtures.js";

const jane = user("jane", "devs", "system:authenticated");

describe("rules", () => {
  const table = [
    // rule                              verb      resource or path  ns   name  allowed
    ["get,list core pods", "get", "pods", "a", "", true],
    ["get,list core pods", "watch", "pods", "a", "", false],
    ["get core pods", "get", "pods.apps", "a", "", false],
    ["* * *", "anything", "things.example.com", "", "", true],
    ["* * *", "get", "/healthz", "", "", false],
    ["get core pods", "get", "pods/log", "a", "p", false],
    ["get core pods/log", "get", "pods/log", "a", "p", true],
    ["get core pods/log", "get", "pods", "a", "p", false],
    ["get core */log", "get", "pods/log", "a", "p", true],
    ["get core */log", "get", "log", "a", "p", false],
    ["get core pods/*", "get", "pods/log", "a", "p", false],
    ["get core pods =p", "get", "pods", "a", "p", true],
    ["get core pods =p", "get", "pods", "a", "q", false],
    ["list core pods =p", "list", "pods", "a", "", false],
    ["get path /healthz", "get", "/healthz", "", "", true],
    ["get path /healthz", "get", "/healthz/x", "", "", false],
    ["get path /healthz/*", "get", "/healthz/x", "", "", true],
    ["get path /healthz/*", "get", "/healthz", "", "", false],
    ["get path *", "get", "/anything", "", "", true],
    ["get path *", "post", "/anything", "", "", false],
    ["get path *", "get", "pods", "a", "", false],
  ] as const;
  for (const [line, verb, what, namespace, name, want] of table) {
    test(`"${line}" ${want ? "allows" : "does not allow"} ${verb} ${what} ${name}`, () => {
      const holder: KubeObject = { apiVersion: "", kind: "", metadata: {}, rules: [parseRule(line)] };
      const allows = rulesOf(holder).some((rule) => ruleAllows(attributes(jane, verb, what, namespace, name), rule));
      assert.equal(allows, want);
    });
  }
});

describe("roles and bindings in the store", () => {
  let lab: AuthLab;
  beforeEach(async () => {
    lab = await startAuth();
  });
  afterEach(async () => {
    await lab.auth.close();
  });
  const put = (object: KubeObject) =>
    lab.registry.put(`${object.kind.toLowerCase()}s.rbac.authorization.k8s.io`, object);
  const decide = (who: typeof jane, verb: string, what: string, namespace = "", name = "") =>
    lab.auth.authorizer.authorize(attributes(who, verb, what, namespace, name));

  test("the reason names binding, role and subject", async () => {
    put(role(["reader", "get core pods"]));
    put(role(["reader", "get core pods"], { namespace: "a" }));
    put(binding("by-user", "reader", ["User jane"]));
    put(binding("by-account", "reader", ["ServiceAccount a/robot"], { namespace: "a", roleKind: "ClusterRole" }));
    put(binding("by-group", "reader", ["Group devs"], { namespace: "a" }));
    const reason = async (who: typeof jane) => (await decide(who, "get", "pods", "a")).reason;
    const table = [
      [jane, 'RBAC: allowed by ClusterRoleBinding "by-user" of ClusterRole "reader" to User "jane"'],
      [user("bob", "devs"), 'RBAC: allowed by RoleBinding "by-group/a" of Role "reader" to Group "devs"'],
      [
        user("system:serviceaccount:a:robot"),
        'RBAC: allowed by RoleBinding "by-account/a" of ClusterRole "reader" to ServiceAccount "robot/a"',
      ],
      [user("nobody"), ""],
    ] as const;
    for (const [who, want] of table) assert.equal(await reason(who), want);
  });

  test("the cause of a refusal counts the bindings that apply to the user", async () => {
    put(binding("by-user", "view", ["User jane"]));
    const cause = async (who: typeof jane) => (await decide(who, "delete", "pods", "a")).cause;
    const node = "Node: the user is not a node";
    // Three of them are for system:authenticated.
    assert.equal(await cause(jane), `${node}; RBAC: no rule allows it in the 4 bindings of the user`);
    assert.equal(await cause(user("joe")), `${node}; RBAC: no binding applies to the user`);
  });

  test("a RoleBinding counts in its namespace only, and not for cluster-wide requests", async () => {
    put(binding("edit", "edit", ["User jane"], { namespace: "a", roleKind: "ClusterRole" }));
    const allowed = async (namespace: string) => (await decide(jane, "create", "pods", namespace)).allowed;
    assert.deepEqual([await allowed("a"), await allowed("b"), await allowed("")], [true, false, false]);
  });

  test("system:masters have all rights, without a reason for clients", async () => {
    assert.deepEqual(await decide(user("x", "system:masters"), "delete", "nodes"), {
      allowed: true,
      reason: "",
      cause: "Privileged groups: the user is in the group system:masters, which has all rights",
    });
  });

  test("a binding whose role is missing is named in the refusal", async () => {
    put(binding("dangling", "gone", ["User jane"]));
    const decision = await decide(jane, "get", "nodes");
    assert.deepEqual(decision, {
      allowed: false,
      reason: 'RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found',
      cause: 'Node: the user is not a node; RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found',
    });
  });

  test("a binding counts before its watch event has arrived", async () => {
    lab.registry.holdEvents = true;
    assert.equal((await decide(jane, "get", "nodes")).allowed, false);
    put(binding("jane", "cluster-admin", ["User jane"]));
    assert.equal((await decide(jane, "get", "nodes")).allowed, true);
    lab.registry.releaseEvents();
    assert.equal((await decide(jane, "get", "nodes")).allowed, true);
  });

  test("an event older than the view does not restore a deleted object", async () => {
    lab.registry.holdEvents = true;
    put(binding("jane", "cluster-admin", ["User jane"]));
    lab.registry.remove("clusterrolebindings.rbac.authorization.k8s.io", undefined, "jane");
    assert.equal((await decide(jane, "get", "nodes")).allowed, false);
    lab.registry.releaseEvents();
    assert.equal((await decide(jane, "get", "nodes")).allowed, false);
  });

  test("a right ends when its binding is deleted or its role loses the rule", async () => {
    put(role(["reader", "get core nodes"]));
    put(binding("jane", "reader", ["User jane"]));
    assert.equal((await decide(jane, "get", "nodes")).allowed, true);
    put(role(["reader", "get core pods"]));
    await settled(async () => !(await decide(jane, "get", "nodes")).allowed);
    assert.equal((await decide(jane, "get", "pods")).allowed, true);
    lab.registry.remove("clusterrolebindings.rbac.authorization.k8s.io", undefined, "jane");
    await settled(async () => !(await decide(jane, "get", "pods")).allowed);
  });

  test("a broken watch restarts a second later", async () => {
    const store = lab.registry.store("clusterrolebindings.rbac.authorization.k8s.io");
    put(binding("jane", "cluster-admin", ["User jane"]));
    assert.equal((await decide(jane, "get", "nodes")).allowed, true);
    await settled(async () => store.watchCount === 1);
    store.breakWatches();
    await settled(async () => store.watchCount === 0);
    lab.registry.remove("clusterrolebindings.rbac.authorization.k8s.io", undefined, "jane");
    await settled(async () => lab.clock.sleeping > 0);
    await lab.clock.advance(1_000);
    await settled(async () => !(await decide(jane, "get", "nodes")).allowed);
  });

  test("refusals without a write in between need no further lists", async () => {
    const store = lab.registry.store("clusterroles.rbac.authorization.k8s.io");
    await decide(jane, "get", "nodes");
    const before = store.listCount;
    for (let i = 0; i < 20; i++) await decide(jane, "get", "nodes", "", `n${i}`);
    assert.equal(store.listCount, before);
  });

  test("rulesFor lists cluster-wide rules, then those of the namespace, oldest binding first", async () => {
    put(role(["pods", "get core pods =p"], { namespace: "a" }));
    put(binding("jane", "pods", ["User jane"], { namespace: "a" }));
    const rules = await lab.auth.authorizer.rulesFor(jane, "a");
    assert.deepEqual(rules.resourceRules, [
      {
        verbs: ["create"],
        apiGroups: ["authorization.k8s.io"],
        resources: ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
      },
      { verbs: ["get"], apiGroups: [""], resources: ["pods"], resourceNames: ["p"] },
    ]);
    assert.equal(rules.incomplete, false);
    assert.equal((await lab.auth.authorizer.rulesFor(jane, "b")).resourceRules.length, 1);
  });

  test("a node's rules cannot be listed, and the response reports that", async () => {
    const rules = await lab.auth.authorizer.rulesFor(user("system:node:n", "system:nodes"), "a");
    assert.equal(rules.incomplete, true);
    assert.equal(rules.evaluationError, "node authorizer does not support user rule resolution");
  });
});

/** Lets pending promises run until `isTrue`; the test's timeout catches a hang. */
async function settled(isTrue: () => Promise<boolean>): Promise<void> {
  for (let turn = 0; turn < 1_000; turn++) {
    if (await isTrue()) return;
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  assert.fail("did not come true");
}
