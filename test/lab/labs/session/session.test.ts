import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "vitest";
import { LabBroken } from "../../../../src/lab/labs/session/actions.js";
import type { LabMessage } from "../../../../src/lab/labs/session/message.js";
import { LabSession } from "../../../../src/lab/labs/session/session.js";
import { Trace } from "../../../../src/trace/trace.js";
import { MemoryPlace } from "../../../support/memory-place.js";
import { TINY_EN, TINY_YAML, TINY_ZH, tinyLab } from "../../../support/tiny-lab.js";

const signal = new AbortController().signal;

async function begin(
  options: {
    done?: readonly string[];
    yaml?: string;
    language?: "en" | "zh";
    texts?: Parameters<typeof tinyLab>[1];
  } = {},
) {
  const environment = new MemoryPlace();
  const messages: LabMessage[] = [];
  const session = new LabSession(await tinyLab(options.yaml ?? TINY_YAML, options.texts), environment, {
    language: options.language ?? "en",
    seed: 1,
    done: options.done ?? [],
    emit: (message) => void messages.push(message),
  });
  await session.begin(signal);
  const take = () => messages.splice(0);
  const kinds = () => take().map(({ kind }) => kind);
  return { environment, session, take, kinds };
}

test("a walk through a lab tells each thing in its order", async () => {
  const { session, kinds, take } = await begin();
  assert.deepEqual(kinds(), ["lab", "text"]);
  session.present();
  assert.deepEqual(kinds(), ["step", "text"]);
  assert.equal(await session.perform(undefined, signal), true);
  assert.deepEqual(kinds(), ["done"]);
  session.present();
  assert.deepEqual(kinds(), ["step", "text", "command"]);
  await session.perform(undefined, signal);
  assert.deepEqual(kinds(), ["running", "output", "exit", "verdict", "text", "done"]);
  await session.perform(undefined, signal);
  assert.deepEqual(take().slice(0, 2), [
    { kind: "look", line: "joined draco" },
    { kind: "upstream", path: "pkg/kubelet/kubelet.go syncLoop" },
  ]);
  session.present();
  assert.deepEqual(kinds(), ["step", "text", "question"]);
  assert.equal(await session.perform("stays", signal), true);
  const answer = take().find(({ kind }) => kind === "answer");
  assert.deepEqual(answer, { kind: "answer", given: "stays", right: "goes", text: "it goes", expected: "it stays" });
  assert.equal(await session.solve(signal), true);
  assert.equal(await session.perform(undefined, signal), true);
  assert.equal(take().at(-1)?.kind, "finished");
  assert.equal(session.step, undefined);
  assert.equal(await session.perform(undefined, signal), false);
});

test("texts and definitions name the release that the lab runs with", async () => {
  const yaml = TINY_YAML.replace("run: kubelab lab begin", "run: kubelab lab v{{kubeVersion}}");
  const texts = { "en.md": TINY_EN.replace("There is nothing yet.", "It is v{{kubeVersion}}.") };
  const { session, environment } = await begin({ yaml, texts });
  assert.equal(session.stepText.body, "It is v1.30.");
  assert.deepEqual(environment.lines.slice(0, 1), ["kubelab lab v1.30"]);
});

test("another language from the next message on: step, choices and hints; in each language for other terminals", async () => {
  const { session, take } = await begin({ done: ["look", "join", "lines"] });
  take();
  session.present();
  const english = take();
  await session.speak("zh");
  session.present();
  const chinese = take();
  assert.deepEqual(
    [english, chinese].map(([step]) => step?.kind === "step" && step.title),
    [session.presentedIn("en"), session.presentedIn("zh")].map(([step]) => step?.kind === "step" && step.title),
  );
  assert.deepEqual(chinese, session.presentedIn("zh"));
  assert.notDeepEqual(english, chinese);
  assert.match(JSON.stringify(session.choices()), /\p{Script=Han}/u);
});

