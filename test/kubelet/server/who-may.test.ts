import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { only } from "../../support/trace.js";
import { IDENTITIES, Lab, type Leaf } from "./lab.js";

const NOT_FOUND = "404 page not found\n";
const { admin, weak, foreign, expired, nameless } = IDENTITIES;

describe("kubelet server: who may do what", () => {
  const forbidden = (user: string, verb = "get", subresource = "proxy") =>
    `403 Forbidden (user=${user}, verb=${verb}, resource=nodes, subresource=${subresource})`;
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
  const rows: readonly [string, () => Leaf | undefined, Record<string, string>, string, string, string][] = [
    // who                    certificate      headers             request             answer
    ["nobody", () => undefined, {}, "GET", "/healthz", "401 Unauthorized"],
    ["nobody", () => undefined, {}, "POST", "/exec/default/web/c?output=1", "401 Unauthorized"],
    ["nobody", () => undefined, {}, "GET", "/exec/none", "401 Unauthorized"],
    ["nobody, where nothing is served", () => undefined, {}, "GET", "/none", `404 ${NOT_FOUND}`],
    ["a certificate", () => admin, {}, "GET", "/healthz", "200 ok"],
    ["a certificate without rights", () => weak, {}, "GET", "/healthz", forbidden("weak")],
    ["... for statistics", () => weak, {}, "GET", "/stats/summary", forbidden("weak", "get", "stats")],
    ["... for metrics", () => weak, {}, "GET", "/metrics", forbidden("weak", "get", "metrics")],
    ["... for the machine's logs", () => weak, {}, "GET", "/logs/", forbidden("weak", "get", "log")],
    ["... for what is not there", () => weak, {}, "DELETE", "/exec/x", forbidden("weak", "delete")],
    ["a foreign certificate", () => foreign, {}, "GET", "/healthz", "401 Unauthorized"],
    ["an expired certificate", () => expired, {}, "GET", "/healthz", "401 Unauthorized"],
    ["a certificate without a name", () => nameless, {}, "GET", "/healthz", "401 Unauthorized"],
    ["a token", () => undefined, bearer("good"), "GET", "/healthz", "200 ok"],
    ["a token, in capitals", () => undefined, { authorization: "BEARER good" }, "GET", "/healthz", "200 ok"],
    ["a token without rights", () => undefined, bearer("weak"), "GET", "/healthz", forbidden("token-weak")],
    ["an unknown token", () => undefined, bearer("none"), "GET", "/healthz", "401 Unauthorized"],
    ["a token that is told about", () => undefined, bearer("odd"), "GET", "/healthz", "401 Unauthorized"],
    ["an empty token", () => undefined, bearer(""), "GET", "/healthz", "401 Unauthorized"],
    ["a password", () => undefined, { authorization: "Basic eDp5" }, "GET", "/healthz", "401 Unauthorized"],
    ["a foreign certificate and a token", () => foreign, bearer("good"), "GET", "/healthz", "200 ok"],
    ["a certificate and an unknown token", () => admin, bearer("none"), "GET", "/healthz", "200 ok"],
  ];
  for (const [who, certificate, headers, method, path, want] of rows) {
    test(`${who}: ${method} ${path} is ${want.trim()}`, async () => {
      await using lab = await Lab.start();
      const { status, text } = await lab.client(certificate()).ask(path, { method, headers });
      assert.equal(`${status} ${text}`, want);
    });
  }

  test("anonymous requests, where they are on", async () => {
    await using lab = await Lab.start({ anonymous: true });
    const { status, text } = await lab.client().ask("/healthz");
    assert.equal(`${status} ${text}`, forbidden("system:anonymous"));
    const bad = await lab.client().ask("/healthz", { headers: bearer("none") });
    assert.equal(bad.status, 401, "a bad token does not make one anonymous");
  });

  test("the API server does not answer: no token is known, and no right", async () => {
    await using lab = await Lab.start({ down: true });
    assert.equal((await lab.client().ask("/healthz", { headers: bearer("good") })).status, 401);
    const { status, text } = await lab.client(admin).ask("/healthz");
    assert.equal(
      `${status} ${text}`,
      "500 Authorization error (user=admin, verb=get, resource=nodes, subresource=proxy)",
    );
  });

  test("what the API server is asked", async () => {
    await using lab = await Lab.start();
    await lab.client().ask("/stats/summary", { headers: bearer("good") });
    const [token, access] = lab.api.requests.map(({ path, body }) => ({ path, spec: (body as { spec: object }).spec }));
    assert.deepEqual(token, { path: "/apis/authentication.k8s.io/v1/tokenreviews", spec: { token: "good" } });
    assert.deepEqual(access, {
      path: "/apis/authorization.k8s.io/v1/subjectaccessreviews",
      spec: {
        user: "token-good",
        groups: ["g", "system:authenticated"],
        resourceAttributes: { verb: "get", version: "v1", resource: "nodes", subresource: "stats", name: "n1" },
      },
    });
  });

  test("the trace shows which users were allowed, without secrets", async () => {
    await using lab = await Lab.start();
    await lab.client().ask("/run/default/web/c?cmd=x", { method: "POST", headers: bearer("good") });
    await lab.client(weak).ask("/run/default/web/c", { method: "POST" });
    const told = only(lab.recorded.events, "decision").map(({ what, why }) => `${what}: ${why}`);
    assert.deepEqual(told, [
      "token-good (by bearer token (TokenReview); groups g, system:authenticated) may create nodes/proxy: the API server's answer to a SubjectAccessReview",
      "weak (by client certificate; groups system:authenticated) may not create nodes/proxy: the API server's answer to a SubjectAccessReview",
    ]);
    const [step] = only(lab.recorded.events, "step");
    assert.equal(step?.title, "Serve POST /run/default/web/c");
    assert.ok(!JSON.stringify(lab.recorded.events).includes('"good"'));
  });
});
