import { afterAll, beforeAll, expect, test } from "vitest";
import { ServerFaults, TLS_FAULTS } from "../../../../../src/cluster/apiserver/endpoints/faults/server-faults.js";
import { Face } from "../../server/support.js";

const REFUSALS = {
  expired: "CERT_HAS_EXPIRED",
  "not-yet-valid": "CERT_NOT_YET_VALID",
  "other-ca": "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "wrong-name": "ERR_TLS_CERT_ALTNAME_INVALID",
} as const;

let faults: ServerFaults;
let face: Face;
beforeAll(async () => {
  faults = new ServerFaults();
  face = await Face.open({ faults });
});
afterAll(() => face.close());

test.each(TLS_FAULTS)("%s: open connections end, and clients refuse new ones until it is taken back", async (how) => {
  const watch = await face.open("/api/v1/pods?watch=1", { as: { ...face.admin } });
  const ended = new Promise<void>(
    (resolve) =>
      void watch
        .on("error", () => {})
        .once("close", resolve)
        .resume(),
  );
  expect((await face.ask("/version")).status).toBe(200);
  await faults.setCertificate(how);
  await ended;
  await expect(face.ask("/version", { as: { ...face.admin } })).rejects.toMatchObject({ code: REFUSALS[how] });
  await faults.setCertificate(undefined);
  const answer = await face.ask("/api/v1/namespaces/default/pods", { as: { ...face.admin } });
  // The client's certificate still counts.
  expect(answer.status).toBe(200);
});
