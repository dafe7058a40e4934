import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "vitest";
import { askHost } from "../../../../../src/lab/labs/session/detached/client.js";
import { hostLab } from "../../../../../src/lab/labs/session/detached/host.js";
import { LabSession } from "../../../../../src/lab/labs/session/session.js";
import { Speaker } from "../../../../../src/lab/labs/session/speaker.js";
import { Mutex } from "../../../../../src/util/async/mutex.js";
import { MemoryPlace } from "../../../../support/memory-place.js";
import { TINY_YAML, tinyLab } from "../../../../support/tiny-lab.js";

test("a picture that is asked for before a step has done something is not written", async () => {
  const place = new MemoryPlace();
  const session = new LabSession(await tinyLab(TINY_YAML), place, { language: "en", seed: 1, emit: () => {} });
  const socket = join(place.folder, "lab.sock");
  const end = new AbortController();
  const never = new AbortController().signal;
  const written: string[] = [];
  const writePicture = async () => {
    written.push(session.step?.id ?? "");
    return "/page.html";
  };
  const options = { socket, writePicture, written: async () => {}, language: "en", turns: new Mutex() } as const;
  const serving = hostLab(session, new Speaker(() => {}), options, end.signal).catch(() => {});
  const page = async () => {
    for (;;) {
      // It listens soon.
      const answer = await askHost(socket, { op: "page" }, () => {}, never);
      if (answer !== undefined) return answer.path;
    }
  };
  assert.equal(await page(), undefined);
  // A text to read does nothing.
  await session.perform(undefined, never);
  assert.equal(await page(), undefined);
  session.present();
  await session.perform(undefined, never);
  assert.equal(await page(), "/page.html");
  assert.deepEqual(written, ["lines"]);
  end.abort();
  await serving;
});
