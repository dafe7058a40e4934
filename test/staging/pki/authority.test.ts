import assert from "node:assert/strict";
import { test } from "vitest";
import { createApiServerCertificate, createAuthority } from "../../../src/staging/pki/authority.js";
import { parseCertificatePem } from "../../../src/staging/pki/certificate.js";
import { type Clock, SystemClock } from "../../../src/util/clock.js";
import { SystemRandom } from "../../../src/util/random.js";

const MINUTE_MS = 60_000;

/** A clock that stands still. */
function clockOf(speed: number, nowMs: number): Clock {
  const clock = new SystemClock(speed);
  return { speed, now: () => nowMs, sleep: clock.sleep.bind(clock), timer: clock.timer.bind(clock) };
}

for (const [speed, minutes] of [
  [1, 5],
  [0.1, 5],
  [10_000, 50_000],
] as const) {
  test(`certificates of a clock that runs ${speed}x are valid from 5 minutes by the wall's before`, async () => {
    const nowMs = Date.parse("2026-01-01T00:00:00Z");
    const deps = { clock: clockOf(speed, nowMs), random: new SystemRandom() };
    const ca = await createAuthority(deps, { commonName: "kubernetes" });
    const { certificatePem } = await createApiServerCertificate(ca, deps);
    for (const pem of [ca.certificatePem, certificatePem]) {
      assert.equal(parseCertificatePem(pem).notBeforeMs, nowMs - minutes * MINUTE_MS);
    }
  });
}
