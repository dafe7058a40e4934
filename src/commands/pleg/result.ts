import type { CriClient } from "../../staging/cri/remote/create-cri-client.js";
import type { Pleg } from "../../testbed/pleg/pleg.js";
import { counted } from "../../util/text/counted.js";
import type { CommandResult } from "../cli/context.js";

const LABEL_WIDTH = 11;

/** Name, version and API version of a runtime. */
export function versionResult({ endpoint, version }: CriClient): CommandResult {
  const { runtimeName, runtimeVersion, runtimeApiVersion } = version;
  return {
    text: `${runtimeName} ${runtimeVersion}, runtime API ${runtimeApiVersion}, at ${endpoint}`,
    json: { endpoint, runtimeName, runtimeVersion, runtimeApiVersion, version: version.version },
    isProse: true,
  };
}

/** The totals of a run. @param elapsedMs its length, on its clock */
export function summaryResult(pleg: Pleg, client: CriClient, elapsedMs: number): CommandResult {
  const { summary } = pleg;
  const pods = pleg.knownPods();
  const health = pleg.healthy();
  const told = Object.entries(summary.events).map(([type, count]) => `${count} ${type}`);
  const { relists, failedRelists, inspections, discardedEvents } = summary;
  const seconds = (elapsedMs / 1000).toFixed(1);
  const lines = [
    `${counted(relists, "relist")} of ${client.version.runtimeName} in ${seconds} s, ${failedRelists} failed, ${counted(inspections, "inspection")}`,
    ...row("events", `${told.join(", ") || "none"}${discardedEvents > 0 ? `, ${discardedEvents} lost` : ""}`),
    ...row("pods", String(pods.length)),
    ...(health.healthy ? row("health", "healthy") : row("health", health.message, `Cause: ${health.cause}`)),
    ...(summary.evented === undefined ? [] : row("evented", ...savings(pleg, elapsedMs))),
  ];
  const runtime = { name: client.version.runtimeName, version: client.version.runtimeVersion };
  return { text: lines.join("\n"), json: { runtime, elapsedMs, ...summary, pods: pods.length, health }, isProse: true };
}

/** Counts the calls that the event stream made unnecessary. */
function savings(pleg: Pleg, elapsedMs: number): readonly string[] {
  const { summary, evented } = pleg;
  const events = counted(summary.evented?.received ?? 0, "event");
  if (evented === undefined || evented.hasFallenBack) return [`${events} came before the stream was given up`];
  const wouldBe = Math.floor(elapsedMs / evented.options.fallback.relistPeriodMs) + 1;
  const saved = Math.max(0, wouldBe - summary.relists);
  return [
    `${events} from the stream; none needed an inspection`,
    `${counted(saved, "relist")} (two list calls each) saved`,
  ];
}

/** A label and its sentences, each on its own lines. */
function row(label: string, ...sentences: readonly string[]): string[] {
  return sentences.map((sentence, i) => `${(i === 0 ? `  ${label}` : "").padEnd(LABEL_WIDTH)}${sentence}`);
}
