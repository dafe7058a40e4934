import assert from "node:assert/strict";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { describe, test } from "vitest";
import { compileLab, compileLabs } from "../../../../src/lab/labs/format/compile.js";
import { sayIn } from "../../../../src/util/i18n/catalogue.js";
import { compileTiny, type LabFiles, TINY_EN, TINY_YAML, TINY_ZH, writeTinyLab } from "../../../support/tiny-lab.js";

const LINES: Record<string, string> = { "lab.yaml": TINY_YAML, "en.md": TINY_EN, "zh.md": TINY_ZH };

/** The line, counted from 1, in which a text of the tiny lab stands. */
function lineOf(file: keyof LabFiles, part: string): number {
  return (LINES[file] ?? "").split("\n").findIndex((line) => line.includes(part)) + 1;
}

test("the tiny lab has no mistakes", async () => {
  const { lab, problems } = await compileTiny();
  assert.deepEqual(problems, []);
  assert.equal(lab?.text.zh.title, "小实验");
  assert.deepEqual(lab?.definition.nodeOptions, { verbosity: 2, pullMs: 400, kubeProxy: false, link: false });
});

test("the template of `learn new` has no mistakes", async () => {
  assert.deepEqual((await compileLab("templates/lab")).problems, []);
});

test("a lab for any cluster says what it makes, or that it makes nothing", async () => {
  for (const makes of ["[]", "[ '/api/v1/nodes/{{node}}' ]"]) {
    const yaml = TINY_YAML.replace("minutes: 5", `minutes: 5\ncluster: any\nmakes: ${makes}`);
    assert.deepEqual((await compileTiny({ "lab.yaml": yaml })).problems, []);
  }
});

const ESC = "\u001b";
const CONTROLS: readonly (readonly [what: string, files: LabFiles, place: string])[] = [
  ["an escape sequence", { "en.md": `${TINY_EN}\n${ESC}[2J` }, `en.md:${TINY_EN.split("\n").length + 1}`],
  ["one of a single character", { "zh.md": `\u009b31m${TINY_ZH}` }, "zh.md:1"],
  ["text from right to left", { "en.md": `\u202e${TINY_EN}` }, "en.md:1"],
  ["one in YAML", { "lab.yaml": `${TINY_YAML}# ${ESC}c\n` }, `lab.yaml:${TINY_YAML.split("\n").length}`],
  ["an escape of YAML", { "lab.yaml": TINY_YAML.replace("oneOf: [atlas,", 'oneOf: ["\\e[2J",') }, "lab.yaml:undefined"],
];
for (const [what, files, place] of CONTROLS) {
  test(`a control character is the only mistake that is reported: ${what}`, async () => {
    const { problems, lab } = await compileTiny(files);
    const found = problems.map(({ file, line, message }) => `${basename(file)}:${line} ${message}`);
    assert.deepEqual(found, [`${place} control characters, which could rule the terminal, are not allowed here`]);
    assert.equal(lab, undefined);
  });
}

test("lines may end as on Windows", async () => {
  assert.deepEqual((await compileTiny({ "en.md": TINY_EN.replaceAll("\n", "\r\n") })).problems, []);
});

test("of broken YAML only the first error is reported: the others follow from it", async () => {
  const yaml = TINY_YAML.replace("- run: kubelab lab begin", '- { run: sh -c "a {{node}}" }');
  const { problems } = await compileTiny({ "lab.yaml": yaml });
  assert.equal(problems.length, 1, JSON.stringify(problems));
});

