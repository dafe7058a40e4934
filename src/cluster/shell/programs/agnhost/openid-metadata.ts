import { createPublicKey, type JsonWebKey, verify } from "node:crypto";
import { isRecord } from "../../../../util/records.js";
import type { Self } from "../../process/process.js";
import { getHttp } from "./dial.js";
import type { Flags } from "./flags.js";
import { goLog } from "./go-log.js";

/**
 * `test-service-account-issuer-discovery`: verifies a mounted token with the keys that its issuer publishes.
 *
 * Mirrors test/images/agnhost/openidmetadata. Differs: only issuers that the cluster's CA certifies.
 */
export async function testIssuerDiscovery(self: Self, flags: Flags): Promise<number> {
  try {
    const raw = self.machine.fs.readFile(flags.text("token-path")).toString().trim();
    await goLog(self, "OK: Got token");
    await validate(self, raw, flags.text("audience"));
    return 0;
  } catch (error) {
    if (self.signal.aborted) throw error;
    await goLog(self, error instanceof Error ? error.message : String(error));
    return 1;
  }
}

async function validate(self: Self, raw: string, audience: string): Promise<void> {
  const [head = "", payload = "", signature = ""] = raw.split(".");
  const { alg, kid } = parsed(head);
  const { iss, aud, exp } = parsed(payload);
  const issuer = String(iss);
  await goLog(self, `OK: got issuer ${issuer}`);
  const discovered = await getJson(self, `${issuer}/.well-known/openid-configuration`);
  if (discovered["issuer"] !== issuer) {
    throw new Error(
      `oidc: issuer did not match the issuer returned by provider, expected "${issuer}" got "${discovered["issuer"]}"`,
    );
  }
  await goLog(self, `OK: Constructed OIDC provider for issuer ${issuer}`);
  if (![aud].flat().includes(audience)) {
    throw new Error(`oidc: expected audience ${JSON.stringify(audience)} got ${JSON.stringify(aud)}`);
  }
  if (Number(exp) * 1000 < self.machine.clock.now()) throw new Error("oidc: token is expired");
  const { keys } = await getJson(self, String(discovered["jwks_uri"]));
  const key = (Array.isArray(keys) ? keys : []).find((one) => isRecord(one) && one["kid"] === kid) as
    | JsonWebKey
    | undefined;
  const isEs = alg === "ES256";
  const by = key && {
    key: createPublicKey({ key, format: "jwk" }),
    ...(isEs ? { dsaEncoding: "ieee-p1363" as const } : {}),
  };
  const signed = Buffer.from(`${head}.${payload}`);
  if (
    by === undefined ||
    !(isEs || alg === "RS256") ||
    !verify("sha256", signed, by, Buffer.from(signature, "base64url"))
  ) {
    throw new Error("failed to verify signature: failed to verify id token signature");
  }
  await goLog(self, "OK: Validated signature on JWT");
  await goLog(self, "OK: Got valid claims from token!");
}

function parsed(part: string): Readonly<Record<string, unknown>> {
  const value: unknown = JSON.parse(Buffer.from(part, "base64url").toString());
  return isRecord(value) ? value : {};
}

/** Sends the pod's own token, and trusts the cluster's CA only. */
async function getJson(self: Self, address: string): Promise<Readonly<Record<string, unknown>>> {
  const { hostname, port, pathname } = new URL(address);
  const file = (name: string) => self.machine.fs.readFile(`/var/run/secrets/kubernetes.io/serviceaccount/${name}`);
  const https = { ca: file("ca.crt"), token: file("token").toString() };
  const value: unknown = JSON.parse(await getHttp(self, hostname, Number(port || 443), pathname.slice(1), https));
  return isRecord(value) ? value : {};
}
