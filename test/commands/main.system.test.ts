import assert from "node:assert/strict";
import { test } from "vitest";
import { COMMANDS } from "../../src/commands/command-table.js";
import { missingPath } from "../support/missing-path.js";
import { runInProcess } from "../support/run-cli.js";

test("without arguments: the help, on stdout, exit 0", async () => {
  const { code, stdout, stderr } = await runInProcess([]);
  assert.equal(code, 0);
  assert.equal(stderr, "");
  for (const { name, summary } of COMMANDS) assert.match(stdout, new RegExp(`${name}\\s.*${summary.slice(0, 10)}`));
});

for (const columns of [80, 60]) {
  test(`no line of any help is wider than ${columns} columns${columns < 80 ? ", but for paths" : ""}`, async () => {
    const lines = [[], ["cluster", "up"], ["etcd", "get"], ...COMMANDS.map(({ name }) => [name])];
    for (const argv of lines.map((line) => [...line, "--help"])) {
      const { code, stdout } = await runInProcess(argv, { columns });
      assert.equal(code, 0, argv.join(" "));
      // A word, such as a path or a quoted text, is not broken.
      const isBreakable = (line: string) => columns >= 80 || /\S \S/.test(line.replace(/ \\$|"[^"]*"|'[^']*'/g, "x"));
      const wide = stdout.split("\n").filter((line) => line.length > columns && isBreakable(line));
      assert.deepEqual(wide, [], argv.join(" "));
    }
  });
}

const wrong = [
  [["nope"], /unknown command 'nope'/],
  [["tokn"], /Did you mean token/],
  [["token", "nope"], /unknown command 'nope'/],
  [["token", "list", "--nope"], /unknown option '--nope'/],
  [["token", "list", "-v", "11"], /expected 0, 1, 2, 3 or 4/],
  [["token", "list", "--speed", "fast"], /expected a number/],
  [["token", "create", "--ttl", "soon"], /expected a duration/],
  [["token", "create", "nonsense"], /the token is malformed: it has no dot/],
  [["token", "create", "--groups", "system:masters"], /cannot be given to a bootstrap token/],
  [["token", "create", "--usages", "magic"], /is not a usage/],
  [["token", "delete"], /missing required argument 'token'/],
  [["token", "list", "--mock", "--real"], /--mock is for the embedded control plane, and --real names a real cluster/],
  [["token", "list", "--speed", "10", "--context", "x"], /--speed is for the embedded control plane/],
  [["token", "list", "--kube-version", "0.9"], /0\.9/],
  [["token", "list", "--trace", "x.pdf"], /x\.pdf: .*none of \.html, \.svg, \.ndjson, \.mmd, \.otlp\.json, \.json/],
  [["journey", "-o", "json"], /json: .*none of \.html.*\n--json prints the result as JSON/],
  [["token", "list", "--trace", missingPath("x.ndjson")], /cannot write the trace.*no such file or folder/],
  [["token", "list", "--cluster", "x", "--real"], /--cluster is for the embedded control plane/],
  [["token", "list", "-v", ""], /expected 0, 1, 2, 3 or 4/],
  [["token", "list", "--kubeconfig", ""], /expected a path: it is empty/],
  [["token", "list", "--trace", ""], /expected a path: it is empty/],
  [["cluster", "up", "--port", "70000"], /expected a port/],
  [["cluster", "up", "--port", ""], /expected a port/],
  [["runtime", "up", "--seed", ""], /expected a whole number/],
  [["runtime", "up", "--root-dir", ""], /expected a path: it is empty/],
  [["pleg", "--http", "127.0.0.999:0"], /expected an address of this machine/],
  [["pleg", "--version-only", "--duration", "1s"], /--version-only ends at once, and --duration applies only/],
  [["pleg", "--version-only", "--http", "0"], /--version-only ends at once, and --http applies only/],
  [["exec", "nettool", "ls", "-l"], /unknown option '-l'\nWrite the command after --/],
  [["exec", "serve", "x"], /too many arguments for 'serve': x\nAdd --help/],
  [["runtime", "images", "nonsense", "more"], /too many arguments for 'images': nonsense more\n/],
  [["journey", "web", "nonsense"], /too many arguments for 'journey': nonsense\n/],
  [["cluster", "up", "--kubeconfig", "x"], /--kubeconfig names another cluster.*\n.*cluster up --name/],
  [["cluster", "down", "--context=x"], /--context names another cluster.*\n.*cluster down --name/],
  [["learn", "status", "nonsense"], /no lab named nonsense\n/],
  [["lease", "--stop-after", "1x"], /expected 1 or more renewals, or a time/],
  [["lease", "--stop-after", "0"], /expected 1 or more renewals, or a time/],
  [["learn", "list", "--speed", "3"], /--speed is only for starting a lab/],
  [["learn", "report", "--seed", "3"], /--seed is only for starting a lab/],
  [["learn", "start", "tour", "--yes", "--detach"], /--yes plays a lab to its end, and --detach leaves it/],
  [["cluster", "up", "--name", "../x"], /expected up to 40/],
  [["pleg", "--period", "1s"], /unknown option '--period'\nAdd --help/],
  [
    ["lease", "--revive", "--duration", "1s"],
    /--duration is for a node that is kept Ready, and --revive ends by itself/,
  ],
] as const;
for (const [argv, message] of wrong) {
  test(`kubelab ${argv.join(" ")}: exit 2, one clear error on stderr, nothing on stdout`, async () => {
    const { code, stdout, stderr } = await runInProcess([...argv]);
    assert.match(stderr, message);
    assert.equal(code, 2);
    assert.equal(stdout, "");
    assert.doesNotMatch(stderr, /\n\s+at .*\.(ts|js):\d+/);
  });
}

test("on a terminal, an error of the command line looks like any other: a red word and a dim hint", async () => {
  for (const [argv, hint] of [
    [["lease", "--foo"], "Add --help for the flags."],
    [["explain", "zzqq"], "List them: kubelab explain"],
  ] as const) {
    const { stderr } = await runInProcess([...argv], { typed: "", env: { TERM: "xterm-256color", FORCE_COLOR: "1" } });
    assert.ok(stderr.startsWith("\u001b[31merror:\u001b[39m "), JSON.stringify(stderr));
    assert.ok(stderr.endsWith(`\n\u001b[2m${hint}\u001b[22m\n`), JSON.stringify(stderr));
  }
});

test("kubelab learn status and shell name the lab that does not run, and how to start it", async () => {
  for (const word of ["status", "shell"]) {
    const { stderr } = await runInProcess(["learn", word, "1"]);
    assert.match(stderr, /lab heartbeats is not running\nkubelab learn start heartbeats\n/);
  }
});

test("the help of every command begins with a sentence", async () => {
  const subcommands = [
    "cluster up",
    "cluster down",
    "cluster status",
    "runtime up",
    "exec serve",
    "token list",
    "csr create",
  ];
  for (const line of [...COMMANDS.map(({ name }) => name), ...subcommands]) {
    const { stdout } = await runInProcess([...line.split(" "), "--help"]);
    const [, description = ""] = stdout.split("\n\n");
    assert.match(description, /^[A-Z][\s\S]*\.$/, line);
  }
});

test("the help of a subcommand of learn has the flags of learn that it takes", async () => {
  const [start, list] = [
    await runInProcess(["learn", "start", "--help"]),
    await runInProcess(["learn", "list", "--help"]),
  ];
  assert.match(start.stdout, /--lang[\s\S]*--speed[\s\S]*--seed/);
  assert.match(list.stdout, /--lang/);
  assert.doesNotMatch(list.stdout, /--speed|--seed/);
});

test("the version is printed before and after each command, whose help does not list the flag", async () => {
  const before = await runInProcess(["--version"]);
  assert.match(before.stdout, /^\S+\n$/);
  for (const { name } of COMMANDS) {
    const after = await runInProcess([name, "--version"]);
    assert.deepEqual(after, before, name);
    assert.doesNotMatch((await runInProcess([name, "--help"])).stdout, /--version\b(?!-)/, name);
  }
  assert.deepEqual(await runInProcess(["cluster", "up", "-V"]), before);
});

test("without a terminal, a write to a real cluster is refused and names --yes", async () => {
  const { writeFile, mkdtemp } = await import("node:fs/promises");
  const { tmpdir } = await import("node:os");
  const { join } = await import("node:path");
  const kubeconfig = join(await mkdtemp(join(tmpdir(), "kubelab-")), "config");
  await writeFile(
    kubeconfig,
    JSON.stringify({
      "current-context": "c",
      clusters: [{ name: "c", cluster: { server: "https://127.0.0.1:1" } }],
      users: [{ name: "u", user: { token: "x" } }],
      contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    }),
  );
  const { code, stderr } = await runInProcess(["token", "create", "--kubeconfig", kubeconfig]);
  assert.equal(code, 2);
  assert.match(stderr, /--yes/);
  assert.match(stderr, /127\.0\.0\.1:1/);
});

test("--cluster with the name of no running cluster: exit 3, and the error has the name", async () => {
  const { code, stderr } = await runInProcess(["token", "list", "--cluster", "other"]);
  assert.equal(code, 3);
  assert.match(stderr, /cluster other is not running/);
});