describe("a mistake is found, with its file and line", () => {
  const table: readonly (readonly [keyof LabFiles, string, string, RegExp, number | undefined])[] = [
    // file, what stands there, what is put in its place, the message, the line
    ["lab.yaml", "format: 1", "format: 2", /format/, 1],
    ["lab.yaml", "id: tiny", "id: Tiny_Lab", /id: expected lower-case/, 2],
    ["lab.yaml", "id: tiny", "id: other", /the folder of other is named other or NN-other/, 2],
    ["lab.yaml", 'number: "7"', 'number: "x"', /number: expected a number such as/, 3],
    ["lab.yaml", "kind: chapter", "kind: story", /kind/, 4],
    ["lab.yaml", "minutes: 5", "minutes: 500", /minutes/, 5],
    ["lab.yaml", "minutes: 5", "minutes: 5\ncolour: red", /colour/i, 6],
    ["lab.yaml", "minutes: 5", "minutes: 5\ncluster: any", /needs `makes` or `cleanup`/, 6],
    ["lab.yaml", "minutes: 5", "minutes: 5\napiServerPod: true", /runs on node-1 of the embedded cluster/, 6],
    [
      "lab.yaml",
      "minutes: 5",
      "minutes: 5\ncluster: any\nmakes: [pods/x]",
      /makes\.0: expected a path of an object/,
      7,
    ],
    ["lab.yaml", "  node: {", "  node: [", /./, undefined],
    ["lab.yaml", "oneOf: [atlas, draco]", "oneOf: []", /vars\.node/, lineOf("lab.yaml", "oneOf")],
    ["lab.yaml", "begin:\n  - { list: /api/v1/nodes, is: 0 }", "begin: []", /begin/, undefined],
    ["lab.yaml", "read: true", "reads: true", /steps\.0: expected a step: an object with one of read/, undefined],
    ["lab.yaml", "do: kubelab join {{node}}", "do: ''", /steps\.1\.do: expected some text/, lineOf("lab.yaml", "do: ")],
    [
      "lab.yaml",
      "join {{node}}\n    expect",
      "join {{knot}}\n    expect",
      /\{\{knot\}\}: there is no such variable/,
      lineOf("lab.yaml", "do: "),
    ],
    [
      "lab.yaml",
      'expect: { object: "/api/v1/nodes/{{node}}" }',
      "expect: { thing: x }",
      /expected a check/,
      lineOf("lab.yaml", "expect: "),
    ],
    ["lab.yaml", "observe: join", "observe: joined", /joined: no step or kept command/, lineOf("lab.yaml", "observe:")],
    ["lab.yaml", '["joined \\\\w+"]', '["joined ("]', /expected a regular expression/, lineOf("lab.yaml", "lines: [")],
    [
      "lab.yaml",
      "pkg/kubelet/kubelet.go syncLoop",
      "kubelet.go",
      /upstream: expected/,
      lineOf("lab.yaml", "upstream:"),
    ],
    ["lab.yaml", "predict: [stays, goes]", "predict: [stays]", /predict/, lineOf("lab.yaml", "predict:")],
    [
      "lab.yaml",
      "predict: [stays, goes]",
      "predict: [stays, goes, burns]",
      /no outcome for the choices burns/,
      lineOf("lab.yaml", "id: guess"),
    ],
    [
      "lab.yaml",
      "predict: [stays, goes]",
      "predict: [stays, leaves]",
      /outcomes for unknown choices: goes/,
      lineOf("lab.yaml", "id: guess"),
    ],
    ["lab.yaml", "within: 60s", "within: soon", /expected a duration/, lineOf("lab.yaml", "within:")],
    ["lab.yaml", "id: back", "id: join", /two are named join/, lineOf("lab.yaml", "id: join")],
    ["lab.yaml", "    solve:\n      - run: kubelab join {{node}}\n", "    solve: []\n", /solve/, undefined],
    [
      "lab.yaml",
      "- run: kubelab lab begin",
      "- inject: lightning",
      /lightning is not known: expected one of time-passes/,
      9,
    ],
    ["lab.yaml", "- run: kubelab lab begin", "- inject: kill-container", /kill-container needs pod/, 9],
    [
      "lab.yaml",
      "- run: kubelab lab begin",
      "- { inject: speed, with: { factor: fast } }",
      /factor is "fast": expected a number/,
      9,
    ],
    ["lab.yaml", "- run: kubelab lab begin", "- { inject: node-stop, with: { knot: x } }", /takes no knot/, 9],
    ["lab.yaml", "- run: kubelab lab begin", "- { stop: witness }", /witness: no step or kept command/, 9],
    ["en.md", "# A tiny lab", "A tiny lab", /expected `# Title` in the first line/, 1],
    ["en.md", "## look: Look around\nThere is nothing yet.\n", "", /no section for step look/, undefined],
    ["zh.md", "## look: 看一看\n现在什么都没有。\n", "", /no section for step look/, undefined],
    ["en.md", "There is nothing yet.", "", /step look has no text/, lineOf("en.md", "## look")],
    ["en.md", "## look: Look", "## lock: Look", /there is no step lock/, lineOf("en.md", "## look")],
    [
      "en.md",
      "- goes: it goes",
      "- left: it goes",
      /expected the choices goes stays, found left stays/,
      lineOf("en.md", "## guess"),
    ],
    ["en.md", "- goes: it goes", "- goes:", /choice goes is empty/, lineOf("en.md", "- goes")],
    [
      "en.md",
      "- goes: it goes",
      "- goes: it goes\n### mistakes\n- left: nobody goes left",
      /step guess: left is not one of its choices/,
      lineOf("en.md", "- goes") + 2,
    ],
    [
      "zh.md",
      "### hints",
      "### mistakes\n- back: x\n### hints",
      /step back: expected sentences about the mistakes -, found back/,
      undefined,
    ],
    ["en.md", "1. Something made it come the first time.\n", "", /needs two hints or more/, lineOf("en.md", "## back")],
    ["en.md", "1. Something made it come the first time.", "1.", /a hint is empty/, lineOf("en.md", "## back")],
    [
      "zh.md",
      "2. `kubelab join {{node}}`",
      "2. `kubelab join {{node}}`\n3. 再一个",
      /step back has 3 hints, in English 2/,
      undefined,
    ],
    ["en.md", "## debrief\nThat was all.", "", /no section `## debrief`/, undefined],
    ["en.md", "### goal\n{{node}} is back", "", /step back has no `### goal`/, lineOf("en.md", "## back:")],
    [
      "en.md",
      "### goal\n{{node}} is back",
      "### goal\n{{node}} is back\n### mistakes\n- gone: it is not",
      /step back: expected sentences about the mistakes -, found gone/,
      lineOf("en.md", "## back:"),
    ],
    [
      "lab.yaml",
      "    solve:",
      "    mistakes: { gone: never }\n    solve:",
      /mistakes are only for a check that reads an answer/,
      lineOf("lab.yaml", "id: back"),
    ],
    [
      "en.md",
      "That was all.",
      "That was all.\n\n## known\n- one\n- two",
      /known: expected a list of 3 lines/,
      undefined,
    ],
    ["zh.md", "## debrief", "## known\n- 1\n- 2\n- 3\n\n## debrief", /known is in one language only/, undefined],
    ["en.md", "## debrief", "## summary", /unknown section summary/, lineOf("en.md", "## debrief")],
    [
      "en.md",
      "### afterwards",
      "### later",
      /unknown heading later: expected choices, hints, goal, mistakes or afterwards/,
      lineOf("en.md", "### afterwards"),
    ],
    [
      "en.md",
      "What happens to {{node}}?",
      "What happens to {{knot}}?",
      /\{\{knot\}\}: there is no such variable/,
      lineOf("en.md", "What happens"),
    ],
    [
      "en.md",
      "with `kubelab join`",
      "with `kubelab leave`",
      /the lab never runs `kubelab leave`/,
      lineOf("en.md", "with `kubelab"),
    ],
    [
      "en.md",
      "See what it said.",
      "```\n$ kubectl get pods\n```",
      /the lab never runs `kubectl get pods`/,
      lineOf("en.md", "See what") + 1,
    ],
    ["en.md", "## lines: Lines", "## look: Lines", /a second section for step look/, lineOf("en.md", "## lines")],
  ];
  for (const [file, from, to, message, line] of table) {
    test(`${file}: ${JSON.stringify(to).slice(0, 60)}`, async () => {
      const text = LINES[file] ?? "";
      assert.ok(text.includes(from), `the tiny lab has no ${from}`);
      const { lab, problems } = await compileTiny({ [file]: text.replace(from, to) });
      assert.equal(lab, undefined);
      const found = problems.find((one) => one.file.endsWith(`07-tiny/${file}`) && message.test(one.message));
      assert.ok(found, problems.map((one) => `${one.file}:${one.line}: ${one.message}`).join("\n"));
      if (line !== undefined) assert.equal(found.line, line, found.message);
    });
  }
});

