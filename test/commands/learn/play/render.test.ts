import assert from "node:assert/strict";
import { Chalk } from "chalk";
import { describe, test } from "vitest";
import { LabRenderer } from "../../../../src/commands/learn/play/render.js";
import type { LabMessage } from "../../../../src/lab/labs/session/message.js";
import type { TraceEvent } from "../../../../src/trace/events.js";
import { sayIn } from "../../../../src/util/i18n/catalogue.js";

function lines(message: LabMessage, unicode: boolean): string[] {
  let text = "";
  const options = { chalk: new Chalk({ level: 0 }), width: () => 80, say: sayIn("en"), unicode };
  new LabRenderer(options, { write: (piece) => (text += piece) }).write(message);
  return text.trim().split("\n");
}

function rendered(message: LabMessage, unicode: boolean): string {
  return lines(message, unicode)[0] ?? "";
}

describe("marks, where a terminal shows all signs and where it shows ASCII", () => {
  const table: readonly (readonly [message: LabMessage, unicode: string, ascii: string])[] = [
    [{ kind: "verdict", ok: true, seen: "it is" }, "✓ correct: it is", "+ correct: it is"],
    [{ kind: "verdict", ok: true, seen: "" }, "✓ done", "+ done"],
    [{ kind: "verdict", ok: true, isShown: true, seen: "it is" }, "✓ kubelab did it: it is", "+ kubelab did it: it is"],
    [{ kind: "verdict", ok: true, isShown: true, seen: "" }, "✓ kubelab did it", "+ kubelab did it"],
    [{ kind: "verdict", ok: false, seen: "none", want: "one" }, "✗ not yet", "x not yet"],
    [
      { kind: "answer", given: "a", right: "a", text: "it is", expected: "it is" },
      "✓ That is what happened: it is",
      "+ That is what happened: it is",
    ],
    [
      { kind: "answer", given: "a", right: "b", text: "it is", expected: "it was" },
      "✗ You expected: it was",
      "x You expected: it was",
    ],
    [{ kind: "look", line: "0.001 user" }, "▸ 0.001 user", "> 0.001 user"],
  ];
  for (const [message, unicode, ascii] of table) {
    test(unicode, () => {
      assert.equal(rendered(message, true), unicode);
      assert.equal(rendered(message, false), ascii);
    });
  }
});

test("a wrong prediction: what happened, and why the choice is wrong", () => {
  const answer = { kind: "answer", given: "a", right: "b", text: "it is", expected: "it was" } as const;
  assert.deepEqual(lines({ ...answer, mistake: "because" }, true), [
    "✗ You expected: it was",
    "  What happened: it is",
    "    why: because",
  ]);
});

test("an incident asks about what has happened; a chapter about what comes", () => {
  const choices = [{ key: "a", text: "it is" }];
  const heading = (isIncident: boolean) => rendered({ kind: "question", choices, isIncident }, true);
  assert.deepEqual([heading(true), heading(false)], ["What do you think?", "Before it runs: what do you expect?"]);
});

describe("a command as a shell shows it", () => {
  const shown = (line: string) => lines({ kind: "running", line }, true);
  test("a long line goes on in the next one, at a space that is not quoted", () => {
    const long = `kubelab bootstrap --node birch --server https://127.0.0.1:38261 --token 'a b' -o "{.status.conditions[0]} {.x}" -v 2`;
    assert.deepEqual(shown(long), [
      "$ kubelab bootstrap --node birch --server https://127.0.0.1:38261 --token \\",
      `   'a b' -o "{.status.conditions[0]} {.x}" -v 2`,
    ]);
    for (const line of shown(long)) assert.ok(line.length <= 80, line);
  });
  test("a word that is wider than a line goes on after a comma, and a shell joins it", () => {
    const columns = ["POD:.metadata.name", "PHASE:.status.phase", "REASON:.status.reason", "NODE:.spec.nodeName"];
    const long = `kubectl get pods -o custom-columns=${columns.join(",")} -A`;
    const text = shown(long);
    assert.deepEqual(text, [
      "$ kubectl get pods -o \\",
      "   custom-columns=POD:.metadata.name,PHASE:.status.phase,REASON:.status.reason,\\",
      "NODE:.spec.nodeName \\",
      "   -A",
    ]);
    const joined = text.join("\n").replaceAll("\\\n", "").replace(/ +/g, " ");
    assert.equal(joined, `$ ${long}`);
  });
  test("a script in single quotes goes on in the next line, outside its own quotes", () => {
    const script = `sh -c 'kubectl get pod barge -o jsonpath="{.status.containerStatuses[0]} {.x}" > restarts.txt'`;
    assert.deepEqual(shown(script), [
      `$ sh -c 'kubectl get pod barge -o \\`,
      `   jsonpath="{.status.containerStatuses[0]} {.x}" > restarts.txt'`,
    ]);
    assert.deepEqual(shown(script.replace("kubectl", "# kubectl")).length, 2);
  });
  test("a short line, a here-document and one long word stay as they are", () => {
    assert.deepEqual(shown("kubectl get nodes"), ["$ kubectl get nodes"]);
    assert.deepEqual(shown("cat <<EOF\nx\nEOF\n"), ["$ cat <<EOF", "x", "EOF"]);
    assert.deepEqual(shown(`echo '${"x ".repeat(60)}'`), ["$ echo \\", `   '${"x ".repeat(60)}'`]);
  });
});

