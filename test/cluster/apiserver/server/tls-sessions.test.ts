import assert from "node:assert/strict";
import { request } from "node:https";
import { createSecureContext, type TLSSocket } from "node:tls";
import { test } from "vitest";
import { startControlPlane } from "../../../../src/cluster/control-plane/start.js";
import type { RestConfig } from "../../../../src/staging/client-go/rest/client.js";
import { SystemClock } from "../../../../src/util/clock.js";
import { type TlsServer, TlsSessions } from "../../../../src/util/net/tls-sessions.js";
import { SystemRandom } from "../../../../src/util/random.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { recordingTrace } from "../../../support/trace.js";

/** A clock that can be advanced without waking sleepers. */
class JumpingClock extends FakeClock {
  aheadMs = 0;
  override now(): number {
    return super.now() + this.aheadMs;
  }
}

interface Answer {
  readonly status: number | undefined;
  readonly isResumed: boolean;
}

/** Sends a request on a new connection. */
function ask(config: RestConfig, sessions: TlsSessions): Promise<Answer> {
  const { hostname, port } = new URL(config.server);
  return new Promise((resolve, reject) => {
    const createConnection = (server: TlsServer) => sessions.connect(server);
    const sent = request({ host: hostname, port, path: "/api/v1/nodes", createConnection }, (response) => {
      const isResumed = (response.socket as TLSSocket).isSessionReused();
      const { statusCode: status } = response;
      response.resume().once("close", () => resolve({ status, isResumed }));
    });
    sent.once("error", reject);
    sent.end();
  });
}

test("a resumed TLS session keeps the identity of the certificate until that expires", async () => {
  const clock = new JumpingClock(new SystemClock().now());
  const deps = { clock, random: new SystemRandom(), trace: recordingTrace(clock).trace };
  const controlPlane = await startControlPlane({ ...deps, kubeVersion: "1.25" });
  try {
    const { admin } = controlPlane;
    const { caPem: ca, clientCertificatePem: cert, clientKeyPem: key } = admin;
    assert.ok(ca !== undefined && cert !== undefined && key !== undefined);
    const somebody = new TlsSessions({ secureContext: createSecureContext({ ca, cert, key }) });
    const nobody = new TlsSessions({ secureContext: createSecureContext({ ca }) });
    assert.deepEqual(await ask(admin, somebody), { status: 200, isResumed: false });
    assert.deepEqual(await ask(admin, somebody), { status: 200, isResumed: true });
    for (const isResumed of [false, true]) assert.deepEqual(await ask(admin, nobody), { status: 403, isResumed });
    clock.aheadMs = 20 * 365 * 24 * 3_600_000;
    assert.deepEqual(await ask(admin, somebody), { status: 401, isResumed: true });
  } finally {
    await controlPlane.close();
  }
});
