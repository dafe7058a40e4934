import assert from "node:assert/strict";
import { test } from "vitest";
import { zh } from "../../../src/util/i18n/sentences/zh.js";
import { Sentences, sentencesIn } from "../../../src/util/i18n/sentences.js";

const { say } = new Sentences({
  "Starting up": "启动",
  Running: "运行中",
  "delete pod {1}": "删除 Pod {1}",
  "delete pod {1} of {2}": "删除 {2} 的 Pod {1}",
  "{1} pods": "{1} 个 Pod",
  "{1} of {2}": "{2} 的 {1}",
  "{1} sack": "{1} 袋",
  "{1} containers": "{1} 个容器",
  "the set has {1} pods": "有 {1} 个",
  "{1}; before: {2} pods": "{1}；之前：{2} 个",
  "{1} waits for {2}": "{1} 在等 {2}",
  "its owner {1} is gone": "属主 {1} 已经没有了",
  "SyncLoop ADD {1}": "",
  "a node is up: {1}": "节点已启动：{1}",
});

const rows: readonly (readonly [what: string, text: string, want: string])[] = [
  ["a whole sentence", "Starting up", "启动"],
  ["a sentence with a value", "delete pod default/web", "删除 Pod default/web"],
  ["values in another order", "delete pod web of default", "删除 default 的 Pod web"],
  ["the most specific form comes first", "delete pod web of default", "删除 default 的 Pod web"],
  ["a value that is a sentence", "default/web waits for 3 pods", "default/web 在等 3 个 Pod"],
  ["a value of one word is a name", "delete pod Running", "删除 Pod Running"],
  ["sentences in a row", "Starting up; its owner web is gone", "启动；属主 web 已经没有了"],
  [
    "a list of values",
    "default/web waits for 3 pods, its owner x is gone",
    "default/web 在等 3 个 Pod，属主 x 已经没有了",
  ],
  ["a list with an unknown part stays", "3 pods, an apple", "3 pods, an apple"],
  ["lines, with their indentation", "  Starting up\n    kubectl get pods", "  启动\n    kubectl get pods"],
  ["what is to stay stays", "SyncLoop ADD default/web", "SyncLoop ADD default/web"],
  ["what is to stay stays with its values", "a node is up: SyncLoop ADD 3 pods", "节点已启动：SyncLoop ADD 3 pods"],
  [
    "a value inside a sentence does not reach over its end",
    "the set has 2 pods; before: 3 pods",
    "有 2 个；之前：3 个",
  ],
  ["a list of counts is no value", "1 sack, 3 containers", "1 袋，3 个容器"],
  ["the rest of another sentence is no value", "delete pod of the node web", "delete pod of the node web"],
  ["a short form does not take another program's sentence", "the group of the user", "the group of the user"],
  ["its later values are single words too", "x, as it is said of it, of them", "x, as it is said of it, of them"],
  ["a short form takes single words", "2 of 3", "3 的 2"],
  ["an unknown sentence stays", "no such words are here", "no such words are here"],
  ["a form without its value", "delete pod ", "delete pod "],
  ["nothing", "", ""],
];
for (const [what, text, want] of rows) test(what, () => assert.equal(say(text), want));

test("no sentence of the catalogue is taken by a shorter one", async () => {
  const chinese = await sentencesIn("zh");
  const filled = (text: string) => text.replace(/\{(\d+)\}/g, "value-$1");
  const wrong = Object.entries<string>(zh).filter(
    ([english, translation]) =>
      english.includes(" ") && chinese?.say(filled(english)) !== filled(translation || english),
  );
  assert.deepEqual(wrong, []);
});

test("a body is no sentence", () => {
  const body = `delete pod ${"x".repeat(3_000)}`;
  assert.equal(say(body), body);
});

test("a request through the API server, with its URL", async () => {
  const chinese = await sentencesIn("zh");
  const what = "ask the kubelet: POST https://localhost:1/exec/default/web/main?command=date";
  assert.equal(chinese?.say(what), "询问 kubelet：POST https://localhost:1/exec/default/web/main?command=date");
  assert.equal(chinese?.say("connection"), "连接");
});

test("English needs no catalogue", async () => {
  assert.equal(await sentencesIn("en"), undefined);
  assert.match((await sentencesIn("zh"))?.say("delete pod default/web") ?? "", /^删除/);
});
