import assert from "node:assert/strict";
import { test } from "vitest";
import { inThirdPerson } from "../../../src/trace/story/own-words.js";

/** the text of a step or decision, and its sentence beside the actor */
const table = [
  ["Store the token as Secret x", "stores the token as Secret x"],
  ["Load or generate the private key", "loads or generates the private key"],
  ["do not dial 10.0.0.1", "does not dial 10.0.0.1"],
  ["patch pod web", "patches pod web"],
  ["deny it", "denies it"],
  ["store", "stores"],
  ["CSR a: sign for b/c", "signs CSR a for b/c"],
  ["node n: add a:NoExecute; pods are evicted", "adds a:NoExecute to node n; pods are evicted"],
  [
    "node n: add a:NoSchedule, remove b:NoSchedule",
    "changes the taints of node n: add a:NoSchedule, remove b:NoSchedule",
  ],
  ["pod a/b on node n: delete it in 20 s", "plans to delete pod a/b in 20 s"],
  ["pod a/b on node n: let it stay", "lets pod a/b stay on node n"],
  ["n falls silent: no more renewals", "falls silent: no more renewals"],
  ["find Pod web valid", "finds Pod web valid"],
  [
    "jane (by token; groups a, b) may not get nodes/proxy",
    "learns that jane (by token; groups a, b) may not get nodes/proxy",
  ],
  ["storage of the node", "storage of the node"],
] as const;
for (const [text, sentence] of table) {
  test(`in the third person: ${text}`, () => assert.equal(inThirdPerson(text), sentence));
}
