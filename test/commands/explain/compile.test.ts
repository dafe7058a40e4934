import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "vitest";
import { compileTopics } from "../../../src/commands/explain/compile.js";
import { compileLabs } from "../../../src/lab/labs/format/compile.js";

const FIRST = `title:
  en: "Nodes: a test"
  zh: 节点
topics:
  NotReady:
    also: [Kubelet stopped posting]
    en: >-
      The kubelet is late. Look at
      its Lease: {explain node lease}.
    zh: >-
      kubelet 来晚了。
      看它的 Lease：{explain node lease}。
    facts: [nodeMonitorGracePeriod]
    see:
      - kubelab lease
    upstream: pkg/kubelet/kubelet.go
    labs: [heartbeats]
`;
const SECOND = `title: { en: Words, zh: 词 }
topics:
  node lease:
    en: An object.
    zh: 一个对象。
    upstream: pkg/kubelet/kubelet.go
`;

/** Compiles two files, one of which is changed. */
async function compiled(first = FIRST, second = SECOND) {
  const folder = mkdtempSync(join(tmpdir(), "kubelab-topics-"));
  writeFileSync(join(folder, "02-words.yaml"), second);
  writeFileSync(join(folder, "01-nodes.yaml"), first);
  return compileTopics(folder, { labs: ["heartbeats"] });
}

test("the topics of kubelab have no mistakes", async () => {
  const labs = (await compileLabs("labs")).flatMap(({ names }) => names.id?.value ?? []);
  assert.deepEqual((await compileTopics("topics", { labs })).problems, []);
});

test("files give the groups in order; lines are joined, in Chinese without spaces; a link is text", async () => {
  const { groups, problems } = await compiled();
  assert.deepEqual(problems, []);
  assert.deepEqual(
    groups.zh.map(({ title }) => title),
    ["节点", "词"],
  );
  const common = {
    name: "NotReady",
    also: ["Kubelet stopped posting"],
    facts: ["nodeMonitorGracePeriod"],
    see: ["kubelab lease"],
    upstream: "pkg/kubelet/kubelet.go",
    labs: ["heartbeats"],
  };
  const en = "The kubelet is late. Look at its Lease: explain node lease.";
  assert.deepEqual(groups.en[0]?.topics, [{ ...common, text: en }]);
  const zh = "kubelet 来晚了。看它的 Lease：explain node lease。";
  assert.deepEqual(groups.zh[0]?.topics, [{ ...common, text: zh }]);
});

describe("a mistake is found, with its line", () => {
  const table: readonly (readonly [from: string, to: string, message: RegExp, line: number])[] = [
    ["    labs:", "    colour: red\n    labs:", /^topics\.NotReady: .*colour/, 17],
    ["    facts:", "    fact:", /^topics\.NotReady: .*fact/, 13],
    ["  zh: 节点\n", "", /^title\.zh: /, 1],
    [FIRST.slice(FIRST.indexOf("    zh: >-"), FIRST.indexOf("    facts")), "", /^topics\.NotReady\.zh: /, 5],
    ["      kubelet 来晚了。\n      看它的 Lease：", "      Lease: ", /zh: expected Chinese/, 10],
    ["lease}。", "lease}", /zh: expected sentences that end with 。/, 10],
    ["lease}.\n", "lease}\n", /en: expected sentences that end with a full stop/, 7],
    ["The kubelet is late.", "A. B. C. The kubelet is late.", /en: expected 4 sentences at most/, 7],
    ["GracePeriod]", "GracePeriods]", /facts\.0: .*GracePeriods: did you mean nodeMonitorGracePeriod\?/, 13],
    ["[heartbeats]", "[heartbeat]", /labs\.0: there is no lab heartbeat: did you mean heartbeats\?/, 17],
    ["kubelab lease", "kubeadm join", /see\.0: expected a command of kubelab or kubectl/, 15],
    ["pkg/kubelet/kubelet.go", "kubelet.go", /upstream: expected a file of Kubernetes/, 16],
    ["[Kubelet stopped", "[600, Kubelet stopped", /also\.0: .*string/, 6],
    ["  NotReady:", '  "600":', /a name is not a number alone/, 5],
    ["{explain node lease}.", "{explain node leases}.", /NotReady\.en: .* node leases: did you mean node lease\?/, 7],
    ["{explain node lease}。", "{see node lease}。", /NotReady\.zh: expected a link \{explain TOPIC\}/, 10],
    ["    en: >-", "    en: [", /./, 8],
  ];
  for (const [from, to, message, line] of table) {
    test(`${JSON.stringify(to)} for ${JSON.stringify(from.slice(0, 40))}`, async () => {
      assert.ok(FIRST.includes(from));
      const { problems } = await compiled(FIRST.replace(from, to));
      const found = problems.find((one) => one.file.endsWith("01-nodes.yaml") && message.test(one.message));
      assert.equal(found?.line, line, JSON.stringify(problems, undefined, 1));
    });
  }

  test("a name that two topics have, in any case", async () => {
    const also = SECOND.replace("    en:", "    also: [word, notready]\n    en:");
    const [problem] = (await compiled(FIRST, also)).problems;
    assert.match(problem?.file ?? "", /02-words\.yaml$/);
    assert.deepEqual([problem?.line, problem?.message], [4, "the topic NotReady has notready too"]);
  });

  test("all mistakes are told, not only the first", async () => {
    const { problems } = await compiled(FIRST.replace("[heartbeats]", "[none]"), SECOND.replace("An object.", "x"));
    assert.deepEqual(
      problems.map(({ line }) => line),
      [17, 4],
    );
  });
});
