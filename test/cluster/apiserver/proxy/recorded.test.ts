import assert from "node:assert/strict";
import { afterAll, beforeAll, describe, test } from "vitest";
import { MISSING_RECORDINGS, recorded } from "../../../support/recordings.js";
import { ProxyLab } from "./lab.js";

const PREFIX = "kubelet subresource: ";

describe.skipIf(MISSING_RECORDINGS !== undefined)(
  `responses of a real API server (needs ${MISSING_RECORDINGS ?? ""})`,
  () => {
    let lab: ProxyLab;
    beforeAll(async () => {
      lab = await ProxyLab.open();
      await lab.pod("l1", ["c"], "n");
      await lab.pod("l4", ["c"]);
      await lab.pod("two", ["a", "b"], "n");
      // No server listens there any more.
      await lab.kubelet.close();
    });
    afterAll(() => lab[Symbol.asyncDispose]());

    for (const { name, request, response } of recorded("pods").filter((one) => one.name.startsWith(PREFIX))) {
      test(name.slice(PREFIX.length), async () => {
        const { method, path, headers } = request;
        const answer = await lab.face.ask(path, { method, headers: { ...headers } });
        assert.equal(answer.status, response.status);
        const port = String(lab.kubelet.port);
        const body =
          answer.text === "" ? null : JSON.parse(answer.text.replaceAll(`127.0.0.1:${port}`, "127.0.0.1:10250"));
        assert.deepEqual(body, response.body);
        assert.equal(answer.headers["content-type"], response.headers?.["content-type"]);
      });
    }
  },
);
