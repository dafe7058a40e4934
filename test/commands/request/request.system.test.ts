import { expect, test } from "vitest";
import { newHome, runCliProcess } from "../../support/cli-process.js";
import { runInProcess } from "../../support/run-cli.js";

interface Told {
  readonly request: { readonly method: string; readonly status: number; readonly message?: string };
  readonly steps: readonly {
    readonly part: string;
    readonly text: string;
    readonly why?: string;
    readonly changes?: readonly { readonly op: string; readonly path: string; readonly value?: unknown }[];
    readonly upstream?: { readonly file: string; readonly func: string };
  }[];
}

async function told(...args: readonly string[]): Promise<Told & { readonly code: number }> {
  const { code, stdout, stderr } = await runInProcess(["request", ...args, "--json"]);
  expect(stderr).toBe("");
  return { code, ...(JSON.parse(stdout) as Told) };
}

const partsOf = ({ steps }: Told) => steps.map(({ part }) => part).filter((part, i, all) => part !== all[i - 1]);

test("a creation: all parts in order, the last of them what two clients got", async () => {
  const way = await told("create", "pod/web");
  expect([way.code, way.request.status]).toEqual([0, 201]);
  expect(partsOf(way)).toEqual([
    "client",
    "filter",
    "codec",
    "admission",
    "strategy",
    "admission",
    "storage",
    "response",
    "watches",
  ]);
  expect(way.steps.at(-1)?.why).toMatch(/^2 clients got the same \d+ bytes, encoded once$/);
});

test("a patch of an object that was created before; without watchers nobody gets it", async () => {
  const patch = '{"metadata":{"labels":{"a":"b"}}}';
  const way = await told("patch", "pod/web", "-p", patch, "--with", "pod/web", "--watchers", "0");
  const patched = way.steps.find(({ upstream }) => upstream?.func === "patcher.applyPatch");
  expect(patched?.changes).toEqual([{ op: "add", path: "/metadata/labels", value: { a: "b" } }]);
  expect(way.steps.at(-1)?.why).toMatch(/^none of them is a client/);
});

test("a deletion of a pod on no node: two transactions and two events", async () => {
  const way = await told("delete", "pod/web", "--with", "pod/web");
  const texts = way.steps.map(({ text }) => text);
  expect(texts.filter((text) => text.startsWith("runs a transaction on ")).length).toBe(2);
  expect(texts.filter((text) => text.startsWith("sends ")).map((text) => text.split(" ")[1])).toEqual([
    "MODIFIED",
    "DELETED",
  ]);
});

test("a dry run stores nothing", async () => {
  const way = await told("create", "pod/web", "--dry-run");
  expect(way.steps.find(({ part }) => part === "storage")?.text).toBe("writes nothing at /registry/pods/default/web");
  expect(partsOf(way)).not.toContain("watches");
});

test("refusals: the user may not, the object is not there; exit 4", async () => {
  const forbidden = await told("get", "pods", "--as", "jane");
  expect([forbidden.code, forbidden.request.status]).toEqual([4, 403]);
  expect(forbidden.steps.map(({ upstream }) => upstream?.func)).toContain("WithImpersonation");
  expect(forbidden.request.message).toContain('User "jane" cannot list');
  const gone = await told("delete", "pod/web");
  expect([gone.code, gone.request.status]).toEqual([4, 404]);
  expect(gone.steps.map(({ text }) => text)).toContain("reads /registry/pods/default/web: it does not exist");
});

test("a kind that the server does not have: one sentence, exit 2", async () => {
  const { code, stderr } = await runInProcess(["request", "get", "gizmos"]);
  expect([code, stderr.split("\n")[0]]).toEqual([2, `error: the server doesn't have a resource type "gizmos"`]);
});

test("text for a pipe: a numbered line per stage without colours, at most 100 columns; -v 1 adds what is below", async () => {
  const { code, stdout } = await runCliProcess(newHome(), "request", "create", "pod/web");
  expect(code).toBe(0);
  const lines = stdout.trimEnd().split("\n");
  expect(lines[0]).toMatch(/^POST \/api\/v1\/namespaces\/default\/pods: 201 in \d\.\d{3} s, \d+ steps$/);
  expect(lines.filter((line) => line.length > 100)).toEqual([]);
  expect(stdout).not.toContain("\u001b");
  expect(lines.slice(1, -1).filter((line) => !/^ *\d+ +\d\.\d{3} \w+ +\S /.test(line))).toEqual([]);
  expect(stdout).toMatch(/ identifies the client as kubernetes-admin\n/);
  expect(stdout).toMatch(/ by Priority \(2 fields\)\n/);
  // IDs are short, and whole with -v.
  const audit = /audit ID (\S+)/;
  expect(audit.exec(stdout)?.[1]).toHaveLength(8);
  const detailed = await runCliProcess(newHome(), "request", "create", "pod/web", "-v", "1");
  expect(audit.exec(detailed.stdout)?.[1]).toHaveLength(36);
  expect(detailed.stdout).toMatch(/ by Priority\n +the plugin handles CREATE of pods\n +add \/spec\/priority 0\n/);
});
