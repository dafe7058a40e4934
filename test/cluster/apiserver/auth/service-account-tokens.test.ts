import assert from "node:assert/strict";
import { createPublicKey, verify } from "node:crypto";
import { afterEach, beforeEach, describe, test } from "vitest";
import type { KubeObject } from "../../../../src/staging/apimachinery/api/meta.js";
import { generatePrivateKey, privateKeyPem } from "../../../../src/staging/pki/keys.js";
import { type AuthLab, START_MS, startAuth } from "./fixtures.js";
import { recordedAuth } from "./recorded-auth.js";

const AUDIENCE = "https://kubernetes.default.svc";
const START_SECONDS = START_MS / 1_000;

let lab: AuthLab;
let account: KubeObject;
let pod: KubeObject;

beforeEach(async () => {
  lab = await startAuth({ serviceAccountKeyPem: privateKeyPem(await generatePrivateKey("ec")) });
  const metadata = { name: "default", namespace: "a" };
  account = lab.registry.put("serviceaccounts", { apiVersion: "v1", kind: "ServiceAccount", metadata });
  pod = lab.registry.put("pods", { apiVersion: "v1", kind: "Pod", metadata: { name: "p", namespace: "a" }, spec: {} });
});
afterEach(async () => {
  await lab.auth.close();
});

const issue = (options: { pod?: KubeObject; seconds?: number; audiences?: string[] } = {}) =>
  lab.auth.tokens.issue({
    serviceAccount: account,
    audiences: options.audiences ?? [],
    expirationSeconds: options.seconds ?? 600,
    ...(options.pod === undefined ? {} : { pod: options.pod }),
  });

/** `ok <username>`, or the error in a TokenReview */
async function review(token: string, audiences?: string[]): Promise<string> {
  const result = await lab.auth.authenticator.authenticateToken(token, audiences);
  return result.user === undefined ? (result.error ?? "") : `ok ${result.user.username}`;
}

function claimsOf(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
}

