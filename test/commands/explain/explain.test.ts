import assert from "node:assert/strict";
import { test } from "vitest";
import { findTopic } from "../../../src/commands/explain/find.js";
import { openTopics } from "../../../src/commands/explain/open-topics.js";
import { topicResult } from "../../../src/commands/explain/show.js";
import { LANGUAGES } from "../../../src/util/i18n/language.js";
import { zh } from "../../../src/util/i18n/sentences/zh.js";
import { Sentences } from "../../../src/util/i18n/sentences.js";
import { FACTS } from "../../../src/util/release/fact-table.js";
import { textWidth } from "../../../src/util/text/text-width.js";
import { runInProcess } from "../../support/run-cli.js";

const TOPICS = (await openTopics("en")).flatMap(({ topics }) => topics);

const FOUND = [
  ["CrashLoopBackOff", "CrashLoopBackOff"],
  ["crashloopbackoff", "CrashLoopBackOff"],
  ["crash", "CrashLoopBackOff"],
  ["NotReady", "NotReady"],
  ["failed", "Failed"],
  ["KubeletHasDiskPressure", "DiskPressure"],
  ["PLEG is not healthy", "PLEG is not healthy"],
  ["PLEG is not healthy: pleg was last seen active 3m12.4s ago; threshold is 3m0s", "PLEG is not healthy"],
  ["pleg", "PLEG"],
  ["Warning  BackOff  3s (x4 over 40s)  kubelet  Back-off restarting failed container", "CrashLoopBackOff"],
  ['Back-off pulling image "nginx:1.161"', "ImagePullBackOff"],
  ["0/3 nodes are available: 3 Insufficient cpu.", "FailedScheduling"],
  [
    "x509: certificate signed by unknown authority (possibly because of ...)",
    "x509: certificate signed by unknown authority",
  ],
  ["container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady", "NetworkReady"],
  ["  evented   pleg ", "evented PLEG"],
  ["GetNewerThan", "pod cache"],
  ["static-pod", "static pod"],
  ["ca-hash", "CA hash"],
  ["v1alpha2", "CRI"],
  ["log rotation", "container log"],
  ["finalizers", "finalizer"],
  ["apply", "server-side apply"],
  ["oom_score_adj", "QoS class"],
  ["what happens without the API server", "API server unreachable"],
  ...["apiserver down", "api server down", "the API server is down", "no api server"].map(
    (asked) => [asked, "API server unreachable"] as const,
  ),
  ...["api-server", "apiserver", "kube-apiserver"].map((asked) => [asked, "API server"] as const),
  ...["40s", "40 s", "50s", "node-monitor-grace-period"].map((asked) => [asked, "node-monitor-grace-period"] as const),
  ...["600", "600s", "expirationSeconds"].map((asked) => [asked, "expirationSeconds"] as const),
  ["10s", "10 s"],
  ...["300s", "5m"].map((asked) => [asked, "300 s"] as const),
  ["30s", "grace period"],
  ...["137", "exit code 137", "Exit Code:    137"].map((asked) => [asked, "exit code"] as const),
  ...["10250", "10255", "6443"].map((asked) => [asked, "ports"] as const),
  ["dial tcp 10.0.0.7:10250: connect: connection refused", "The connection to the server was refused"],
  ["dial tcp 10.0.0.7:10250: i/o timeout", "i/o timeout"],
  [
    "The connection to the server 127.0.0.1:6443 was refused - did you specify the right host or port?",
    "The connection to the server was refused",
  ],
  ["subPath", "subPath"],
  ["ConfigMap", "ConfigMap"],
  ["Secret", "Secret"],
  ["metrics", "metrics"],
  ["readiness", "probe"],
  ["CSR pending", "CSR"],
  ["NodePort", "Service"],
  ["ErrImageNeverPull", "ErrImageNeverPull"],
  ["NodeLost", "Unknown"],
  ["pause", "sandbox"],
  ["no space left on device", "DiskPressure"],
  ...["certificate has expired", "error: x509: certificate has expired or is not yet valid: current time ..."].map(
    (asked) => [asked, "x509: certificate has expired or is not yet valid"] as const,
  ),
  ...[
    "Authorization error",
    "Authorization error (user=kube-apiserver-kubelet-client, verb=get, resource=nodes, subresource=proxy)",
  ].map((asked) => [asked, "Authorization error"] as const),
  ...["Error", "error", "Reason:       Error", "web   0/1   Error   3"].map((asked) => [asked, "Error"] as const),
  ["attempt", "attempt"],
  ["Attempting to reclaim memory", "EvictionThresholdMet"],
  ["node.kubernetes.io/unreachable:NoExecute", "NodeStatusUnknown"],
  ["node.kubernetes.io/not-ready", "KubeletNotReady"],
  ["node.kubernetes.io/disk-pressure", "DiskPressure"],
  ["node.kubernetes.io/memory-pressure", "MemoryPressure"],
  ["deletionTimestamp", "Terminating"],
  ["spec.selector: Invalid value: field is immutable", "Invalid"],
  ["CrashLopBackOf", "CrashLoopBackOff"],
  ["expirationSecond5", "expirationSeconds"],
] as const;
for (const [asked, want] of FOUND) {
  test(`explain ${asked}: ${want}`, () => assert.equal(findTopic(TOPICS, asked).name, want));
}

