import assert from "node:assert/strict";
import { test } from "vitest";
import { summaryResult } from "../../../src/commands/pleg/result.js";
import type { CriClient } from "../../../src/staging/cri/remote/create-cri-client.js";
import { Pleg } from "../../../src/testbed/pleg/pleg.js";
import { wrapBelowLabel } from "../../../src/trace/terminal/text.js";
import { FakeClock } from "../../support/fake-clock.js";
import { recordingTrace } from "../../support/trace.js";

const version = {
  version: "0.1.0",
  runtimeName: "a-runtime-with-a-name-that-is-longer-than-most-of-those-one-knows",
  runtimeVersion: "1.0",
  runtimeApiVersion: "v1",
};

/** A runtime that never answers. */
const SILENT = {
  listPodSandbox: () => new Promise<never>(() => {}),
  listContainers: () => new Promise<never>(() => {}),
  podSandboxStatus: () => new Promise<never>(() => {}),
  containerStatus: () => new Promise<never>(() => {}),
  getContainerEvents: async function* () {},
};

for (const evented of [false, true]) {
  test(`the summary of ${evented ? "--evented" : "a run"} fits 80 columns with every line it can have`, async () => {
    const clock = new FakeClock();
    const { trace } = recordingTrace(clock);
    const pleg = new Pleg({ service: SILENT, clock, trace }, { kubeVersion: "1.26", evented });
    void pleg.generic.relist(new AbortController().signal);
    await clock.advance(7_200_000);
    const { text } = summaryResult(pleg, { endpoint: "unix:///x", version } as CriClient, 7_200_000);
    const wrapped = text.split("\n").flatMap((line) => wrapBelowLabel(line, 80));
    for (const line of wrapped) assert.ok(line.length <= 80, line);
    assert.match(
      wrapped.join("\n"),
      /health {3}pleg has yet to be successful\n {11}Cause: the container runtime's: it was asked/,
    );
    if (evented) assert.match(text, /\n {11}7201 relists \(two list calls each\) saved$/);
  });
}
