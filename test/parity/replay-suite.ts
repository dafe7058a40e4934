import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { suiteNeeding } from "../support/requirements.js";
import { complaints, judge } from "./judge.js";
import { hasRecordings, RECORDINGS, recordTopics } from "./recorder.js";

/** The recorder waits for controllers, for tokens to expire, and for nothing to happen. */
const TIMEOUT_MS = 180_000;

/**
 * Lets the recorder send the recorded requests to the embedded control plane, and fails on unlisted differences, on any
 * in a status code, a reason or a watch event, and on listed ones that no longer occur.
 */
export function replaySuite(topics: readonly string[]): void {
  const title = `replay of a real kube-apiserver's responses: ${topics.join(", ")}`;
  if (!hasRecordings) {
    describe.skip(`${title} (skipped: no ${RECORDINGS} here)`, () => test("recordings", () => undefined));
    return;
  }
  suiteNeeding(["python3", "openssl"], title, () => {
    test.each(topics)(
      "%s",
      async (topic) => {
        const folder = await mkdtemp(join(tmpdir(), "kubelab-replay-"));
        try {
          for await (const result of recordTopics([topic], folder)) expect(complaints(judge(result))).toBe("");
        } finally {
          await rm(folder, { recursive: true, force: true });
        }
      },
      TIMEOUT_MS,
    );
  });
}