describe("a service account token", () => {
  test("authenticates the service account with both groups, and names its pod", async () => {
    const { token } = await issue({ pod });
    const result = await lab.auth.authenticator.authenticate({ authorization: `Bearer ${token}` });
    assert.deepEqual(result, {
      outcome: "authenticated",
      user: {
        username: "system:serviceaccount:a:default",
        uid: account.metadata.uid,
        groups: ["system:serviceaccounts", "system:serviceaccounts:a", "system:authenticated"],
        extra: {
          "authentication.kubernetes.io/pod-name": ["p"],
          "authentication.kubernetes.io/pod-uid": [pod.metadata.uid],
        },
      },
      how: "token of service account a/default",
    });
  });

  test("ends a minute of leeway after exp", async () => {
    const { token, expirationTimestamp } = await issue({ seconds: 600 });
    assert.equal(expirationTimestamp, "2026-11-20T12:10:00Z");
    await lab.clock.advance(660_000);
    assert.equal(await review(token), "ok system:serviceaccount:a:default");
    await lab.clock.advance(10_000); // past the lifetime of cached tokens
    assert.equal(await review(token), "[invalid bearer token, service account token has expired]");
  });

  test("becomes invalid with its pod or service account, although cached for ten seconds", async () => {
    const { token } = await issue({ pod });
    assert.match(await review(token), /^ok/);
    lab.registry.remove("pods", "a", "p");
    assert.match(await review(token), /^ok/);
    await lab.clock.advance(10_000);
    assert.equal(await review(token), "[invalid bearer token, service account token has been invalidated]");
    const { token: unbound } = await issue();
    lab.registry.remove("serviceaccounts", "a", "default");
    assert.equal(await review(unbound), '[invalid bearer token, serviceaccounts "default" not found]');
  });

  test("is not valid for a pod or account that was recreated with the same name", async () => {
    const { token } = await issue({ pod });
    lab.registry.put("pods", { ...pod, metadata: { ...pod.metadata, uid: "other" } });
    assert.match(await review(token), /pod UID \(other\) does not match service account pod ref claim/);
    lab.registry.put("serviceaccounts", { ...account, metadata: { ...account.metadata, uid: "new" } });
    assert.match(await review(token), /service account UID \(new\) does not match claim/);
  });

  test("is only valid for its audiences", async () => {
    const { token } = await issue({ audiences: ["vault", AUDIENCE] });
    assert.match(await review(token), /^ok/);
    assert.match(await review(token, ["vault"]), /^ok/);
    const { audiences } = await lab.auth.authenticator.authenticateToken(token, ["x", "vault"]);
    assert.deepEqual(audiences, ["vault"]);
    const { token: foreign } = await issue({ audiences: ["vault"] });
    assert.equal(
      await review(foreign),
      `[invalid bearer token, token audiences ["vault"] is invalid for the target audiences ["${AUDIENCE}"]]`,
    );
    assert.equal(
      (await lab.auth.authenticator.authenticate({ authorization: `Bearer ${foreign}` })).outcome,
      "rejected",
    );
  });

  test("is refused when anything in it was changed", async () => {
    const { token } = await issue();
    const [header = "", claims = "", signature = ""] = token.split(".");
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const decodedHeader = JSON.parse(Buffer.from(header, "base64url").toString());
    const forged = [
      `${header}.${encode({ ...claimsOf(token), sub: "system:serviceaccount:kube-system:admin" })}.${signature}`,
      `${encode({ ...decodedHeader, alg: "none" })}.${claims}.`,
      `${encode({ ...decodedHeader, alg: "HS256" })}.${claims}.${signature}`,
      `${encode({ ...decodedHeader, kid: "other" })}.${claims}.${signature}`,
      `${header}.${claims}.${Buffer.alloc(64).toString("base64url")}`,
      `${header}.${claims}.`,
    ];
    for (const one of forged) assert.match(await review(one), /^\[invalid bearer token, /, one);
    for (const one of [`${token}.x`, "a.b.c", `${header}.${claims}`]) {
      assert.equal(await review(one), "invalid bearer token");
    }
  });
});

describe("what is issued", () => {
  test("a pod's request for an hour and seven seconds gets a year, with a warning after the hour", async () => {
    const { token, expirationTimestamp } = await issue({ pod, seconds: 3_607 });
    assert.equal(expirationTimestamp, "2026-11-20T13:00:07Z");
    assert.deepEqual(claimsOf(token), {
      aud: [AUDIENCE],
      exp: START_SECONDS + 365 * 86_400,
      iat: START_SECONDS,
      iss: AUDIENCE,
      "kubernetes.io": {
        namespace: "a",
        pod: { name: "p", uid: pod.metadata.uid },
        serviceaccount: { name: "default", uid: account.metadata.uid },
        warnafter: START_SECONDS + 3_607,
      },
      nbf: START_SECONDS,
      sub: "system:serviceaccount:a:default",
    });
  });

  test.skipIf(recordedAuth() === undefined)(
    "it has the recorded claims (skipped where recordings are missing)",
    async () => {
      const item = recordedAuth()?.find(({ name }) => name === "node: service account token for its pod");
      const body = item?.response.body as { status: { token: { jwtClaims: Record<string, unknown> } } };
      const recorded = body.status.token.jwtClaims;
      const issued = claimsOf((await issue({ pod, seconds: 3_607 })).token);
      const shape = (value: object) => JSON.stringify(value, (_key, field) => (typeof field === "number" ? 0 : field));
      const names = (claims: Record<string, unknown>) => [
        Object.keys(claims),
        Object.keys(claims["kubernetes.io"] ?? {}),
      ];
      assert.deepEqual(names(issued), names(recorded));
      assert.equal(
        shape({ aud: issued["aud"], iss: issued["iss"] }),
        shape({ aud: recorded["aud"], iss: recorded["iss"] }),
      );
      assert.equal(Number(issued["exp"]) - Number(issued["iat"]), Number(recorded["exp"]) - Number(recorded["iat"]));
    },
  );

  const table = [
    // pod?, seconds, audiences, lifetime
    [true, 3_607, [], 365 * 86_400],
    [false, 3_607, [], 3_607],
    [true, 3_600, [], 3_600],
    [true, 3_607, ["vault"], 3_607],
  ] as const;
  for (const [hasPod, seconds, audiences, lifetime] of table) {
    test(`${seconds} s, ${hasPod ? "with" : "without"} a pod, for [${audiences}]: ${lifetime} s`, async () => {
      const { token } = await issue({ seconds, audiences: [...audiences], ...(hasPod ? { pod } : {}) });
      const { exp, iat } = claimsOf(token);
      assert.equal(Number(exp) - Number(iat), lifetime);
    });
  }
});

test("from v1.30 on a token has an id and names its pod's node", async () => {
  const newer = await startAuth({
    kubeVersion: "1.30",
    serviceAccountKeyPem: privateKeyPem(await generatePrivateKey("ec")),
  });
  const { registry, auth } = newer;
  registry.put("serviceaccounts", account);
  registry.put("nodes", { apiVersion: "v1", kind: "Node", metadata: { name: "n1", uid: "node-uid" } });
  const bound = registry.put("pods", { ...pod, spec: { nodeName: "n1" } });
  const { token } = await auth.tokens.issue({
    serviceAccount: account,
    pod: bound,
    audiences: [],
    expirationSeconds: 600,
  });
  const { jti } = claimsOf(token);
  assert.match(String(jti), /^[0-9a-f-]{36}$/);
  const { user } = await auth.authenticator.authenticateToken(token);
  await auth.close();
  assert.deepEqual(user?.extra, {
    "authentication.kubernetes.io/pod-name": ["p"],
    "authentication.kubernetes.io/pod-uid": [pod.metadata.uid],
    "authentication.kubernetes.io/node-name": ["n1"],
    "authentication.kubernetes.io/node-uid": ["node-uid"],
    "authentication.kubernetes.io/credential-id": [`JTI=${jti}`],
  });
  assert.equal(claimsOf((await issue({ pod })).token)["jti"], undefined, "v1.25 has none");
});

describe("discovery", () => {
  test("the published key verifies an issued token", async () => {
    const { token } = await issue();
    const [jwk] = (await lab.auth.tokens.jwks()).keys;
    const key = createPublicKey({ key: { ...jwk }, format: "jwk" });
    const [header = "", claims = "", signature = ""] = token.split(".");
    assert.equal(JSON.parse(Buffer.from(header, "base64url").toString()).kid, jwk?.["kid"]);
    const signed = Buffer.from(`${header}.${claims}`);
    const options = { key, dsaEncoding: "ieee-p1363" } as const;
    assert.ok(verify("sha256", signed, options, Buffer.from(signature, "base64url")));
    assert.equal(JSON.stringify(jwk).includes('"d"'), false);
  });

  for (const [keyType, algorithm] of [
    ["ec", "ES256"],
    ["rsa", "RS256"],
  ] as const) {
    test(`${keyType}: a token of a generated key is valid, and signed with ${algorithm}`, async () => {
      const own = await startAuth({ serviceAccountKeyType: keyType });
      own.registry.put("serviceaccounts", account);
      const options = { serviceAccount: account, audiences: [], expirationSeconds: 600 };
      const { token } = await own.auth.tokens.issue(options);
      const { user, error } = await own.auth.authenticator.authenticateToken(token);
      const jwks = await own.auth.tokens.jwks();
      await own.auth.close();
      assert.deepEqual([user?.username, error], ["system:serviceaccount:a:default", undefined]);
      assert.deepEqual([JSON.parse(Buffer.from(token.split(".")[0] ?? "", "base64url").toString()).alg], [algorithm]);
      assert.equal(jwks.keys[0]?.["alg"], algorithm);
    });
  }

  test("token discovery", async () => {
    const own = await startAuth({ serviceAccountKeyType: "rsa" });
    const configuration = await own.auth.tokens.openIdConfiguration("https://127.0.0.1:6443");
    await own.auth.close();
    assert.deepEqual(configuration, {
      issuer: AUDIENCE,
      jwks_uri: "https://127.0.0.1:6443/openid/v1/jwks",
      response_types_supported: ["id_token"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["RS256"],
    });
  });

  test("a foreign token does not generate a key", async () => {
    const own = await startAuth();
    const { token } = await issue();
    const result = await own.auth.authenticator.authenticateToken(token);
    await own.auth.close();
    assert.equal(result.error, "[invalid bearer token, invalid signature, no keys found]");
  });
});
