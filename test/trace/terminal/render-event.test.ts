import assert from "node:assert/strict";
import { Chalk } from "chalk";
import { describe, test } from "vitest";
import type { Fact, TraceEvent } from "../../../src/trace/events.js";
import { factText, renderEvent } from "../../../src/trace/terminal/render-event.js";
import { TerminalSink } from "../../../src/trace/terminal/terminal-sink.js";
import { printable, wrap } from "../../../src/trace/terminal/text.js";
import { sentencesIn } from "../../../src/util/i18n/sentences.js";

const plain = { chalk: new Chalk({ level: 0 }), width: () => 80, unicode: false, verbosity: 4, startMs: 1000 } as const;
const stamp = { seq: 1, id: "7", atMs: 2234, actor: "kubelet", level: 1 } as const;

const lines: readonly (readonly [string, TraceEvent, readonly string[]])[] = [
  [
    "a step with its upstream function",
    { ...stamp, kind: "step", title: "Renew the lease", upstream: { file: "pkg/x.go", func: "sync" } },
    ["  1.234 kubelet    > Renew the lease", "                     pkg/x.go sync"],
  ],
  [
    "a step long before the others: the column of times keeps its width",
    { ...stamp, atMs: -1_233_567, kind: "step", title: "Renew the lease" },
    ["-1234.5 kubelet    > Renew the lease"],
  ],
  [
    "a request with its answer, its length and who asked",
    {
      ...stamp,
      kind: "request",
      method: "GET",
      path: "/api/v1/nodes/n1",
      server: "https://127.0.0.1:1",
      identity: "anonymous",
      status: 403,
      durationMs: 4.4,
      auditId: "x",
      outcome: "Forbidden",
    },
    ["  1.234 kubelet    - GET /api/v1/nodes/n1 -> 403 Forbidden (4 ms, as anonymous)"],
  ],
  [
    "a call to the runtime with its code, what it brought and its length",
    {
      ...stamp,
      kind: "rpc",
      service: "RuntimeService",
      method: "ListContainers",
      endpoint: "unix:///run/x.sock",
      code: "OK",
      durationMs: 1.6,
      outcome: "3 containers",
      responseBody: { containers: [] },
    },
    [
      "  1.234 kubelet    - RuntimeService/ListContainers -> OK 3 containers (2 ms)",
      '                     got {"containers":[]}',
    ],
  ],
  [
    "a decision with why, and the constant of which release",
    {
      ...stamp,
      kind: "decision",
      what: "the node is Unknown",
      why: "no heartbeat for 41 s",
      constants: [{ name: "nodeMonitorGracePeriod", value: "40 s", release: "v1.25" }],
    },
    [
      "  1.234 kubelet    * the node is Unknown",
      "                     no heartbeat for 41 s",
      "                     nodeMonitorGracePeriod = 40 s (v1.25)",
    ],
  ],
  [
    "a long upstream path loses folders from the left, never its end",
    {
      ...stamp,
      kind: "step",
      title: "Renew",
      upstream: {
        file: "staging/src/k8s.io/component-helpers/apimachinery/lease/controller.go",
        func: "retryUpdateLease",
      },
    },
    ["  1.234 kubelet    > Renew", "                     .../apimachinery/lease/controller.go retryUpdateLease"],
  ],
  [
    "a change of state",
    { ...stamp, kind: "state", subject: "node n1", what: "Ready", from: "True", to: "Unknown" },
    ["  1.234 kubelet    o node n1: Ready True -> Unknown"],
  ],
  [
    "a change of the only state there is",
    { ...stamp, kind: "state", subject: "PLEG", what: "", from: "healthy", to: "unhealthy" },
    ["  1.234 kubelet    o PLEG: healthy -> unhealthy"],
  ],
  [
    "a command that is there to be pasted stays on one line, at the margin where it does not fit",
    {
      ...stamp,
      kind: "note",
      text: `In another terminal:\n  kubectl --kubeconfig /tmp/${"x".repeat(60)} get pods\n  kubectl get csr`,
    },
    [
      "  1.234 kubelet      In another terminal:",
      `  kubectl --kubeconfig /tmp/${"x".repeat(60)} get pods`,
      "                       kubectl get csr",
    ],
  ],
  [
    "control characters of a server's text do not reach the terminal",
    { ...stamp, kind: "note", text: "a\u001b[2Jb" },
    ["  1.234 kubelet      a\\x1b[2Jb"],
  ],
];
for (const [name, event, want] of lines) {
  test(`terminal: ${name}`, () => assert.deepEqual(renderEvent(event, 0, plain), want));
}

for (const width of [40, 50, 80, 120]) {
  test(`terminal: no line is wider than ${width} columns`, () => {
    const text = `${"word ".repeat(40)}${"x".repeat(200)}`;
    for (const depth of [0, 1, 3]) {
      const event: TraceEvent = { ...stamp, kind: "decision", what: text, why: text };
      const widest = Math.max(
        ...renderEvent(event, depth, { ...plain, width: () => width }).map((line) => line.length),
      );
      assert.ok(widest <= width, `${widest} columns`);
    }
  });
}

