import { describe, expect, test } from "vitest";
import { isMark, type KubeletRequest, KubeletStory, recordedKubelet } from "./kubelet-story.js";
import { hasRecordings } from "./recorder.js";

describe.skipIf(!hasRecordings)(`a real kubelet's requests${hasRecordings ? "" : " (no recordings here)"}`, () => {
  test("are answered with the recorded status codes, from bootstrap to the deletion of its node", async () => {
    const story = await KubeletStory.begin();
    const differences: string[] = [];
    let count = 0;
    let mark = "";
    let previous: KubeletRequest | undefined;
    try {
      for (const entry of recordedKubelet()) {
        if (isMark(entry)) {
          mark = entry.mark;
          await story.act(mark);
          continue;
        }
        if (previous?.authorization !== undefined && entry.authorization === undefined) await story.takeCertificate();
        const { status, text } = await story.send(entry);
        count++;
        if (status !== entry.status) {
          differences.push(
            `${entry.at} (${mark}) ${entry.method} ${entry.path}: ${entry.status} recorded, ${status} here: ${text}`,
          );
        }
        previous = entry;
      }
    } finally {
      await story.close();
    }
    expect(differences).toEqual([]);
    expect(count).toBeGreaterThan(190);
  });
});
