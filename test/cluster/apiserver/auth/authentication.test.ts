import assert from "node:assert/strict";
import { afterAll, beforeAll, describe, test } from "vitest";
import { createAuthority } from "../../../../src/staging/pki/authority.js";
import { bearerToken } from "../../../../src/staging/server/authentication/bearer-token.js";
import { SystemRandom } from "../../../../src/util/random.js";
import { type AuthLab, bootstrapTokenSecret, clientCertificate, START_MS, startAuth } from "./fixtures.js";

let lab: AuthLab;
beforeAll(async () => {
  lab = await startAuth();
});
afterAll(async () => {
  await lab.auth.close();
});

describe("client certificates", () => {
  test("CN is the user, O are the groups, and system:authenticated is added", async () => {
    const der = await clientCertificate(lab.ca, "system:node:n1", ["a-group", "system:nodes"]);
    const result = await lab.auth.authenticator.authenticate({ clientCertificate: der });
    assert.deepEqual(result, {
      outcome: "authenticated",
      user: { username: "system:node:n1", groups: ["a-group", "system:nodes", "system:authenticated"] },
      how: "client certificate O=a-group, O=system:nodes, CN=system:node:n1",
    });
  });

  test("the same certificate gives the same user object, from another buffer too", async () => {
    const der = await clientCertificate(lab.ca, "jane", []);
    const users = [];
    for (const clientCertificate of [der, der, Buffer.from(der)]) {
      const result = await lab.auth.authenticator.authenticate({ clientCertificate });
      assert.equal(result.outcome, "authenticated");
      users.push(result.user);
    }
    assert.equal(users[0], users[1]);
    assert.equal(users[0], users[2]);
  });

  const HOUR = 3_600_000;
  const bad = [
    ["expired", { notAfterMs: START_MS - 2_000 }, /expired or is not yet valid: current time .* is after/],
    ["not yet valid", { notBeforeMs: START_MS + HOUR }, /expired or is not yet valid: current time .* is before/],
    ["for servers", { usages: ["digital signature", "server auth"] }, /incompatible key usage/],
  ] as const;
  for (const [what, options, why] of bad) {
    test(`a certificate that is ${what} is refused`, async () => {
      const der = await clientCertificate(lab.ca, "jane", ["system:masters"], options);
      const result = await lab.auth.authenticator.authenticate({ clientCertificate: der });
      assert.equal(result.outcome, "rejected");
      assert.match(result.why, why);
    });
  }

  test("a foreign CA of the same name is refused, and so are bytes that are not a certificate", async () => {
    const foreign = await createAuthority(
      { clock: lab.clock, random: new SystemRandom() },
      { commonName: "kubernetes" },
    );
    const der = await clientCertificate(foreign, "evil", ["system:masters"]);
    for (const clientCertificate of [der, Buffer.from("nonsense")]) {
      const result = await lab.auth.authenticator.authenticate({ clientCertificate });
      assert.equal(result.outcome, "rejected");
    }
  });

  test("a certificate without a common name leaves its holder anonymous", async () => {
    const der = await clientCertificate(lab.ca, "", ["system:masters"]);
    const result = await lab.auth.authenticator.authenticate({ clientCertificate: der });
    assert.equal(result.outcome === "authenticated" && result.user.username, "system:anonymous");
  });

  test("it expires while its connection is open", async () => {
    const own = await startAuth();
    const der = await clientCertificate(own.ca, "jane", [], { notAfterMs: START_MS + 60_000 });
    const outcome = async () => (await own.auth.authenticator.authenticate({ clientCertificate: der })).outcome;
    assert.equal(await outcome(), "authenticated");
    await own.clock.advance(60_999);
    assert.equal(await outcome(), "authenticated");
    await own.clock.advance(1);
    assert.equal(await outcome(), "rejected");
    await own.auth.close();
  });
});