describe("what a step needs before it is done", () => {
  test("a prediction without an answer: nothing is run", async () => {
    const { session, environment, take } = await begin({ done: ["look", "join", "lines"] });
    const before = environment.lines.length;
    assert.equal(await session.perform(undefined, signal), false);
    assert.deepEqual(take().at(-1), { kind: "needs-answer", choices: ["stays", "goes"] });
    assert.equal(environment.lines.length, before);
  });
  const WRONG: readonly (readonly [done: readonly string[], given: string, message: RegExp, hint: RegExp])[] = [
    [["look", "join", "lines"], "burns", /^burns is not a choice of step guess$/, /stays, goes/],
    [["look", "join", "lines"], "stay", /^stay is not a choice of step guess; did you mean stays\?$/, /stays, goes/],
    [[], "stays", /^step look asks no question; stays is not needed$/, /text to read.*kubelab learn next/],
    [["look"], "stays", /^step join asks no question/, /runs a command.*kubelab learn next/],
    [["look", "join"], "stays", /^step lines asks no question/, /lines to look at.*kubelab learn next/],
    [["look", "join", "lines", "guess"], "stays", /^step back asks no question/, /what you have done.*learn check/],
  ];
  for (const [done, given, message, hint] of WRONG) {
    test(`${given} as the answer after ${done.length} steps: nothing is run, and what is expected is said`, async () => {
      const { session, environment } = await begin({ done });
      const before = environment.lines.length;
      await assert.rejects(session.perform(given, signal), { code: "USAGE", message, hint });
      assert.equal(environment.lines.length, before);
      assert.equal(session.step?.id, ["look", "join", "lines", "guess", "back"][done.length]);
    });
  }
  test("the author's sentence for the goal is the verdict, instead of a command and its exit code", async () => {
    const yaml = TINY_YAML.replace(
      'check: { object: "/api/v1/nodes/{{node}}", within: 60s }',
      "check: { command: kubelab look }",
    );
    const done = ["look", "join", "lines", "guess"];
    const { session, take } = await begin({ yaml, done });
    take();
    await session.look(signal);
    const raw = "wants `kubelab look` to end with exit code 0, sees `kubelab look` ended with exit code 127";
    assert.deepEqual(take(), [{ kind: "verdict", ok: false, seen: "", want: "draco is back", raw }]);
  });

  test("a wrong choice: its author says why; a right one needs no reason", async () => {
    const texts = {
      "en.md": TINY_EN.replace(
        "- goes: it goes\n",
        "- goes: it goes\n\n### mistakes\n- stays: {{node}} was deleted.\n",
      ),
      "zh.md": TINY_ZH.replace("- goes: 离开\n", "- goes: 离开\n\n### mistakes\n- stays: {{node}} 被删除。\n"),
    };
    for (const [given, mistake] of [
      ["stays", "draco was deleted."],
      ["goes", undefined],
    ] as const) {
      const { session, take } = await begin({ texts, done: ["look", "join", "lines"] });
      await session.perform(given, signal);
      const answer = take().find(({ kind }) => kind === "answer");
      assert.equal(answer?.kind === "answer" ? answer.mistake : assert.fail(), mistake, given);
    }
  });

  test("a wrong answer that the author foresaw: the verdict says why it is wrong", async () => {
    const yaml = TINY_YAML.replace(
      'check: { object: "/api/v1/nodes/{{node}}", within: 60s }',
      'check: { file: answer.txt, matches: "^3$" }\n    mistakes: { sum: "6 ?s?", name: "{{node}}" }',
    );
    const sentences = "\n\n### mistakes\n- sum: That is all three.\n- name: {{node}} is a name.\n";
    const texts = {
      "en.md": TINY_EN.replace("{{node}} is back\n", `{{node}} is back${sentences}`),
      "zh.md": TINY_ZH.replace(/(### goal\n.*)\n/, `$1${sentences}`),
    };
    const { session, take, environment } = await begin({ yaml, texts, done: ["look", "join", "lines", "guess"] });
    const answers: readonly (readonly [string, string | undefined])[] = [
      ["6 S\n", "That is all three."],
      ["draco", "draco is a name."],
      ["16", undefined],
      ["", undefined],
      ["3", undefined],
    ];
    for (const [answer, mistake] of answers) {
      writeFileSync(join(environment.folder, "answer.txt"), answer);
      take();
      await session.ask(false, signal);
      const verdict = take().find(({ kind }) => kind === "verdict");
      assert.equal(verdict?.kind === "verdict" ? verdict.mistake : assert.fail(), mistake, answer);
    }
  });

  test("an answer of several words: either a remark that only the answer belongs in the file, or why it is wrong", async () => {
    const yaml = TINY_YAML.replace(
      'check: { object: "/api/v1/nodes/{{node}}", within: 60s }',
      'check: { command: kubelab look, answer: answer.txt }\n    mistakes: { sum: "1 2 3" }',
    );
    const sentences = "\n\n### mistakes\n- sum: That is all three.\n";
    const texts = {
      "en.md": TINY_EN.replace("{{node}} is back\n", `{{node}} is back${sentences}`),
      "zh.md": TINY_ZH.replace(/(### goal\n.*)\n/, `$1${sentences}`),
    };
    const { session, take, environment } = await begin({ yaml, texts, done: ["look", "join", "lines", "guess"] });
    for (const [answer, seen] of [
      ["1 2 3", "answer.txt says: 1 2 3"],
      ["1 2 4", "answer.txt says: 1 2 4 (only the answer itself belongs in the file)"],
    ] as const) {
      writeFileSync(join(environment.folder, "answer.txt"), answer);
      take();
      await session.ask(false, signal);
      const verdict = take().find(({ kind }) => kind === "verdict");
      assert.equal(verdict?.kind === "verdict" ? verdict.seen : assert.fail(), seen);
    }
  });

  test("without such a sentence, a learner reads no exit code and no pattern", async () => {
    const yaml = TINY_YAML.replace(
      '    expect: { object: "/api/v1/nodes/{{node}}" }',
      '    expect: { output: join, matches: "left \\\\w+" }',
    );
    const { session, take } = await begin({ yaml, done: ["look"] });
    take();
    await session.perform(undefined, signal);
    const verdict = take().at(-1);
    assert.deepEqual(verdict?.kind === "verdict" && [verdict.seen, verdict.want], ["", "what the step describes"]);
    const plain = TINY_YAML.replace('    expect: { object: "/api/v1/nodes/{{node}}" }\n', "");
    const other = await begin({ yaml: plain, done: ["look"] });
    await other.session.perform(undefined, signal);
    const done = other.take().find(({ kind }) => kind === "verdict");
    assert.deepEqual(done, { kind: "verdict", ok: true, seen: "" });
  });

  test("what a check has read stands for facts, if there are none", async () => {
    const { session, take } = await begin({ done: ["look", "join", "lines"] });
    take();
    await session.perform("goes", signal);
    const look = take().find(({ kind }) => kind === "look");
    assert.deepEqual(look, { kind: "look", line: "node draco does not exist" });
  });

  test("a line to look at that is missing is told, and holds nobody up", async () => {
    const yaml = TINY_YAML.replace("joined \\\\w+", "left \\\\w+");
    const { session, take } = await begin({ yaml, done: ["look", "join"] });
    take();
    assert.equal(await session.perform(undefined, signal), true);
    assert.deepEqual(take()[0], { kind: "look", line: "left \\w+", isMissing: true });
    assert.equal(session.step?.id, "guess");
  });

  test("ages that kubectl cannot count are explained, once", async () => {
    const { session, environment, take } = await begin({ done: ["look"] });
    const run = environment.run.bind(environment);
    environment.run = async (line, onOutput, stop) => {
      onOutput?.("stdout", "Normal <invalid>\nNormal <invalid>\n");
      return run(line, onOutput, stop);
    };
    take();
    await session.perform(undefined, signal);
    const texts = take().flatMap((one) => (one.kind === "text" ? [one.markdown] : []));
    assert.equal(texts.filter((text) => /clock is ahead/.test(text)).length, 1);
  });

  test("a check that waits says what it waits for, then what it saw", async () => {
    const { session, kinds } = await begin({ done: ["look", "join", "lines", "guess"] });
    kinds();
    assert.equal(await session.perform(undefined, signal), false);
    const told = kinds();
    assert.equal(told[0], "waiting");
    assert.equal(told.at(-1), "verdict");
    assert.equal(session.step?.id, "back");
  });
  test("a check that is looked at says at once what it saw, and how long it may take", async () => {
    const { session, environment, take } = await begin({ done: ["look", "join", "lines", "guess"] });
    take();
    const startMs = environment.clock.now();
    assert.equal(await session.ask(false, signal), false);
    assert.equal(await session.look(signal), false);
    assert.deepEqual(
      take().map(({ kind }) => kind),
      ["verdict", "verdict"],
    );
    assert.deepEqual([environment.clock.now() - startMs, session.mayTakeMs, session.isLookedAt], [0, 60_000, true]);
    assert.equal(await session.ask(true, signal), false);
    assert.equal(environment.clock.now() - startMs, 60_000);
  });
  test("a wait that nobody wants to wait for: what was seen last counts", async () => {
    const environment = new MemoryPlace();
    const startMs = environment.clock.now();
    const session: LabSession = new LabSession(await tinyLab(), environment, {
      language: "en",
      seed: 1,
      done: ["look", "join", "lines", "guess"],
      emit: (message) => {
        if (message.kind === "waiting" && message.leftMs <= 59_000) session.stopWaiting();
      },
    });
    assert.equal(await session.ask(true, signal), false);
    assert.equal(environment.clock.now() - startMs, 1050);
    // The next wait is another one.
    environment.objects.set("/api/v1/nodes/draco", { metadata: { name: "draco" } });
    assert.equal(await session.perform(undefined, signal), true);
  });
  test("a wait of the lab's own, at its beginning and in a step: it is told, and that it is over", async () => {
    const yaml = TINY_YAML.replace("begin:", "  - inject: time-passes\n    with: { minutes: 0.5 }\nbegin:").replace(
      "delete node {{node}}",
      'delete node {{node}}\n      - wait: { object: "/api/v1/nodes/{{node}}", exists: false, within: 60s }\n      - inject: time-passes\n        with: { minutes: 2 }',
    );
    const { session, take } = await begin({ yaml, done: ["look", "join", "lines"] });
    const setup = take().filter(({ kind }) => kind !== "lab" && kind !== "text");
    assert.deepEqual(setup[0], { kind: "waiting", want: "time to pass", seen: "", leftMs: 30_000, mayStop: false });
    assert.deepEqual(setup.at(-1), { kind: "waited" });
    await session.perform("goes", signal);
    const told = take();
    const first = told.find(({ kind }) => kind === "waiting");
    assert.deepEqual(first, { kind: "waiting", want: "time to pass", seen: "", leftMs: 120_000, mayStop: false });
    assert.ok(told.findIndex(({ kind }) => kind === "waited") < told.findIndex(({ kind }) => kind === "answer"));
  });
  test("a command that ends with another code than it should", async () => {
    const yaml = TINY_YAML.replace(
      'do: kubelab join {{node}}\n    expect: { object: "/api/v1/nodes/{{node}}" }',
      "do: kubelab join {{node}}\n    exit: 4",
    );
    const { session } = await begin({ yaml, done: ["look"] });
    assert.equal(await session.perform(undefined, signal), false);
  });
});

describe("a command that was typed in another terminal", () => {
  const elsewhere = (environment: MemoryPlace) =>
    environment.objects.set("/api/v1/nodes/draco", { metadata: { name: "draco" } });
  const UNSEEN = TINY_YAML.replace("  - id: lines\n    observe: join\n", "  - id: lines\n    observe: other\n").replace(
    "setup:\n",
    "setup:\n  - { keep: kubelab watch, as: other, until: kept }\n",
  );

  test("is noticed by its effect, and not run again", async () => {
    const { session, environment, take } = await begin({ yaml: UNSEEN, done: ["look"] });
    session.present();
    assert.deepEqual(
      take().find(({ kind }) => kind === "command"),
      {
        kind: "command",
        line: "kubelab join draco",
        where: "here",
        isNoticed: true,
      },
    );
    elsewhere(environment);
    assert.equal(await session.perform(undefined, signal), true);
    const kinds = take().map(({ kind }) => kind);
    assert.deepEqual(kinds, ["done-elsewhere", "verdict", "text", "done"]);
    assert.equal(environment.lines.includes("kubelab join draco"), false);
    assert.equal(session.step?.id, "lines");
  });

  test("can be looked for without running anything", async () => {
    const { session, environment } = await begin({ yaml: UNSEEN, done: ["look"] });
    assert.equal(session.isNoticed, true);
    assert.equal(await session.look(signal), false);
    assert.equal(session.step?.id, "join");
    elsewhere(environment);
    assert.equal(await session.look(signal), true);
    assert.equal(session.step?.id, "lines");
    assert.equal(environment.lines.includes("kubelab join draco"), false);
  });

  test("is run here all the same where a later step looks at what it prints", async () => {
    const { session, environment } = await begin({ done: ["look"] });
    assert.equal(session.isNoticed, false);
    elsewhere(environment);
    assert.equal(await session.perform(undefined, signal), true);
    assert.equal(environment.lines.includes("kubelab join draco"), true);
  });
});

test("hints come one after the other, then there is none", async () => {
  const { session, take } = await begin({ done: ["look", "join", "lines", "guess"] });
  take();
  assert.deepEqual([session.hasHints, session.hasHint], [true, true]);
  assert.deepEqual([session.hint(), session.hint(), session.hint()], [true, true, false]);
  assert.deepEqual([session.hasHints, session.hasHint], [true, false]);
  assert.deepEqual(take(), [
    { kind: "hint", index: 1, count: 2, text: "Something made it come the first time." },
    { kind: "hint", index: 2, count: 2, text: "`kubelab join draco`" },
  ]);
});

test("the verdict of a task that kubelab has solved says so", async () => {
  for (const isShown of [true, false]) {
    const { session, take, environment } = await begin({ done: ["look", "join", "lines", "guess"] });
    if (isShown) await session.solve(signal);
    else await environment.run("kubelab join draco", () => {}, signal);
    await session.look(signal);
    const verdict = take().find(({ kind }) => kind === "verdict");
    assert.equal(verdict?.kind === "verdict" && verdict.ok, true);
    assert.equal(verdict?.kind === "verdict" && verdict.isShown === true, isShown);
  }
});

test("a solution that what the learner did stands in the way of is not counted as shown", async () => {
  const yaml = TINY_YAML.replace(/(solve:\n\s+- run: ).*/, "$1kubelab nonsense");
  const { session, take } = await begin({ done: ["look", "join", "lines", "guess"], yaml });
  await assert.rejects(session.solve(signal), LabBroken);
  assert.ok(!take().some(({ kind }) => kind === "shown"));
});

test("only what asks for something can be solved", async () => {
  const { session } = await begin();
  assert.equal(await session.solve(signal), false);
});

test("in Chinese, with the same values", async () => {
  const { session } = await begin({ language: "zh", done: ["look"] });
  assert.equal(session.stepText.title, "加入");
  assert.match(session.stepText.body, /draco/);
});

test("files are written below the lab's folder only", async () => {
  const yaml = TINY_YAML.replace("  - run: kubelab lab begin", "  - { write: a/b.txt, text: hello, mode: '600' }");
  const { environment } = await begin({ yaml });
  assert.equal(readFileSync(join(environment.folder, "a/b.txt"), "utf8"), "hello");
  const outside = TINY_YAML.replace("  - run: kubelab lab begin", "  - { write: ../out.txt, text: hello }");
  await assert.rejects(begin({ yaml: outside }), { code: "USAGE" });
  assert.equal(existsSync(join(environment.folder, "..", "out.txt")), false);
});

test("what was kept running ends with the lab, and an injection reaches the place", async () => {
  const setup = "  - { keep: kubelab watch, as: watcher, until: kept }\n  - { inject: speed, with: { factor: 5 } }";
  const { environment, session } = await begin({ yaml: TINY_YAML.replace("  - run: kubelab lab begin", setup) });
  assert.equal(environment.keptCount, 1);
  assert.deepEqual(environment.injected, [["speed", { factor: 5 }]]);
  await session[Symbol.asyncDispose]();
  assert.equal(environment.keptCount, 0);
});

describe("what decided a verdict", () => {
  const openPlace = async (done: readonly string[]) => {
    const trace = { report: (_what: "stored" | "deleted"): void => {} };
    const environment = new MemoryPlace({
      "kubelab lab": () => ({}),
      "kubelab join": (objects) => {
        trace.report("stored");
        objects.set("/api/v1/nodes/draco", { metadata: { name: "draco", uid: "u", resourceVersion: "1" } });
        return {};
      },
      "kubectl delete": (objects) => {
        trace.report("deleted");
        objects.delete("/api/v1/nodes/draco");
        return {};
      },
    });
    trace.report = (what) =>
      environment.facts.write({
        ...{ kind: "state", subject: "nodes draco", what, to: "", version: "u@1" },
        ...{ seq: 1, id: `000000000000000${what.length}`, atMs: 0, actor: "apiserver", level: 3 },
      });
    const messages: LabMessage[] = [];
    const emit = (message: LabMessage) => void messages.push(message);
    const lab = await tinyLab();
    const session = new LabSession(lab, environment, { language: "en", seed: 1, done, emit });
    const shown = () => {
      const evidence = messages.findIndex(({ kind }) => kind === "evidence");
      const found = messages[evidence];
      const [fact] = found?.kind === "evidence" ? found.facts : [];
      return [messages[evidence - 1]?.kind, fact?.kind === "state" ? fact.what : undefined];
    };
    return { environment, session, shown, trace, messages };
  };
  test("a check that holds is followed by the fact that made it hold", async () => {
    const { session, shown } = await openPlace(["look"]);
    assert.equal(await session.perform(undefined, signal), true);
    assert.deepEqual(shown(), ["verdict", "stored"]);
  });
  test("so is an answer, by what decided the outcome", async () => {
    const { session, shown } = await openPlace(["look", "join", "lines"]);
    assert.equal(await session.perform("stays", signal), true);
    assert.deepEqual(shown(), ["answer", "deleted"]);
  });
  test("all that led to it is shown on request, also when old facts are forgotten", async () => {
    const { environment, session, messages } = await openPlace(["look"]);
    const { facts } = environment;
    const common = { seq: 1, atMs: 0, actor: "controller", level: 1 } as const;
    for (let i = 1; i <= 8; i++) {
      const causedBy = i === 1 ? {} : { causedBy: `cause${i - 1}` };
      facts.write({ ...common, ...causedBy, kind: "decision", what: `${i}`, why: "a test", id: `cause${i}` });
    }
    const write = facts.write.bind(facts);
    facts.write = (event) => write({ ...event, causedBy: "cause8" });
    await session.perform(undefined, signal);
    assert.equal(session.hasMore, true);
    facts.since = () => [];
    messages.length = 0;
    session.why();
    assert.deepEqual(
      messages.map((one) => one.kind === "evidence" && one.facts.length),
      [9],
    );
  });
  test("a check that does not hold, and one whose facts are unknown, are not", async () => {
    const { session, messages, trace, environment } = await openPlace(["look", "join", "lines", "guess"]);
    trace.report("deleted");
    assert.equal(await session.look(signal), false);
    environment.objects.set("/api/v1/nodes/draco", { metadata: { name: "draco" } });
    assert.equal(await session.look(signal), true);
    assert.deepEqual(
      messages.map(({ kind }) => kind).filter((kind) => kind === "verdict" || kind === "evidence"),
      ["verdict", "verdict"],
    );
  });
});

test("the picture shows the last step in which something was done, and what caused it before", async () => {
  const { session, environment } = await begin();
  const { facts } = environment;
  const trace = new Trace(environment.clock);
  trace.addSink(facts);
  const report = (text: string, causedBy?: string) =>
    trace.emit({ kind: "note", text }, { actor: "user", ...(causedBy === undefined ? {} : { causedBy }) }).id;
  const picture = () => {
    const { step, facts: shown } = session.picture();
    return [step, ...shown.map((one) => (one.kind === "note" ? one.text : one.kind))];
  };
  const cause = report("while looking");
  report("unrelated");
  assert.deepEqual(picture(), ["look", "while looking", "unrelated"]);
  await session.perform(undefined, signal);
  report("before the command");
  report("after it", cause);
  await session.perform(undefined, signal);
  const join = ["join", "while looking", "before the command", "after it"];
  assert.deepEqual(picture(), join);
  report("seen later");
  // Lines to look at do nothing.
  await session.perform(undefined, signal);
  assert.deepEqual(picture(), [...join, "seen later"]);
  await session.perform("goes", signal);
  assert.deepEqual(picture(), ["guess"]);
  await session.look(signal);
  report("of the check");
  assert.deepEqual(picture(), ["back", "of the check"]);
});
