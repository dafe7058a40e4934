import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "vitest";
import { rbacEscalationCheck } from "../../../../src/cluster/apiserver/admission/rbac-escalation.js";
import { binding, role } from "../../../../src/cluster/apiserver/auth/policy/notation.js";
import type { KubeObject } from "../../../../src/staging/apimachinery/api/meta.js";
import { StatusError } from "../../../../src/staging/apimachinery/errors.js";
import type { UserInfo } from "../../../../src/staging/server/authentication/user.js";
import { type AuthLab, startAuth, user } from "../auth/fixtures.js";

const GROUP = "rbac.authorization.k8s.io";
const jane = user("jane", "devs");
let lab: AuthLab;

beforeEach(async () => {
  lab = await startAuth();
  for (const object of [
    role(["held", "get,list core pods", "get path /a/*"]),
    role(["more", "get,watch,delete core pods", "get core secrets =s", "get path /b"]),
    binding("jane-held", "held", ["User jane"]),
  ]) {
    lab.registry.put(`${object.kind.toLowerCase()}s.${GROUP}`, object);
  }
});
afterEach(async () => {
  await lab.auth.close();
});

/** @returns `403 <message>`, or "admitted" */
async function write(who: UserInfo, object: KubeObject, oldObject?: KubeObject): Promise<string> {
  try {
    await rbacEscalationCheck(lab.auth).admit?.({
      user: who,
      operation: oldObject === undefined ? "CREATE" : "UPDATE",
      group: GROUP,
      resource: `${object.kind.toLowerCase()}s`,
      kind: object.kind,
      subresource: "",
      namespace: object.metadata.namespace ?? "",
      name: "",
      object,
      oldObject,
      dryRun: false,
      warnings: [],
    });
    return "admitted";
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return `${error.code} ${error.message}`;
  }
}

test("a user who holds every rule can grant them in any split", async () => {
  assert.equal(await write(jane, role(["r", "list core pods", "get core pods =p", "get path /a/b"])), "admitted");
  assert.equal(await write(jane, binding("b", "held", ["User bob"])), "admitted");
});

test("rules that the user does not hold are refused, and listed with their verbs merged", async () => {
  const problem =
    'user "jane" (groups=["devs"]) is attempting to grant RBAC permissions not currently held:\n' +
    '{APIGroups:[""], Resources:["pods"], Verbs:["watch" "delete"]}\n' +
    '{APIGroups:[""], Resources:["secrets"], ResourceNames:["s"], Verbs:["get"]}\n' +
    '{NonResourceURLs:["/b"], Verbs:["get"]}';
  const rules = ["get,watch,delete core pods", "get core secrets =s", "get path /b"];
  assert.equal(await write(jane, role(["r", ...rules])), `403 clusterroles.${GROUP} "r" is forbidden: ${problem}`);
  assert.equal(
    await write(jane, binding("b", "more", ["User jane"])),
    `403 clusterrolebindings.${GROUP} "b" is forbidden: ${problem}`,
  );
});

test("a name does not cover all names, nor a subresource's rule the resource", async () => {
  assert.match(await write(user("bob"), role(["r", "get core pods =p"])), /^403/);
  lab.registry.put(`clusterroles.${GROUP}`, role(["named", "get core pods =p", "get core nodes/status"]));
  lab.registry.put(`clusterrolebindings.${GROUP}`, binding("bob", "named", ["User bob"]));
  assert.equal(await write(user("bob"), role(["r", "get core pods =p", "get core nodes/status"])), "admitted");
  assert.match(await write(user("bob"), role(["r", "get core pods"])), /^403/);
  assert.match(await write(user("bob"), role(["r", "get core nodes"])), /^403/);
});

test("the verbs escalate and bind, and system:masters, lift the check", async () => {
  const powers = role(["powers", `escalate ${GROUP} clusterroles`, `bind ${GROUP} clusterroles =more`]);
  lab.registry.put(`clusterroles.${GROUP}`, powers);
  lab.registry.put(`clusterrolebindings.${GROUP}`, binding("carol", "powers", ["User carol"]));
  const carol = user("carol");
  assert.equal(await write(carol, role(["r", "* * *"])), "admitted");
  assert.equal(await write(carol, binding("b", "more", ["User bob"])), "admitted");
  assert.match(await write(carol, binding("b", "cluster-admin", ["User bob"])), /^403/);
  assert.equal(await write(user("root", "system:masters"), binding("b", "cluster-admin", [])), "admitted");
});

test("an update that changes no rule is not checked, one that adds a rule is", async () => {
  const more = role(["more", "get core secrets"]);
  const relabelled = { ...more, metadata: { ...more.metadata, labels: { a: "b" } } };
  assert.equal(await write(jane, relabelled, more), "admitted");
  assert.match(await write(jane, role(["more", "get core secrets", "get core nodes"]), more), /^403/);
});

test("only a user with all rights can set an aggregationRule", async () => {
  const aggregating = { ...role(["all"]), aggregationRule: { clusterRoleSelectors: [] } };
  assert.match(await write(jane, aggregating), /must have cluster-admin privileges to use the aggregationRule$/);
});

test("a role in a namespace is checked against the rights there", async () => {
  lab.registry.put(
    `rolebindings.${GROUP}`,
    binding("jane", "admin", ["User jane"], { namespace: "a", roleKind: "ClusterRole" }),
  );
  assert.equal(await write(jane, role(["r", "get core secrets"], { namespace: "a" })), "admitted");
  assert.match(await write(jane, role(["r", "get core secrets"], { namespace: "b" })), /^403 roles/);
});

test("a binding to a role that does not exist is not found", async () => {
  assert.match(await write(jane, binding("b", "gone", ["User bob"])), /^404 clusterrole\.rbac.* "gone" not found/);
});
