import { rfc3339Micro } from "../../staging/apimachinery/time.js";
import type { KubeClient } from "../../staging/client-go/rest/client.js";
import { NODE_LEASES, objectPath } from "../../staging/client-go/rest/paths.js";
import { LabError } from "../../util/errors.js";
import { FAULTS } from "./faults.js";
import type { Recording } from "./recording.js";
import type { Plan } from "./run.js";
import { parseScenario, type Scenario } from "./scenario.js";

type Entry = Scenario["do"][number];

/** The one thing that a run does differently from a recorded one. */
export type Change =
  | { readonly kind: "fault"; readonly entry: Entry }
  | { readonly kind: "without"; readonly fault: string }
  | { readonly kind: "renew-lease"; readonly node: string };

const FORMS =
  "a fault of kubelab chaos list ('partition node=node-1 how=drop for=20s'), 'no FAULT', or 'renew-lease node=NODE'";

/**
 * Reads the value of `--change`.
 * @throws LabError USAGE; BAD_FILE for a fault that is unknown or has a wrong argument
 */
export function parseChange(text: string, { nodes }: Pick<Scenario, "nodes">): Change {
  const [first = "", ...rest] = text.trim().split(/\s+/);
  const bad = (why: string) => new LabError("USAGE", `--change ${JSON.stringify(text)}: ${why}`, `Give ${FORMS}.`);
  if (first === "no") {
    if (rest.length !== 1) throw bad("expected the name of one fault after 'no'");
    return { kind: "without", fault: rest[0] ?? "" };
  }
  const pairs = rest.map((word) => /^([^=]+)=(.+)$/.exec(word));
  const wrong = pairs.indexOf(null);
  if (first === "" || wrong >= 0) throw bad(`expected NAME=VALUE instead of ${JSON.stringify(rest[wrong] ?? "")}`);
  const args = Object.fromEntries(pairs.map((pair) => [pair?.[1] ?? "", argumentOf(pair?.[2] ?? "")]));
  if (first === "renew-lease") {
    const { node, ...others } = args;
    const names = Array.from({ length: nodes }, (_, i) => `node-${i + 1}`);
    if (!names.includes(String(node)) || Object.keys(others).length > 0)
      throw bad(`expected node=NODE alone, one of ${names.join(", ")}`);
    return { kind: "renew-lease", node: String(node) };
  }
  const { for: length, ...known } = args;
  const entry = { when: { at: "0s" }, fault: first, with: known, ...(length === undefined ? {} : { for: length }) };
  const { do: [parsed] = [] } = parseScenario(
    JSON.stringify({ title: "change", nodes, do: [entry], expect: [{ condition: "event=x", within: "1s" }] }),
    "--change",
  );
  if (parsed === undefined) throw bad("expected a fault");
  return { kind: "fault", entry: parsed };
}

function argumentOf(text: string): string | number | boolean {
  if (text === "true" || text === "false") return text === "true";
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}

/**
 * What a recorded scenario becomes if it is changed from a moment on.
 * @param atMs the moment, Unix ms @param zeroMs from which the scenario's times count
 * @throws LabError USAGE for a fault that the scenario does not have then, or that cannot be taken back
 */
export function changed({ scenario, facts }: Recording, change: Change, atMs: number, zeroMs: number): Plan {
  const at = Math.max(0, atMs - zeroMs);
  if (change.kind === "fault") {
    return { scenario: { ...scenario, do: [...scenario.do, { ...change.entry, when: { at } }] }, inputs: [] };
  }
  if (change.kind === "renew-lease") {
    const { node } = change;
    const run = ({ client, facts: log, clock }: Parameters<Plan["inputs"][number]["run"]>[0]) =>
      log.injection("renew-lease", { node }, () => renewLease(client, node, clock.now()));
    return { scenario, inputs: [{ atMs: zeroMs + at, run }] };
  }
  return { scenario: { ...scenario, do: without(scenario, change.fault, at, startOf(facts, zeroMs)) }, inputs: [] };
}

/** Writes the time of renewal into the Lease of a node, as its kubelet would. */
async function renewLease(client: KubeClient, node: string, nowMs: number): Promise<void> {
  const path = objectPath(NODE_LEASES, node);
  const body = { spec: { renewTime: rfc3339Micro(nowMs) } };
  await client.request({ method: "PATCH", path, body, contentType: "application/merge-patch+json" });
}

/** When a fault that waited for a condition began in the recording, in ms of the scenario; undefined: it did not. */
function startOf(facts: Recording["facts"], zeroMs: number) {
  return ({ when, fault }: Entry): number | undefined => {
    if (typeof when !== "string") return when.at;
    const title = `the lab injects ${fault}`;
    const found = facts.find((fact) => fact.kind === "step" && `${fact.title},`.startsWith(`${title},`));
    return found && found.atMs - zeroMs;
  };
}

function without(scenario: Scenario, fault: string, at: number, start: (entry: Entry) => number | undefined): Entry[] {
  const isOver = (entry: Entry) => {
    const startMs = start(entry);
    return startMs === undefined || (entry.for !== undefined && startMs + entry.for <= at);
  };
  const meant = scenario.do.filter((entry) => entry.fault === fault && !isOver(entry));
  if (meant.length === 0) {
    const open = [...new Set(scenario.do.filter((entry) => !isOver(entry)).map((entry) => entry.fault))];
    throw new LabError(
      "USAGE",
      `--change: the recorded run has no fault ${JSON.stringify(fault)} at ${at / 1000} s or later`,
      open.length === 0 ? "All its faults are over then: give an earlier step." : `It has ${open.join(", ")}.`,
    );
  }
  return scenario.do.flatMap((entry) => {
    if (!meant.includes(entry)) return [entry];
    const startMs = start(entry) ?? at;
    if (startMs >= at) return [];
    if (FAULTS[fault]?.undo === undefined) {
      throw new LabError("USAGE", `--change: ${fault} cannot be taken back`, "Give a step before it begins.");
    }
    return [{ ...entry, for: at - startMs }];
  });
}