describe("bootstrap tokens", () => {
  const groups = ["system:bootstrappers", "system:bootstrappers:kubeadm:default-node-token", "system:authenticated"];

  test("a valid token is system:bootstrap:<id> with its extra groups", async () => {
    lab.registry.put("secrets", bootstrapTokenSecret("abcdef"));
    const result = await lab.auth.authenticator.authenticate({ authorization: "Bearer abcdef.0123456789abcdef" });
    assert.deepEqual(result, {
      outcome: "authenticated",
      user: { username: "system:bootstrap:abcdef", groups },
      how: "bootstrap token abcdef",
    });
  });

  const future = new Date(START_MS + 1_000).toISOString();
  const table = [
    // id, fields, good?
    ["good00", { expiration: future }, true],
    ["good01", { "auth-extra-groups": undefined }, true],
    ["good02", { "auth-extra-groups": "system:bootstrappers:a:b-c,system:bootstrappers:1" }, true],
    ["bad000", { "token-secret": "0123456789abcdeg" }, false],
    ["bad001", { "token-secret": "" }, false],
    ["bad002", { "token-id": "abcdef" }, false],
    ["bad003", { expiration: "2026-11-20T11:59:59Z" }, false],
    ["bad004", { expiration: "soon" }, false],
    ["bad005", { expiration: "Fri Nov 20 2099" }, false],
    ["bad006", { "usage-bootstrap-authentication": undefined }, false],
    ["bad007", { "usage-bootstrap-authentication": "True" }, false],
    ["bad008", { "auth-extra-groups": "system:masters" }, false],
    ["bad009", { "auth-extra-groups": "system:bootstrappers:a, system:bootstrappers:b" }, false],
    ["bad010", { "auth-extra-groups": "system:bootstrappers:a-" }, false],
    ["bad011", { "auth-extra-groups": "system:bootstrappers:a\nsystem:masters" }, false],
    ["bad012", { "auth-extra-groups": `system:bootstrappers:${"a".repeat(257)}` }, false],
  ] as const;
  for (const [id, fields, isGood] of table) {
    test(`${JSON.stringify(fields).slice(0, 80)} is ${isGood ? "good" : "refused"}`, async () => {
      lab.registry.put("secrets", bootstrapTokenSecret(id, fields));
      const result = await lab.auth.authenticator.authenticate({ authorization: `Bearer ${id}.0123456789abcdef` });
      assert.equal(result.outcome, isGood ? "authenticated" : "rejected");
      if (result.outcome === "rejected") assert.doesNotMatch(result.why, /0123456789/);
    });
  }

  test("a secret of another type, or one that is being deleted, is not a token", async () => {
    const other = { ...bootstrapTokenSecret("type00"), type: "Opaque" };
    const dying = bootstrapTokenSecret("dying0");
    lab.registry.put("secrets", other);
    lab.registry.put("secrets", {
      ...dying,
      metadata: { ...dying.metadata, deletionTimestamp: "2026-11-20T12:00:00Z" },
    });
    for (const id of ["type00", "dying0"]) {
      const result = await lab.auth.authenticator.authenticate({ authorization: `Bearer ${id}.0123456789abcdef` });
      assert.equal(result.outcome, "rejected");
    }
  });

  test("a valid token is cached for ten seconds after it was first accepted, not longer", async () => {
    const own = await startAuth();
    own.registry.put("secrets", bootstrapTokenSecret("abcdef", { expiration: "2026-11-20T12:00:04Z" }));
    const outcome = async () =>
      (await own.auth.authenticator.authenticate({ authorization: "Bearer abcdef.0123456789abcdef" })).outcome;
    assert.equal(await outcome(), "authenticated");
    own.registry.remove("secrets", "kube-system", "bootstrap-token-abcdef");
    await own.clock.advance(5_000);
    assert.equal(await outcome(), "authenticated");
    await own.clock.advance(5_000);
    assert.equal(await outcome(), "rejected");
    await own.auth.close();
  });

  test("a refusal is not cached: a token is valid as soon as its secret exists", async () => {
    const authorization = "Bearer later0.0123456789abcdef";
    assert.equal((await lab.auth.authenticator.authenticate({ authorization })).outcome, "rejected");
    lab.registry.put("secrets", bootstrapTokenSecret("later0"));
    assert.equal((await lab.auth.authenticator.authenticate({ authorization })).outcome, "authenticated");
  });
});

describe("which credential counts", () => {
  test("a valid token is accepted despite an invalid certificate, and the other way round", async () => {
    lab.registry.put("secrets", bootstrapTokenSecret("abcdef"));
    const good = await clientCertificate(lab.ca, "jane", []);
    const withToken = await lab.auth.authenticator.authenticate({
      clientCertificate: Buffer.from("nonsense"),
      authorization: "Bearer abcdef.0123456789abcdef",
    });
    const withCertificate = await lab.auth.authenticator.authenticate({
      clientCertificate: good,
      authorization: "Bearer nonsense",
    });
    assert.equal(withToken.outcome === "authenticated" && withToken.user.username, "system:bootstrap:abcdef");
    assert.equal(withCertificate.outcome === "authenticated" && withCertificate.user.username, "jane");
  });

  const headers = [
    [undefined, undefined],
    ["", undefined],
    ["Bearer ", undefined],
    ["Bearer", undefined],
    ["Basic eDp5", undefined],
    ["x", undefined],
    ["bearer abc", "abc"],
    ["BEARER abc def", "abc"],
    ["  Bearer abc  ", "abc"],
  ] as const;
  for (const [header, token] of headers) {
    test(`Authorization: ${JSON.stringify(header)} shows ${token ?? "no token"}`, () => {
      assert.equal(bearerToken(header), token);
    });
  }
});