test("all mistakes are told, not only the first", async () => {
  const { problems } = await compileTiny({
    "lab.yaml": TINY_YAML.replace("observe: join", "observe: nowhere"),
    "en.md": TINY_EN.replace("## debrief", "## end"),
    "zh.md": TINY_ZH.replace("{{node}} 会怎样", "{{knot}} 会怎样"),
  });
  assert.ok(problems.length >= 3, problems.map(({ message }) => message).join("\n"));
  assert.deepEqual([...new Set(problems.map(({ file }) => file.split("/").at(-1)))].sort(), [
    "en.md",
    "lab.yaml",
    "zh.md",
  ]);
});

test("a file that is missing is said by name", async () => {
  const root = writeTinyLab();
  const { rmSync } = await import("node:fs");
  rmSync(join(root, "07-tiny", "zh.md"));
  const [compiled] = await compileLabs(root);
  assert.equal(compiled?.lab, undefined);
  assert.match(compiled?.problems[0]?.file ?? "", /zh\.md$/);
});

describe("what breaks the schema hides no other mistake, and makes none", () => {
  const table: readonly (readonly [name: string, files: LabFiles, told: readonly string[]])[] = [
    [
      "a wrong field of the lab",
      {
        "lab.yaml": TINY_YAML.replace("minutes: 5", "minutes: 500").replace("observe: join", "observe: nowhere"),
        "en.md": TINY_EN.replace("## debrief", "## end"),
        "zh.md": TINY_ZH.replace("2. `kubelab join {{node}}`", "2. `kubelab leave`"),
      },
      [
        "en.md:0: no section `## debrief`",
        `en.md:${lineOf("en.md", "## debrief")}: unknown section end: expected \`step-id: title\``,
        "lab.yaml:5: minutes: too large or too long: expected 60 or less",
        `lab.yaml:${lineOf("lab.yaml", "observe: join")}: nowhere: no step or kept command of this name`,
        `zh.md:${lineOf("zh.md", "2. `kubelab")}: the lab never runs \`kubelab leave\``,
      ],
    ],
    [
      "a step that is none, whose command the text names and whose output is asked for",
      {
        "lab.yaml": TINY_YAML.replace("    expect: {", "    expects: {"),
        "en.md": TINY_EN.replace("### afterwards\nIt has joined.\n", ""),
      },
      [
        `lab.yaml:${lineOf("lab.yaml", "- id: join")}: steps.1: unknown: expects`,
        `zh.md:${lineOf("zh.md", "## join")}: step join has afterwards in one language only`,
      ],
    ],
    [
      "a step without a name",
      { "lab.yaml": TINY_YAML.replace("- id: join", "- ident: join") },
      [
        `lab.yaml:${lineOf("lab.yaml", "- id: join")}: steps.1.id: missing: expected string`,
        `lab.yaml:${lineOf("lab.yaml", "- id: join")}: steps.1: unknown: ident`,
      ],
    ],
    [
      "a kind, a number of nodes and variables that are none",
      {
        "lab.yaml": TINY_YAML.replace("kind: chapter", "kind: tale\nnodes: many")
          .replace("{ oneOf: [atlas, draco] }", "atlas")
          .replace("observe: join", "observe: node-1"),
      },
      [
        "lab.yaml:4: kind: expected one of chapter, incident",
        "lab.yaml:5: nodes: expected number",
        "lab.yaml:8: vars.node: ",
      ],
    ],
    [
      "another format",
      { "lab.yaml": TINY_YAML.replace("format: 1", "format: 2") },
      ["lab.yaml:1: format: expected 1, found 2"],
    ],
    [
      "no steps at all",
      { "lab.yaml": "format: 1\nid: tiny\n", "en.md": TINY_EN.replace("### afterwards", "### later") },
      [`en.md:${lineOf("en.md", "### afterwards")}: unknown heading later`, "lab.yaml:1: begin", "lab.yaml:1: kind"],
    ],
  ];
  for (const [name, files, told] of table) {
    test(name, async () => {
      const { problems } = await compileTiny(files);
      const found = problems.map(({ file, line = 0, message }) => `${basename(file)}:${line}: ${message}`);
      const isCut = name === "no steps at all";
      for (const one of told)
        assert.ok(
          found.some((line) => line.startsWith(one)),
          `${one}\n\n${found.join("\n")}`,
        );
      if (!isCut) assert.equal(found.length, told.length, found.join("\n"));
      assert.deepEqual(
        found.map((line) => line.split(":")[0]),
        found.map((line) => line.split(":")[0]).sort(),
      );
    });
  }
});