test("explain: a guess says so, a topic that is named does not", async () => {
  const of = async (...words: string[]) => (await runInProcess(["explain", ...words])).stdout;
  assert.match(
    await of("crashlop"),
    /^There is no topic "crashlop"; this is the most similar one:\n\nCrashLoopBackOff\n/,
  );
  assert.match(await of("crashlop", "--lang", "zh"), /^没有主题 "crashlop"；这是最相近的：\n\nCrashLoopBackOff\n/);
  for (const named of ["CrashLoopBackOff", "crashloop"]) assert.match(await of(named), /^CrashLoopBackOff\n/);
});

const REFUSED = [
  ["NodeHasPressure", /no topic "NodeHasPressure": did you mean /],
  ["Image", /"Image" is the beginning of several topics: .*ImagePullBackOff/],
  ["zzzzzzzzzzzzzzzzzzzzzzz", /^there is no topic "z+"$/],
  ["", /no topic ""/],
  ["601", /^there is no topic "601"$/],
  ["x509", /beginning of several topics: .*unknown authority, .*has expired/],
  ["Error from server: etcdserver: no leader", /no topic/],
  ["the license has expired", /no topic/],
  ["seen", /no topic "seen"/],
] as const;
for (const [asked, message] of REFUSED) {
  test(`explain ${JSON.stringify(asked)}: refused`, () => {
    assert.throws(() => findTopic(TOPICS, asked), { code: "USAGE", message });
  });
}

test("explain: values come from the table of facts, for the release that is asked for", async () => {
  const of = async (...words: string[]) => (await runInProcess(["explain", "NodeStatusUnknown", ...words])).stdout;
  assert.match(await of(), /Decided by, in v1\.25:\n(.*\n)* +nodeMonitorGracePeriod +40 s +v1\.25 or before/);
  assert.match(await of(), /nodeMonitorGracePeriod +40 s +v1\.25 or before \(50 s from v1\.32\)/);
  assert.match(await of("--kube-version", "1.32"), /nodeMonitorGracePeriod +50 s +v1\.32 \(40 s before\)/);
});

test("explain: a constant that changes more than once names the change before and the next, in either language", () => {
  const topic = { name: "WatchList", text: "", upstream: "", facts: ["watchList"] } as const;
  const table: readonly (readonly ["en" | "zh", kubeVersion: string, since: string])[] = [
    ["en", "1.25", "v1.25 or before (on from v1.32)"],
    ["en", "1.32", "v1.32 (off before; off from v1.33)"],
    ["en", "1.34", "v1.34 (off before)"],
    ["zh", "1.25", "v1.25 或更早 (v1.32 起 on)"],
    ["zh", "1.32", "v1.32 (此前 off; v1.33 起 off)"],
  ];
  for (const [language, kubeVersion, since] of table) {
    const { text } = topicResult(topic, { kubeVersion, language, columns: 80 });
    assert.ok(text?.includes(`  ${since}\n`), text);
  }
  const { json } = topicResult(topic, { kubeVersion: "1.32", language: "en", columns: 80 });
  const [constant] = (json as { constants: readonly object[] }).constants;
  assert.deepEqual(constant, {
    name: "WatchList",
    value: "on",
    release: "v1.32 (off before)",
    since: "v1.32",
    before: "off",
    next: { value: "off", since: "v1.33" },
  });
});

test("explain NotReady: both grace periods, for a Ready that is False or Unknown", async () => {
  const { stdout } = await runInProcess(["explain", "NotReady"]);
  assert.match(stdout.replace(/\s+/g, " "), /Ready is False .* or Unknown .* 40 s, and 50 s from v1\.32 on/);
});