describe("the facts that decided a verdict", () => {
  const stamp = { seq: 1, id: "0", level: 1 } as const;
  const request = { kind: "request", method: "GET", server: "https://h", durationMs: 12, auditId: "a" } as const;
  const pods = `/api/v1/namespaces/${"n".repeat(20)}/pods`;
  const facts: readonly TraceEvent[] = [
    {
      ...stamp,
      ...request,
      path: `${pods}?limit=500`,
      identity: "eve (kubectl/v1)",
      status: 403,
      actor: "user",
      atMs: 0,
    },
    {
      ...stamp,
      ...request,
      path: "/livez?verbose",
      identity: "sa",
      status: 200,
      actor: "kubelet",
      instance: "n1",
      atMs: 0,
    },
    { ...stamp, kind: "decision", what: "renew \u001b[2J", why: "it is old", actor: "kubelet", atMs: 0 },
    { ...stamp, kind: "state", subject: "x".repeat(100), what: "", to: "b", actor: "apiserver", atMs: 0 },
  ];
  const evidence = { kind: "evidence", facts, afterMs: [0, 500, 2_000, 3_000], count: 4 } as const;
  const shows = [null, null, [], ["status.phase = Running"]];
  test("fit the terminal and have no control characters; those that decided say why, and what was read", () => {
    const upstream = { file: "pkg/a.go", func: "A" };
    const more = facts.map((one) => (one.kind === "decision" ? { ...one, upstream } : one));
    assert.deepEqual(lines({ ...evidence, facts: more, shows }, false), [
      "what decided it:",
      `    +0.000 s user - GET ${pods}?... -> 403`,
      "             (as eve)",
      "    +0.500 s kubelet n1 - GET /livez?verbose -> 200",
      "    +2.000 s kubelet * renew \\x1b[2J",
      "               it is old",
      "    +3.000 s apiserver o",
      `             ${"x".repeat(67)}`,
      `             ${"x".repeat(33)}: b`,
      "               status.phase = Running",
    ]);
    const sent = { ...evidence, shows } as const;
    assert.deepEqual(lines(JSON.parse(JSON.stringify(sent)), false), lines(sent, false), "of a lab in the background");
    assert.ok(
      !lines({ ...evidence, shows: [] }, false)
        .join("\n")
        .includes("it is old"),
      "it only led to what decided",
    );
  });
  test("a state is a table", () => {
    const columns = ["node", "mirrorPods"];
    assert.deepEqual(lines({ kind: "table", title: "pods", columns, rows: [["n1", "2"]] }, true), [
      "pods",
      "  NODE  MIRRORPODS",
      "  n1    2",
    ]);
  });
  test("what a step has caused is not called what decided", () => {
    assert.match(lines({ ...evidence, shows, isOfStep: true }, true)[0] ?? "", /^what the commands/);
  });
  test("if some are left out, their number is named", () => {
    assert.equal(lines({ ...evidence, shows, count: 20 }, true)[0], "what decided it, 4 of 20 facts:");
  });
});