test("mistakes come by file and line", async () => {
  const { problems } = await compileTiny({
    "lab.yaml": TINY_YAML.replace("id: tiny", "id: Tiny")
      .replace("within: 60s", "within: soon")
      .replace("join {{", "join {{k"),
  });
  const lines = problems.map(({ line }) => line);
  assert.ok(lines.length >= 3);
  assert.deepEqual(
    lines,
    [...lines].sort((a, b) => (a ?? 0) - (b ?? 0)),
  );
});

test("commands that kubelab does not have, where it is known which it has", async () => {
  const yaml = TINY_YAML.replace("run: kubelab lab begin", "run: cd x; kubelab jion y && echo kubelab nothing");
  const folder = join(writeTinyLab({ "lab.yaml": yaml }), "07-tiny");
  assert.deepEqual((await compileLab(folder)).problems, []);
  const { problems } = await compileLab(folder, { commands: ["join", "exec"] });
  assert.deepEqual(
    problems.map(({ line, message }) => `${line}: ${message}`),
    ["9: kubelab has no command jion: expected one of join, exec"],
  );
});

test("two labs with one id or number: the second is none, and says of which", async () => {
  const root = writeTinyLab();
  for (const name of ["08-tiny", "09-other"]) cpSync(join(root, "07-tiny"), join(root, name), { recursive: true });
  writeFileSync(
    join(root, "09-other", "lab.yaml"),
    TINY_YAML.replace("id: tiny", "id: other").replace("minutes: 5", "minutes: no"),
  );
  const compiled = await compileLabs(root);
  assert.deepEqual(
    compiled.map(({ lab }) => lab?.definition.id),
    ["tiny", undefined, undefined],
  );
  assert.deepEqual(
    compiled.flatMap(({ problems }) =>
      problems.map(({ file, line, message }) => `${relative(root, file)}:${line}: ${message}`),
    ),
    [
      "08-tiny/lab.yaml:2: the id tiny is used twice: 07-tiny has it too",
      "08-tiny/lab.yaml:3: the number 7 is used twice: 07-tiny has it too",
      "09-other/lab.yaml:3: the number 7 is used twice: 07-tiny has it too",
      "09-other/lab.yaml:5: minutes: expected number, found string",
    ],
  );
});

