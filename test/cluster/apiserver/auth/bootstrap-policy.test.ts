import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { bootstrapPolicy } from "../../../../src/cluster/apiserver/auth/policy/bootstrap-policy.js";
import { parseRule } from "../../../../src/cluster/apiserver/auth/policy/notation.js";
import type { KubeList, KubeObject } from "../../../../src/staging/apimachinery/api/meta.js";
import { recordedAuth } from "./recorded-auth.js";

const items = recordedAuth();
const seed = bootstrapPolicy({ kubeVersion: "1.25", withKubeadmJoin: false });

function seeded(kind: string, name: string): KubeObject | undefined {
  return seed.find((object) => object.kind === kind && object.metadata.name === name);
}

/** Omits the fields that the registry sets. */
function comparable({ metadata, kind: _kind, apiVersion: _apiVersion, ...rest }: Partial<KubeObject>): unknown {
  const { name, labels, annotations } = metadata ?? {};
  return JSON.parse(JSON.stringify({ metadata: { name, labels, annotations }, ...rest }));
}

describe.skipIf(items === undefined)("the policy as recorded (skipped where the recordings are missing)", () => {
  const recordedRoles = (items ?? []).filter(({ name }) => name.startsWith("clusterrole "));

  test("eight cluster roles are compared", () => {
    assert.equal(recordedRoles.length, 8);
  });

  for (const { name, response } of recordedRoles) {
    test(`${name} has the recorded rules`, () => {
      const role = seeded("ClusterRole", name.slice("clusterrole ".length));
      assert.deepEqual(comparable(role ?? assert.fail("not seeded")), comparable(response.body as KubeObject));
    });
  }

  test("cluster role bindings, except those of controllers, are the recorded ones, sorted by name", () => {
    const list = (items ?? []).find(({ name }) => name === "clusterrolebindings")?.response.body as KubeList;
    const bindings = seed.filter(
      ({ kind, metadata }) => kind === "ClusterRoleBinding" && !metadata.name?.startsWith("system:controller:"),
    );
    const byName = (a: KubeObject, b: KubeObject) => ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1);
    assert.deepEqual(bindings.sort(byName).map(comparable), list.items.map(comparable));
  });
});

test("every binding's role is seeded, and no two objects share kind, namespace and name", () => {
  const all = bootstrapPolicy({ kubeVersion: "1.25" });
  const key = (kind: string, namespace: string | undefined, name: unknown) => `${kind} ${namespace ?? ""} ${name}`;
  const keys = new Set(all.map(({ kind, metadata }) => key(kind, metadata.namespace, metadata.name)));
  assert.equal(keys.size, all.length);
  for (const object of all) {
    const roleRef = object["roleRef"] as { kind: string; name: string } | undefined;
    if (roleRef === undefined) continue;
    const namespace = roleRef.kind === "Role" ? object.metadata.namespace : undefined;
    assert.ok(keys.has(key(roleRef.kind, namespace, roleRef.name)), `${object.metadata.name} -> ${roleRef.name}`);
  }
});

test("admin holds what edit holds, edit what view holds; view reads no secrets", () => {
  const rules = (name: string) =>
    ((seeded("ClusterRole", name) ?? assert.fail(name))["rules"] as object[]).map((rule) => JSON.stringify(rule));
  assert.deepEqual(
    rules("view").filter((rule) => !rules("edit").includes(rule)),
    [],
  );
  assert.deepEqual(
    rules("edit").filter((rule) => !rules("admin").includes(rule)),
    [],
  );
  assert.ok(!rules("view").some((rule) => rule.includes('"secrets"')));
});

test("from v1.28 on all users can create a SelfSubjectReview", () => {
  const may = (kubeVersion: string) => JSON.stringify(bootstrapPolicy({ kubeVersion })).includes("selfsubjectreviews");
  assert.deepEqual([may("1.25"), may("1.27"), may("1.28"), may("1.34")], [false, false, true, true]);
});

const lines = [
  ["get,list core pods", { verbs: ["get", "list"], apiGroups: [""], resources: ["pods"] }],
  ["* * *", { verbs: ["*"], apiGroups: ["*"], resources: ["*"] }],
  ["get path /healthz,/a/*", { verbs: ["get"], nonResourceURLs: ["/healthz", "/a/*"] }],
  [
    "sign x.io,core signers =a/b,c/d",
    { verbs: ["sign"], apiGroups: ["x.io", ""], resources: ["signers"], resourceNames: ["a/b", "c/d"] },
  ],
] as const;
for (const [line, rule] of lines) {
  test(`a rule's line: ${line}`, () => {
    assert.deepEqual(parseRule(line), rule);
  });
}
