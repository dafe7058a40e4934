import assert from "node:assert/strict";
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { describe, test } from "vitest";
import { KubeletAuth } from "../../../src/kubelet/server/kubelet-auth.js";
import { ExpiringCache } from "../../../src/staging/server/expiring-cache.js";
import { LabError } from "../../../src/util/errors.js";
import { FakeClock } from "../../support/fake-clock.js";
import { MemoryClient } from "../../support/memory-client.js";
import { recordingTrace } from "../../support/trace.js";

/** The API server of these tests knows every token that does not begin with `no`, and lets in who has `yes` in the name. */
class Lab {
  readonly clock = new FakeClock();
  readonly auth: KubeletAuth;
  readonly api: MemoryClient;
  failures: (Error | { readonly status: number })[] = [];

  constructor() {
    this.api = new MemoryClient(({ path, body }) => {
      const failure = this.failures.shift();
      if (failure !== undefined) return failure;
      const { token = "", user = "" } = (body as { spec: { token?: string; user?: string } }).spec;
      const known = token.startsWith("no") ? { user: {} } : { authenticated: true, user: { username: token } };
      return {
        status: 201,
        body: { status: path.endsWith("tokenreviews") ? known : { allowed: user.includes("yes") } },
      };
    });
    const { trace } = recordingTrace(this.clock);
    this.auth = new KubeletAuth({ client: this.api, clock: this.clock, trace }, { nodeName: "n1" });
  }

  /** @returns the status of the response, 200 for an allowed request */
  async ask(token: string, path = "/pods"): Promise<number> {
    const admission = await this.auth.admit(requestWith({ authorization: `Bearer ${token}` }), path, 3);
    return admission.outcome === "allowed" ? 200 : admission.status;
  }

  /** what the API server was asked since the last time: T for a token, A for a right */
  asked(): string {
    return this.api.requests
      .splice(0)
      .map(({ path }) => (path.endsWith("tokenreviews") ? "T" : "A"))
      .join("");
  }
}

function requestWith(headers: Readonly<Record<string, string>>): IncomingMessage {
  const request = new IncomingMessage(new Socket());
  request.method = "GET";
  Object.assign(request.headers, headers);
  request.rawHeaders = Object.entries(headers).flat();
  return request;
}

describe("kubelet auth: what is remembered", () => {
  const MINUTE_MS = 60_000;
  const rows: readonly [string, string, readonly (readonly [waitMs: number, status: number, asked: string])[]][] = [
    [
      "a token for 2 minutes, a right for 5",
      "yes",
      [
        [0, 200, "TA"],
        [2 * MINUTE_MS - 1, 200, ""],
        [1, 200, "T"],
        [3 * MINUTE_MS - 1, 200, "T"],
        [1, 200, "A"],
      ],
    ],
    [
      "that somebody may not: for 30 seconds",
      "maybe",
      [
        [0, 403, "TA"],
        [29_999, 403, ""],
        [1, 403, "A"],
      ],
    ],
    [
      "that a token is nobody's: for 2 minutes",
      "none",
      [
        [0, 401, "T"],
        [2 * MINUTE_MS - 1, 401, ""],
        [1, 401, "T"],
      ],
    ],
  ];
  for (const [what, token, steps] of rows) {
    test(what, async () => {
      const lab = new Lab();
      for (const [waitMs, status, asked] of steps) {
        await lab.clock.advance(waitMs);
        assert.equal(await lab.ask(token), status);
        assert.equal(lab.asked(), asked, `${lab.clock.now()}`);
      }
    });
  }

  test("each right has its own review", async () => {
    const lab = new Lab();
    await lab.ask("yes");
    await lab.ask("yes", "/metrics");
    await lab.ask("yes", "/exec/a/b/c");
    assert.equal(lab.asked(), "TAA");
  });

  test("a hundred requests at once ask once", async () => {
    const lab = new Lab();
    const all = await Promise.all(Array.from({ length: 100 }, () => lab.ask("yes")));
    assert.deepEqual(new Set(all), new Set([200]));
    assert.equal(lab.asked(), "TA");
  });

  test("a failure is not remembered", async () => {
    const lab = new Lab();
    lab.failures = [{ status: 500 }];
    assert.equal(await lab.ask("yes"), 401);
    lab.failures = [];
    assert.equal(await lab.ask("yes"), 200);
    lab.failures = [{ status: 403 }];
    assert.equal(await lab.ask("yes", "/metrics"), 500);
  });

  test("an API server that is away is tried again at once, after 500, 750 and 1125 ms, and then no more", async () => {
    const lab = new Lab();
    const away = new LabError("CLUSTER_UNREACHABLE", "connection refused", "start it");
    lab.failures = Array.from({ length: 9 }, () => away);
    const answer = lab.ask("yes");
    const counts: number[] = [];
    for (const ms of [0, 499, 1, 750, 1125]) {
      await lab.clock.advance(ms);
      counts.push(lab.api.requests.length);
    }
    assert.equal(await answer, 401);
    assert.deepEqual(counts, [2, 2, 3, 4, 5]);
    assert.equal(lab.clock.sleeping, 0);
  });

  test("closing ends what is asked", async () => {
    const lab = new Lab();
    lab.failures = Array.from({ length: 9 }, () => new LabError("CLUSTER_UNREACHABLE", "away", "start it"));
    const answer = lab.ask("yes");
    await lab.clock.advance(0);
    await lab.auth.close();
    await assert.rejects(answer, { name: "AbortError" });
    assert.equal(lab.clock.sleeping, 0);
  });
});

describe("kubelet auth: tokens go no further", () => {
  const protocol = (token: string) =>
    `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString("base64url")}`;

  test("a token in a WebSocket's subprotocols counts, and is taken out", async () => {
    const lab = new Lab();
    const request = requestWith({
      upgrade: "websocket",
      "sec-websocket-protocol": `v4.channel.k8s.io, ${protocol("yes")}`,
    });
    assert.equal((await lab.auth.admit(request, "/exec/a/b/c", 3)).outcome, "allowed");
    assert.deepEqual(request.rawHeaders, ["upgrade", "websocket", "sec-websocket-protocol", "v4.channel.k8s.io"]);
  });

  test("... but not in a request that is no WebSocket", async () => {
    const lab = new Lab();
    const admission = await lab.auth.admit(requestWith({ "sec-websocket-protocol": protocol("yes") }), "/pods", 3);
    assert.equal(admission.outcome === "refused" && admission.status, 401);
  });

  test("a bearer token is taken out", async () => {
    const lab = new Lab();
    const request = requestWith({ Authorization: "Bearer yes", authorization: "Bearer yes", "x-other": "stays" });
    await lab.auth.admit(request, "/exec/a/b/c", 3);
    assert.deepEqual(request.rawHeaders, ["x-other", "stays"]);
  });
});

test("expiring cache: beyond its size the least recently used entry is evicted", async () => {
  const clock = new FakeClock();
  const cache = new ExpiringCache<string>(clock, () => 1000, 2);
  const asked: string[] = [];
  const get = (key: string) =>
    cache.get(key, async () => {
      asked.push(key);
      return key;
    });
  for (const key of ["a", "b", "c", "b", "c", "a", "b"]) await get(key);
  assert.equal(asked.join(""), "abcab");
});