test("a lab whose time runs faster says how to read ages", () => {
  const lab = { kind: "lab", id: "a", number: "1", title: "T", summary: "S", minutes: 5 } as const;
  assert.ok(
    !lines({ ...lab, speed: 1 }, true)
      .join(" ")
      .includes("ages"),
  );
  assert.match(lines({ ...lab, speed: 10 }, true).join(" "), /Time runs 10x .*\bages\b/);
});

test("the lines of a here-document have no prompt: they can be copied", () => {
  const message: LabMessage = { kind: "running", line: "kubectl apply -f - <<EOF\nkind: Pod\nEOF" };
  assert.deepEqual(lines(message, true), ["$ kubectl apply -f - <<EOF", "kind: Pod", "EOF"]);
});

test("its first line goes on in the next one when it is too long", () => {
  const line = `kubectl create --raw /api/v1/namespaces/default/pods/${"orphan".repeat(3)}/binding -f - <<EOF\nkind: Pod\nEOF`;
  const path = `/api/v1/namespaces/default/pods/${"orphan".repeat(3)}/binding`;
  const want = ["$ kubectl create --raw \\", `   ${path} -f - <<EOF`, "kind: Pod", "EOF"];
  assert.deepEqual(lines({ kind: "running", line }, true), want);
});

test("the text after a verdict stands apart from it, the text of a step follows its title", () => {
  let text = "";
  const options = { chalk: new Chalk({ level: 0 }), width: () => 80, say: sayIn("en"), unicode: true };
  const renderer = new LabRenderer(options, { write: (piece) => (text += piece) });
  renderer.write({ kind: "step", id: "a", type: "read", title: "A", index: 1, count: 2 });
  renderer.write({ kind: "text", markdown: "Do it." });
  renderer.write({ kind: "verdict", ok: true, seen: "`key.txt` has it" });
  renderer.write({ kind: "text", markdown: "This is why." });
  assert.equal(text.trim(), "Step 1 of 2: A\n\nDo it.\n\n✓ correct: key.txt has it\n\nThis is why.");
});

test("a failed check is one line when its reason stays the same, until the reason or the step changes", () => {
  let text = "";
  const options = { chalk: new Chalk({ level: 0 }), width: () => 80, say: sayIn("en"), unicode: true };
  const renderer = new LabRenderer(options, { write: (piece) => (text += piece) });
  const take = (message: LabMessage) => {
    text = "";
    renderer.write(message);
    return text;
  };
  const failed = (seen: string) => take({ kind: "verdict", ok: false, seen, want: "one", mistake: "why not" });
  const whole = "\n✗ not yet\n    now: none\n    why: why not\n    goal: one\n";
  const again = "✗ still not yet, for the same reason\n";
  assert.deepEqual([failed("none"), failed("none"), failed("none")], [whole, again, again]);
  assert.match(failed("two"), /now: two/);
  take({ kind: "step", id: "b", type: "check", title: "B", index: 2, count: 2 });
  assert.match(failed("two"), /now: two/);
});

test("facts use the whole width of a wide terminal", () => {
  const path = `/api/v1/${"n".repeat(90)}`;
  const request = {
    kind: "request",
    method: "GET",
    path,
    server: "https://h",
    identity: "i",
    status: 200,
    durationMs: 1,
    auditId: "a",
  };
  const fact = { ...request, id: "1", atMs: 0, level: 1, actor: "user" } as unknown as TraceEvent;
  let text = "";
  const options = { chalk: new Chalk({ level: 0 }), width: () => 160, say: sayIn("en"), unicode: true };
  new LabRenderer(options, { write: (piece) => (text += piece) }).write({
    kind: "evidence",
    facts: [fact],
    afterMs: [0],
    shows: [null],
    count: 1,
  });
  assert.ok(text.includes(path), text);
});

test("code in the answer to a question is coloured like that of a text", () => {
  let text = "";
  const options = { chalk: new Chalk({ level: 1 }), width: () => 80, say: sayIn("en"), unicode: true };
  const renderer = new LabRenderer(options, { write: (piece) => (text += piece) });
  renderer.write({ kind: "answer", given: "a", right: "a", text: "`urgent` runs", expected: "" });
  assert.ok(text.includes("urgent") && !text.includes("`"), text);
});