test("terminal: colour only adds to the text", () => {
  const event: TraceEvent = { ...stamp, kind: "error", message: "no", hint: "try again" };
  const coloured = renderEvent(event, 0, { ...plain, chalk: new Chalk({ level: 1 }) }).join("\n");
  assert.ok(coloured.includes("\u001b["));
  // biome-ignore lint/suspicious/noControlCharactersInRegex: removes escape sequences
  assert.equal(coloured.replace(/\u001b\[\d+m/g, ""), renderEvent(event, 0, plain).join("\n"));
});

test("terminal: events are indented below their step; events above the verbosity are left out", () => {
  let out = "";
  const sink = new TerminalSink({ ...plain, verbosity: 1 }, { write: (text: string) => (out += text) });
  sink.write({ ...stamp, id: "7", kind: "step", title: "outer" });
  sink.write({ ...stamp, id: "8", causedBy: "7", kind: "note", text: "inner" });
  sink.write({ ...stamp, id: "9", causedBy: "7", level: 2, kind: "note", text: "quiet" });
  assert.deepEqual(out.trimEnd().split("\n"), ["  1.234 kubelet    > outer", "  1.234 kubelet        inner"]);
});

const wraps = [
  ["one two three", 8, ["one two", "three"]],
  ["averyverylongword x", 8, ["averyver", "ylongwor", "d x"]],
  ["two\nlines", 20, ["two", "lines"]],
  ["a.part-another-part-of-it", 14, ["a.part-", "another-part-", "of-it"]],
  ["see https://h/a?b=c&d=e or", 14, ["see", "https://h/a?b=c&d=e", "or"]],
  ["看 https://h/a?b=c&d=e 吧", 14, ["看", "https://h/a?b=c&d=e", "吧"]],
  ["", 20, [""]],
] as const;
for (const [text, width, want] of wraps) {
  test(`wrap ${JSON.stringify(text)} at ${width}`, () => assert.deepEqual(wrap(text, width), want));
}

describe("Chinese sentences keep together, with their punctuation; other text stays as it is", () => {
  const state = { kind: "state", subject: "Node n1", from: "Pending", to: "Running" } as const;
  const request = { kind: "request", method: "GET", path: "/x", server: "s", durationMs: 4, auditId: "a" } as const;
  const rows: readonly (readonly [fact: Fact, text: string])[] = [
    [{ ...state, what: "object" }, "Node n1：对象 Pending → Running"],
    [{ ...state, subject: "streams of /exec/a", what: "" }, "/exec/a 的流：Pending → Running"],
    [{ ...state, what: "", to: "Ready" }, "Node n1: Pending → Ready"],
    [{ kind: "decision", what: "may create pods", why: "" }, "对 pods 有 create 权限"],
    [{ ...request, status: 200, identity: "certificate n1" }, "GET /x → 200（4 ms，身份证书 n1）"],
    [
      {
        kind: "decision",
        what: "the container was running at the last relist and is exited now; exit code 137 (Error)",
        why: "",
      },
      "上次 relist 时容器是 running，现在是 exited；退出码 137（Error）",
    ],
    [{ kind: "step", title: "2 pods, 2 sandboxes, 3 containers" }, "2 个 Pod，2 个 sandbox，3 个容器"],
  ];
  test.each(rows)("%j: %s", async (fact, text) => {
    const chinese = await sentencesIn("zh");
    const options = {
      ...plain,
      unicode: true,
      say: (one: string) => chinese?.say(one).replace("object", "对象") ?? one,
    };
    assert.equal(factText({ ...stamp, ...fact }, options).text, text);
  });
});

test("printable: turns escapes and direction marks into text, keeps letters of any script", () => {
  assert.equal(printable("节点\u202e \u0007\r\n"), "节点\\x202e \\x07\\x0d\n");
});

test("terminal: bodies for a trace file are shown only at -v 4", () => {
  const event: TraceEvent = {
    ...stamp,
    kind: "request",
    method: "GET",
    path: "/x",
    server: "https://127.0.0.1:1",
    identity: "anonymous",
    status: 200,
    durationMs: 1,
    auditId: "x",
    responseBody: { a: 1 },
  };
  assert.equal(renderEvent(event, 0, { ...plain, verbosity: 3 }).length, 1);
  assert.equal(renderEvent(event, 0, plain).length, 2);
});

test("terminal: notes, events and tables name their function from -v 2 on, below the line", () => {
  const upstream = { file: "pkg/kubelet/kubelet.go", func: "BirthCry" };
  const facts = [
    { kind: "note", text: "a note", upstream },
    { kind: "event", type: "Normal", reason: "Starting", message: "m", object: "Node/n1", upstream },
    { kind: "table", title: "t", columns: ["a"], rows: [], upstream },
  ] as const;
  for (const fact of facts) {
    const at = (verbosity: 1 | 2) => renderEvent({ ...stamp, ...fact }, 0, { ...plain, verbosity });
    assert.deepEqual(at(2).slice(0, -1), at(1), fact.kind);
    assert.equal(at(2).at(-1)?.trim(), "pkg/kubelet/kubelet.go BirthCry");
  }
});

test("terminal: a line of PLEG's log has short IDs, and is whole with -v 4", () => {
  const id = "1b298c71f5ce57573852514c737c629051be15297cca93850fba8ef7e3d8a163";
  const text = `GenericPLEG podUID=17f1deed-23ae-4f87-befe-706b604b9e59 containerID="${id}" oldState=non-existent newState=running`;
  const said = (verbosity: 2 | 4) => factText({ ...stamp, kind: "note", text }, { ...plain, verbosity }).text;
  assert.equal(said(2), "GenericPLEG 17f1deed/1b298c71f5ce: non-existent -> running");
  assert.equal(said(4), text);
});

test("terminal: a word of a megabyte is cut; -v 4 shows all of it", () => {
  const text = `POST /exec?command=${"a".repeat(1_000_000)} -> 101`;
  const shown = (verbosity: 1 | 4) =>
    renderEvent({ ...stamp, kind: "note", text }, 0, { ...plain, verbosity })
      .map((line) => line.slice(21))
      .join("");
  assert.match(shown(4), /a{1000} ?-> ?101$/);
  assert.match(shown(1), /^POST ?\/exec\?command=a+\.\.\. ?\(999514 ?more ?characters\) ?-> ?101$/);
  assert.ok(shown(1).length < 600);
});
