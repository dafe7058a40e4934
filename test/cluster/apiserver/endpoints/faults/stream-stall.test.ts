import { expect, test } from "vitest";
import { ServerFaults } from "../../../../../src/cluster/apiserver/endpoints/faults/server-faults.js";
import { settle, untilTrue } from "../../../../support/fake-clock.js";
import { PODS, ProxyLab } from "../../proxy/lab.js";

const CHUNK = "x".repeat(64 * 1024);
/** More than what all buffers on the way hold. */
const CHUNKS = 800;

test("a client that reads nothing stops the writer, until it reads again; other streams go on", async () => {
  let written = 0;
  const faults = new ServerFaults();
  await using lab = await ProxyLab.open(
    {
      respond: (_request, response) => {
        const more = (): void => {
          while (written < CHUNKS) {
            written++;
            if (!response.write(CHUNK)) return void response.once("drain", more);
          }
          response.end();
        };
        more();
      },
    },
    { faults },
  );
  faults.stallStreams({ resource: "pods/log" }, true);
  const reading = lab.face.ask(`${PODS}/p/log`);
  await untilTrue(() => written > 0);
  for (let before = -1; before !== written; ) {
    before = written;
    for (let i = 0; i < 200; i++) await settle();
  }
  expect(written).toBeLessThan(CHUNKS);
  faults.stallStreams({ resource: "pods/log" }, false);
  expect((await reading).bytes.length).toBe(CHUNKS * CHUNK.length);
});
