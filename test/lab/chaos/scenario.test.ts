import { expect, test } from "vitest";
import { FAULTS } from "../../../src/lab/chaos/faults.js";
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
  ["a duration", file("{ when: { at: soon }, fault: node-stop }"), '"soon" is no duration'],
  ["a condition", file(STOP, "{ condition: web is up, within: 1m }"), "is not a condition"],
  ["a state of a node", file(STOP, "{ condition: node/n=Up, within: 1m }"), "no state of a node"],
  ["an unknown field", file(STOP, "{ condition: event=X, within: 1m, always: true }"), "always"],
  ["two documents", `${file(STOP)}---\n${file(STOP)}`, "one YAML document"],
])("refuses %s", (_, text, message) => {
  expect(() => parseScenario(text, "s.yaml")).toThrow(message);
});

test("each fault is an injection of the labs, and so is what takes it back", () => {
  for (const [name, { undo }] of Object.entries(FAULTS)) {
    const args = { pod: "web", image: "", rpc: "*", condition: "NetworkReady" };
    const unknown = (one: string, given: object) =>
      injectionProblems(one, { ...given }, sayIn("en")).filter((text) => text.includes("unknown"));
    expect(unknown(name, args)).toEqual([]);
    const [back, given] = undo?.(args) ?? [name, args];
    if (undo !== undefined) expect(injectionProblems(back, given, sayIn("en"))).toEqual([]);
  }
});