test("a folder beside the labs that is none is told once; hidden ones are not looked at", async () => {
  const root = writeTinyLab();
  for (const name of ["drafts", ".git"]) mkdirSync(join(root, name));
  const compiled = await compileLabs(root);
  assert.deepEqual(
    compiled.flatMap(({ problems }) => problems.map(({ file, message }) => `${relative(root, file)}: ${message}`)),
    ["drafts: not a lab: expected lab.yaml, en.md and zh.md in it"],
  );
});

test("variables and outputs of nodes are known as far as there are nodes", async () => {
  const withNode = (count: number) =>
    TINY_YAML.replace("minutes: 5", `minutes: 5\nnodes: ${count}`)
      .replace("observe: join", "observe: node-2")
      .replace("do: kubelab join", "do: kubelab join {{kubelet2}}");
  assert.deepEqual((await compileTiny({ "lab.yaml": withNode(2) })).problems, []);
  const { problems } = await compileTiny({ "lab.yaml": withNode(1) });
  assert.deepEqual(
    problems.map(({ message }) => message),
    ["{{kubelet2}}: there is no such variable", "node-2: no step or kept command of this name"],
  );
});

test("what is wrong is said in the learner's language", async () => {
  const { problems } = await compileLab(
    join(writeTinyLab({ "lab.yaml": "id: A_B\n", "en.md": "", "zh.md": "" }, "01-tiny"), "01-tiny"),
    { say: sayIn("zh") },
  );
  const said = problems.map(({ message }) => message).join("\n");
  assert.match(said, /应为小写字母/);
  assert.match(said, /第一行应为/);
  assert.doesNotMatch(said, /catalogue:/);
});
