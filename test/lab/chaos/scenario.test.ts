import { expect, test } from "vitest";
import { FAULTS } from "../../../src/lab/chaos/faults.js";
import { scenarioSchema } from "../../../src/lab/chaos/json-schema.js";
import { openScenario, readyScenarios } from "../../../src/lab/chaos/library.js";
import { parseScenario } from "../../../src/lab/chaos/scenario.js";
import { injectionProblems } from "../../../src/lab/labs/format/injection-names.js";
import { sayIn } from "../../../src/util/i18n/catalogue.js";

const file = (entry: string, expectation = "{ condition: pod/web=Running, within: 1m }") =>
  `title: a test\ndo:\n  - ${entry}\nexpect:\n  - ${expectation}\n`;

const STOP = "{ when: { at: 1m }, fault: node-stop, for: 30s }";

test("durations are ms", () => {
  const { do: faults, expect: expectations } = parseScenario(file(STOP), "s.yaml");
  expect(faults).toEqual([{ when: { at: 60_000 }, fault: "node-stop", with: {}, for: 30_000 }]);
  expect(expectations).toEqual([{ condition: "pod/web=Running", from: 0, within: 60_000, never: false }]);
});

test.each([
  ["an unknown fault", file("{ when: { at: 1s }, fault: pul-fault }"), "did you mean pull-fault?"],
  ["an unknown argument", file("{ when: { at: 1s }, fault: node-stop, with: { now: true } }"), "do.0.with: "],
  ["a missing argument", file("{ when: { at: 1s }, fault: kill-container }"), "pod"],
  [
    "a fault that has no end",
    file("{ when: { at: 1s }, fault: remove-container, with: { pod: web }, for: 1s }"),
    "cannot be taken back",
  ],
  [
    "a word that is none of the known",
    file("{ when: { at: 1s }, fault: pull-fault, with: { image: a, how: lost } }"),
    "not-found | denied | unreachable | rate-limited",
  ],
  [
    "a status code of success",
    file("{ when: { at: 1s }, fault: api-fault, with: { code: 200 } }"),
    "expected a number from 400 to 599",
  ],
  ["a duration", file("{ when: { at: soon }, fault: node-stop }"), '"soon" is no duration'],
  ["a condition of a fault", file("{ when: web is up, fault: node-stop }"), "do.0.when: "],
  ["a when that is neither", file("{ when: 3, fault: node-stop }"), "do.0.when: "],
  ["a moment without its time", file("{ when: {}, fault: node-stop }"), "do.0.when.at: expected a duration"],
  ["a condition", file(STOP, "{ condition: web is up, within: 1m }"), "is not a condition"],
  ["a state of a node", file(STOP, "{ condition: node/n=Up, within: 1m }"), "no state of a node"],
  ["an unknown field", file(STOP, "{ condition: event=X, within: 1m, always: true }"), "always"],
  ["an unknown invariant", file(STOP).replace("expect:", "invariants: [no-pod-lst]\nexpect:"), "invariants.0: "],
  ["neither expectations nor invariants", "title: a test\n", "expected an expectation or an invariant"],
  ["two documents", `${file(STOP)}---\n${file(STOP)}`, "one YAML document"],
])("refuses %s", (_, text, message) => {
  expect(() => parseScenario(text, "s.yaml")).toThrow(message);
});

test("each fault is an injection of the labs, and so is what takes it back", () => {
  for (const [name, { undo }] of Object.entries(FAULTS)) {
    const args = { pod: "web", image: "", rpc: "*", condition: "NetworkReady" };
    // It takes only some of them.
    const needed = injectionProblems(name, {}, sayIn("en")).map((text) => /(?<=needs )\w+/.exec(text)?.[0] ?? text);
    expect(Object.keys(args)).toEqual(expect.arrayContaining(needed));
    const given = Object.fromEntries(Object.entries(args).filter(([key]) => needed.includes(key)));
    for (const [one, more] of [[name, given] as const, undo?.(given) ?? [name, given]]) {
      expect(injectionProblems(one, more, sayIn("en"))).toEqual([]);
    }
  }
});

test("the schema has each field of a file, and the names of the faults", () => {
  const { properties } = scenarioSchema() as {
    readonly properties: Readonly<Record<string, { readonly items?: object }>>;
  };
  expect(Object.keys(properties)).toEqual(["title", "seed", "nodes", "objects", "do", "expect", "invariants"]);
  expect(properties["do"]?.items).toMatchObject({
    properties: { fault: { enum: Object.keys(FAULTS) }, for: { type: "string" } },
    required: ["when", "fault"],
    additionalProperties: false,
    allOf: expect.arrayContaining([
      {
        if: { properties: { fault: { const: "pull-fault" } } },
        // biome-ignore lint/suspicious/noThenProperty: the schema's own word
        then: {
          properties: {
            with: expect.objectContaining({
              properties: { node: { type: "string" }, image: { type: "string" }, how: { enum: expect.any(Array) } },
              additionalProperties: false,
              required: ["image"],
            }),
          },
          required: ["with"],
        },
      },
    ]),
  });
});

test("a ready scenario is opened by its name", async () => {
  const ready = await readyScenarios();
  expect(ready).toContainEqual({ name: "node-partition", title: "Node partition" });
  expect(await openScenario("node-partition", "/")).toMatchObject({ scenario: { title: "Node partition", nodes: 2 } });
});

test.each([
  ["node-partitio", "there is no ready scenario"],
  ["./node-partition", "no such file"],
  ["missing.yaml", "no such file"],
])("refuses %s", async (word, message) => {
  await expect(openScenario(word, import.meta.dirname)).rejects.toThrow(message);
});