test("explain: a topic has its text, a command, its upstream file and its labs, within 80 columns", async () => {
  const { code, stdout } = await runInProcess(["explain", "PLEG", "is", "not", "healthy"]);
  assert.equal(code, 0);
  for (const line of stdout.split("\n")) assert.ok(line.length <= 80, line);
  assert.match(stdout, /^PLEG is not healthy\n {2}The kubelet's list/);
  assert.match(stdout, /See it here:\n {2}kubelab pleg/);
  assert.match(
    stdout,
    /Upstream: pkg\/kubelet\/pleg\/generic\.go\nLabs: pleg-not-healthy, pleg \(kubelab learn start pleg-not-healthy\)/,
  );
});

test("explain: Chinese by --lang or by the terminal's language, with the same constants and commands", async () => {
  const { stdout } = await runInProcess(["explain", "NotReady", "--lang", "zh"]);
  assert.match(
    stdout,
    /^NotReady\n {2}对节点来说：[\s\S]*常量决定：[\s\S]*nodeMonitorGracePeriod +40 s[\s\S]*在这里看：\n {2}kubelab lease/,
  );
  const byTerminal = await runInProcess(["explain", "NotReady"], { env: { LANG: "zh_CN.UTF-8" } });
  assert.equal(byTerminal.stdout, stdout);
  assert.match((await runInProcess(["explain", "--lang", "zh"])).stdout, /^容器：为什么等待或结束\n/);
  assert.equal((await runInProcess(["explain", "NotReady", "--lang", "fr"])).code, 2);
});

test("explain: no name and no value of a constant stays English in Chinese, unless it is code", () => {
  const say = new Sentences(zh).say;
  const catalogue: Readonly<Record<string, string>> = zh;
  const texts = Object.values(FACTS).flatMap(({ name, values }) => [name, ...values.map(({ text }) => text)]);
  const sentences = texts.filter((text) => text.includes(" ") && !/^[\d.]+ (ms|s|min|h)$/.test(text));
  assert.ok(sentences.length > 50, `found ${sentences.length}`);
  assert.deepEqual(
    sentences.filter((text) => say(text) === text && catalogue[text] !== ""),
    [],
  );
});

test("explain: CrashLoopBackOff in Chinese has its constants in Chinese", async () => {
  const { stdout } = await runInProcess(["explain", "CrashLoopBackOff", "--lang", "zh"]);
  assert.match(stdout, /backOffPeriod（容器、镜像）/);
});

/** Commands, and the path of an upstream file. */
const COPIED = /^( {2}kube(lab|ctl) |Upstream: |上游：)/;
for (const language of LANGUAGES) {
  test(`explain: in ${language}, no line but what is to be copied is wider than 80 columns`, async () => {
    for (const topic of (await openTopics(language)).flatMap(({ topics }) => topics)) {
      const { text } = topicResult(topic, { kubeVersion: "1.34", language, columns: 80 });
      for (const line of text.split("\n")) assert.ok(textWidth(line) <= 80 || COPIED.test(line), line);
    }
  });
}

test("explain: an event without a command of its own shows how to list such events", async () => {
  const { stdout } = await runInProcess(["explain", "DNSConfigForming"]);
  assert.match(stdout, /kubectl get events -A --field-selector reason=DNSConfigForming/);
});

test("explain: a command of kubectl's names the cluster that it is meant for", async () => {
  const head = async (...words: string[]) => (await runInProcess(["explain", ...words])).stdout;
  assert.match(await head("Evicted"), /See it here, in a lab or on kubelab cluster up:\n {2}kubectl /);
  assert.match(
    await head("Evicted", "--lang", "zh"),
    /在这里看（在实验中，或在 kubelab cluster up 上）：\n {2}kubectl /,
  );
  assert.match(await head("PLEG"), /See it here:\n {2}kubelab /);
});

test("explain: JSON of a topic and of the list", async () => {
  const topic = JSON.parse((await runInProcess(["explain", "Lease", "--json"])).stdout);
  assert.deepEqual([topic.name, topic.kubeVersion, topic.constants[0].value], ["Lease", "1.25", "10 s"]);
  const list = JSON.parse((await runInProcess(["explain", "--json"])).stdout) as { topics: { name: string }[] }[];
  assert.equal(list.flatMap(({ topics }) => topics).length, TOPICS.length);
});

test("explain: a kubelet's flag is a topic, also beside explain's own flags", async () => {
  for (const [flag, name] of [
    ["--register-node", "syncNodeStatus"],
    ["--max-pods", "maxPods"],
    ["-v=2", "klog"],
  ] as const) {
    const { code, stdout } = await runInProcess(["explain", flag, "--kube-version", "1.30"]);
    assert.deepEqual([code, stdout.split("\n")[0]], [0, name]);
  }
});

test("explain: the list has every topic; wrong words and releases are usage errors", async () => {
  const { stdout } = await runInProcess(["explain"]);
  for (const { name } of TOPICS) assert.ok(stdout.replace(/\s+/g, " ").includes(name), name);
  const wrong = await runInProcess(["explain", "CrashesBackOff"]);
  assert.deepEqual([wrong.code, wrong.stdout], [2, ""]);
  assert.match(wrong.stderr, /did you mean CrashLoopBackOff\?\nList them: kubelab explain/);
  assert.equal((await runInProcess(["explain", "Lease", "--kube-version", "1.19"])).code, 2);
});
