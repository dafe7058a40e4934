import { expect, test } from "vitest";
import { ruleAllows } from "../../src/cluster/apiserver/auth/authorization/rule-matching.js";
import { LinkRewriter } from "../../src/cluster/apiserver/proxy/rewrite-links.js";
import { baseName } from "../../src/cluster/shell/fs/paths.js";
import { durationMs } from "../../src/cluster/shell/programs/agnhost/flags.js";
import { parseOptions } from "../../src/cluster/shell/programs/net/options.js";
import { parseDuration } from "../../src/commands/cli/options.js";
import { expand } from "../../src/kubelet/container/expansion.js";
import { parseThresholdConfig } from "../../src/kubelet/eviction/parse.js";
import { SyncLoopObserver } from "../../src/kubelet/sync/sync-loop-observer.js";
import { findIn } from "../../src/lab/labs/checks/match.js";
import { canonicalQuantity } from "../../src/staging/apimachinery/quantity.js";
import { fromPem } from "../../src/staging/client-go/rest/tls.js";
import { isWebSocketRequest } from "../../src/staging/streaming/websocket/subprotocols.js";
import { Fold } from "../../src/trace/terminal/fold.js";
import { Trace } from "../../src/trace/trace.js";
import { lastErrorIn } from "../../src/util/grpc-last-error.js";
import { joinLines, withoutEnding } from "../../src/util/text/linear-text.js";
import { FakeClock } from "../support/fake-clock.js";
import { growth, repeated } from "../support/growth.js";

const fold = new Fold(() => {}, new FakeClock());
const loop = new SyncLoopObserver(new Trace(new FakeClock()));
const fact = { seq: 1, id: "1", atMs: 0, actor: "user", level: 1, kind: "note", text: "" } as const;

/** Errors are fine: the time until they are thrown counts. */
function tried(work: () => unknown): void {
  try {
    work();
  } catch {}
}

const rows: readonly (readonly [what: string, work: (text: string) => unknown, textOf: (length: number) => string])[] =
  [
    ["a quantity", canonicalQuantity, repeated("0", { tail: "x" })],
    ["a flag's duration", (text) => tried(() => parseDuration(text)), repeated("0")],
    ["agnhost's duration", durationMs, repeated("0")],
    [
      "curl's seconds",
      (text) => parseOptions(["-m", text], { "max-time": "m:" }).milliseconds("max-time"),
      repeated("0", { tail: "x" }),
    ],
    [
      "an eviction threshold",
      (text) => tried(() => parseThresholdConfig({ evictionHard: { "memory.available": text } })),
      repeated("0", { tail: "x%" }),
    ],
    [
      "an eviction threshold of percent signs",
      (text) => tried(() => parseThresholdConfig({ evictionHard: { "memory.available": text } })),
      repeated("%", { tail: "x%" }),
    ],
    [
      "a PEM of beginnings",
      (text) => tried(() => fromPem(text, "", () => {})),
      repeated("-----BEGIN CERTIFICATE-----"),
    ],
    ["a variable", (text) => expand(text, () => undefined), repeated("$(")],
    ["a variable behind the last bracket", (text) => expand(text, () => undefined), repeated("$(", { head: ")" })],
    ["a kubelet's problem", (text) => loop.skipped(text), repeated("0")],
    ["a lab's output", (text) => findIn(text, "absent"), repeated(" ")],
    ["the last name of a path", baseName, repeated("/", { tail: "a" })],
    ["a Connection header", (text) => upgrades(text), repeated("a")],
    ["a Connection header of commas", (text) => upgrades(text), repeated(", ")],
    ["a terminal's line of letters", (text) => fold.take(fact, text), repeated("a")],
    ["a terminal's line of a path", (text) => fold.take(fact, text), repeated("a/")],
    ["a failed connection", lastErrorIn, repeated("Last error: ")],
    [
      "the time of a failed connection",
      lastErrorIn,
      repeated(" (2026-01-01T", { head: "Last error: ", tail: ". Resolution note:" }),
    ],
    ["an ending", (text) => withoutEnding(text, "/"), repeated("/", { tail: "a" })],
    ["lines", (text) => joinLines(text, ", "), repeated(" ")],
    [
      "a rule's URL",
      (text) => ruleAllows(nonResource("/x"), { ...RULE, nonResourceURLs: [`${text}a*`] }),
      repeated("*"),
    ],
  ];

const RULE = { verbs: ["get"], apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: [] };

function nonResource(path: string): Parameters<typeof ruleAllows>[0] {
  const none = { apiGroup: "", apiVersion: "", resource: "", subresource: "", namespace: "", name: "" };
  return { ...none, verb: "get", path, isResourceRequest: false } as unknown as Parameters<typeof ruleAllows>[0];
}

function upgrades(connection: string): boolean {
  return isWebSocketRequest({ headers: { upgrade: "websocket", connection } });
}

test.each(rows)("the time for %s is linear", (_what, work, textOf) => {
  expect(growth(work, textOf)).toBeLessThan(10);
});

test("the time for the tags of a proxied page is linear in their length", () => {
  const source = { host: "a", requestHost: "b", pathPrepend: "/c" };
  const rewrite = (tag: string) => {
    const rewriter = new LinkRewriter(source);
    for (let i = 0; i < 200; i++) rewriter._transform(Buffer.from(tag), "utf8", () => rewriter.read());
  };
  // A longer tag passes unchanged.
  const tag = (length: number) => `<a ${"x".repeat(Math.min(length, 8_192) - 100)}>`;
  expect(growth(rewrite, tag)).toBeLessThan(10);
});
