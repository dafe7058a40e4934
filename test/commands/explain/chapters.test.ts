import assert from "node:assert/strict";
import { test } from "vitest";
import { chapterList, sourceResult } from "../../../src/commands/explain/chapters.js";

const SOURCES = {
  "src/kubelet/pleg/generic.ts":
    "/** Mirrors pkg/kubelet/pleg/generic.go (GenericPLEG). */\nexport const generic = 1;\n/** Lists.\n *\n * Mirrors Relist. */\n",
  "src/kubelet/pleg/events.ts": "/** Mirrors generateEvents in pkg/kubelet/pleg/generic.go. */\n",
  "src/kubelet/kubelet.ts": "// the kubelet\n",
  "src/cluster/scheduler/scheduler.ts": "/** Mirrors pkg/scheduler/scheduler.go. */\n",
  "src/util/clock.ts": "// time\nexport function stop(): void {\n",
  "src/commands/cluster/up.ts": "// up\n",
};

const names: readonly (readonly [name: string, paths: readonly string[]])[] = [
  ["pleg", ["src/kubelet/pleg/generic.ts", "src/kubelet/pleg/events.ts"]],
  ["pleg/", ["src/kubelet/pleg/generic.ts", "src/kubelet/pleg/events.ts"]],
  ["pleg/generic", ["src/kubelet/pleg/generic.ts"]],
  ["src/kubelet/pleg/events.ts", ["src/kubelet/pleg/events.ts"]],
  ["./src/util/clock.ts", ["src/util/clock.ts"]],
  ["kubelet", ["src/kubelet/kubelet.ts"]],
  ["pkg/kubelet/pleg/generic.go", ["src/kubelet/pleg/generic.ts", "src/kubelet/pleg/events.ts"]],
  ["generic.go", ["src/kubelet/pleg/generic.ts", "src/kubelet/pleg/events.ts"]],
  ["pkg/scheduler/scheduler", ["src/cluster/scheduler/scheduler.ts"]],
  ["clock", ["src/util/clock.ts"]],
  ["Stop", ["src/util/clock.ts"]],
  ["Relist", ["src/kubelet/pleg/generic.ts"]],
  ["relist", ["src/kubelet/pleg/generic.ts"]],
  ["g.generateEvents()", ["src/kubelet/pleg/events.ts"]],
];

for (const [name, paths] of names) {
  test(`source ${name}: ${paths.join(" ")}`, () => {
    const { json } = sourceResult(SOURCES, name);
    assert.deepEqual(
      (json as { readonly path: string }[]).map(({ path }) => path),
      paths,
    );
  });
}

test("one file is printed as it is, several with their paths", () => {
  assert.equal(sourceResult(SOURCES, "clock").text, "// time\nexport function stop(): void {");
  assert.match(sourceResult(SOURCES, "pleg").text, /^\/\/ ==== src\/kubelet\/pleg\/generic\.ts ====\n\n\/\*\* Mirrors/);
});

const CLASS = [
  "import x from 'x';",
  "",
  "/** A store. Mirrors staging/src/k8s.io/apiserver/pkg/storage/etcd3/store.go. */",
  "export class Store {",
  "  readonly a = 1;",
  "",
  "  /**",
  "   * Writes.",
  "   * Mirrors GuaranteedUpdate in staging/src/k8s.io/apiserver/pkg/storage/etcd3/store.go.",
  "   */",
  "  update(",
  "    a: number,",
  "  ): void {",
  "    a += 1;",
  "",
  "    a += 2;",
  "  }",
  "",
  "  /** Reads. */",
  "  read(): void {}",
  "}",
  "",
  "export function stop(): void {",
  "  return;",
  "}",
  "",
].join("\n");
const PLACES = [
  ["GuaranteedUpdate", 7, 17],
  ["stop", 23, 25],
] as const;
test.each(PLACES)("source %s: only the function, with its place", (name, from, to) => {
  const text = `${CLASS.split("\n")
    .slice(from - 1, to)
    .join("\n")}\n`;
  const shown = sourceResult({ "src/store.ts": CLASS }, name);
  assert.deepEqual(shown.json, [{ path: "src/store.ts", line: from, text }]);
  assert.equal(shown.text, `// ==== src/store.ts:${from} ====\n\n${text}`.trimEnd());
});

test("an unknown function gets the nearest one that is mirrored", () => {
  const hint = "Did you mean GuaranteedUpdate?";
  assert.throws(() => sourceResult({ "src/store.ts": CLASS }, "GuaranteedUpdte"), { code: "USAGE", hint });
});

for (const [name, message, hint] of [
  ["plag", 'there is no source named "plag"', "Did you mean pleg?"],
  ["../../etc/passwd", 'there is no source named "../../etc/passwd"', "List the chapters: kubelab source"],
  ["__proto__", 'there is no source named "__proto__"', "List the chapters: kubelab source"],
  ["cluster", undefined, undefined],
] as const) {
  test(`source ${name}: ${message ?? "the folder"}`, () => {
    if (message !== undefined) assert.throws(() => sourceResult(SOURCES, name), { code: "USAGE", message, hint });
    else
      assert.deepEqual(sourceResult(SOURCES, name).json, [
        { path: "src/cluster/scheduler/scheduler.ts", text: SOURCES["src/cluster/scheduler/scheduler.ts"] },
      ]);
  });
}

test("the list has each chapter with its lines and the upstream file that it mirrors", () => {
  assert.equal(chapterList(SOURCES).text, "kubelet  1 line\npleg     6 lines      pkg/kubelet/pleg/generic.go");
});
