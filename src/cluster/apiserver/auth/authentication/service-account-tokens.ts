import type { V1Pod } from "@kubernetes/client-node";
import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import { FROM_CACHE } from "../../../../staging/apimachinery/api/options.js";
import { StatusError } from "../../../../staging/apimachinery/errors.js";
import { goQuote, goQuoteList } from "../../../../staging/apimachinery/scheme/go-text.js";
import { rfc3339 } from "../../../../staging/apimachinery/time.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import { asAuthenticated } from "../../../../staging/server/authentication/user.js";
import type { Clock } from "../../../../util/clock.js";
import type { Random } from "../../../../util/random.js";
import { factFor } from "../../../../util/release/facts.js";
import type { Registry } from "../../registry/rest/registry.js";
import { type Jwt, jwtSignatureProblem, makeSigningKey, parseJwt, type SigningKey, signJwt } from "./jwt.js";
import { commonAudiences, type TokenAuthenticator, type TokenResult } from "./token-authenticator.js";

/** The lifetime that kubelets request; such tokens last a year and carry `warnafter` at the requested expiry. */
const WARN_ONLY_EXPIRATION_SECONDS = 3_607;
const EXTENDED_EXPIRATION_SECONDS = 365 * 24 * 3_600;
/** tolerated clock skew, and how long a token outlives the deletion of the object it is bound to */
const LEEWAY_SECONDS = 60;

export interface ServiceAccountTokenDeps {
  readonly registry: () => Registry;
  readonly clock: Clock;
  readonly issuer: string;
  readonly apiAudiences: readonly string[];
  readonly random: Random;
  /** `1.25`: determines the claims of a token */
  readonly kubeVersion: string;
  /** PEM, EC P-256 or RSA; absent: a key is generated for the first token */
  readonly privateKeyPem?: string;
  /**
   * The type of the generated key. Differs: the default is EC; generating kubeadm's RSA key would delay the first token.
   */
  readonly keyType?: "ec" | "rsa";
}

export interface IssueOptions {
  readonly serviceAccount: KubeObject;
  /** the pod (or secret) that the token is bound to */
  readonly pod?: KubeObject;
  readonly secret?: KubeObject;
  /** empty: the API server itself */
  readonly audiences: readonly string[];
  readonly expirationSeconds: number;
}

/**
 * Issues service account tokens (JWT) and authenticates them.
 *
 * Mirrors pkg/serviceaccount/jwt.go, claims.go, openidmetadata.go, and the extended expiry of pod-bound tokens in
 * pkg/registry/core/serviceaccount/storage/token.go (Create).
 */
export class ServiceAccountTokens implements TokenAuthenticator {
  #key: Promise<SigningKey> | undefined;

  constructor(readonly deps: ServiceAccountTokenDeps) {}

  /** @returns the token, and the expiry that the client sees */
  async issue(options: IssueOptions): Promise<{ readonly token: string; readonly expirationTimestamp: string }> {
    const { serviceAccount, pod, secret, expirationSeconds } = options;
    const audiences = options.audiences.length === 0 ? this.deps.apiAudiences : options.audiences;
    const nowSeconds = Math.floor(this.deps.clock.now() / 1_000);
    const isForApiServer = audiences.every((audience) => this.deps.apiAudiences.includes(audience));
    const isExtended = pod !== undefined && expirationSeconds === WARN_ONLY_EXPIRATION_SECONDS && isForApiServer;
    const { namespace = "", name = "" } = serviceAccount.metadata;
    const claims = {
      aud: audiences,
      exp: nowSeconds + (isExtended ? EXTENDED_EXPIRATION_SECONDS : expirationSeconds),
      iat: nowSeconds,
      iss: this.deps.issuer,
      ...(this.#hasFact("serviceAccountTokenJti") ? { jti: this.deps.random.uuid() } : {}),
      "kubernetes.io": {
        namespace,
        ...(pod === undefined ? {} : await this.#nodeClaim(pod)),
        ...(pod === undefined ? {} : { pod: referenceTo(pod) }),
        ...(secret === undefined || pod !== undefined ? {} : { secret: referenceTo(secret) }),
        serviceaccount: referenceTo(serviceAccount),
        ...(isExtended ? { warnafter: nowSeconds + expirationSeconds } : {}),
      },
      nbf: nowSeconds,
      sub: `system:serviceaccount:${namespace}:${name}`,
    };
    const token = signJwt(claims, await this.#signingKey());
    const endMs = (nowSeconds + expirationSeconds) * 1_000;
    return { token, expirationTimestamp: rfc3339(endMs) };
  }

  #hasFact(name: "serviceAccountTokenJti" | "serviceAccountTokenPodNodeInfo"): boolean {
    return factFor(name, this.deps.kubeVersion);
  }

  /** The node that the pod runs on, with the fields that are known. */
  async #nodeClaim(pod: KubeObject): Promise<object> {
    const name = (pod as Wire<V1Pod>).spec?.nodeName ?? "";
    if (name === "" || !this.#hasFact("serviceAccountTokenPodNodeInfo")) return {};
    const node = await this.#get("nodes", undefined, name);
    return { node: { name, ...(node?.metadata.uid === undefined ? {} : { uid: node.metadata.uid }) } };
  }

  async authenticateToken(token: string, audiences: readonly string[]): Promise<TokenResult> {
    const jwt = parseJwt(token);
    if (jwt === undefined || jwt.claims["iss"] !== this.deps.issuer) return { outcome: "unknown" };
    const problem = await this.#signatureProblem(jwt);
    if (problem !== undefined) return { outcome: "rejected", why: problem };
    const { aud } = jwt.claims;
    const held = Array.isArray(aud) ? aud.map(String) : [];
    const common = commonAudiences(held, audiences);
    if (common.length === 0) {
      const why = `token audiences ${goQuoteList(held)} is invalid for the target audiences ${goQuoteList(audiences)}`;
      return { outcome: "rejected", why };
    }
    const claimProblem = timeProblem(jwt.claims, this.deps.clock.now()) ?? (await this.#boundObjectProblem(jwt.claims));
    if (claimProblem !== undefined) return { outcome: "rejected", why: claimProblem };
    return { ...userOf(jwt.claims), outcome: "authenticated", audiences: common };
  }

  /** The body of `/.well-known/openid-configuration`. @param serverUrl `https://127.0.0.1:PORT` */
  async openIdConfiguration(serverUrl: string): Promise<Record<string, unknown>> {
    const { algorithm } = await this.#signingKey();
    return {
      issuer: this.deps.issuer,
      jwks_uri: `${serverUrl}/openid/v1/jwks`,
      response_types_supported: ["id_token"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: [algorithm],
    };
  }

  /** The body of `/openid/v1/jwks`. */
  async jwks(): Promise<{ readonly keys: readonly Record<string, unknown>[] }> {
    const { publicKey, keyId, algorithm } = await this.#signingKey();
    const { kty, ...numbers } = publicKey.export({ format: "jwk" });
    return { keys: [{ use: "sig", kty, kid: keyId, alg: algorithm, ...numbers }] };
  }

  #signingKey(): Promise<SigningKey> {
    const { privateKeyPem: pem, keyType = "ec" } = this.deps;
    this.#key ??= makeSigningKey(pem === undefined ? keyType : { pem });
    return this.#key;
  }

  async #signatureProblem(jwt: Jwt): Promise<string | undefined> {
    // No token was signed before the key exists, and a foreign token is no reason to generate one.
    const hasKey = this.#key !== undefined || this.deps.privateKeyPem !== undefined;
    return hasKey ? jwtSignatureProblem(jwt, await this.#signingKey()) : "invalid signature, no keys found";
  }

  /** A token becomes invalid with its account, and with its pod or secret. */
  async #boundObjectProblem(claims: Readonly<Record<string, unknown>>): Promise<string | undefined> {
    const { namespace, serviceaccount: account, ...bound } = boundTo(claims);
    const live = await this.#get("serviceaccounts", namespace, account.name);
    if (live === undefined) return `serviceaccounts ${goQuote(account.name)} not found`;
    if (this.#isDeleted(live)) return `service account ${namespace}/${account.name} has been deleted`;
    if (live.metadata.uid !== account.uid) {
      return `service account UID (${live.metadata.uid}) does not match claim (${account.uid})`;
    }
    for (const [kind, resource] of [
      ["secret", "secrets"],
      ["pod", "pods"],
    ] as const) {
      const reference = bound[kind];
      if (reference === undefined) continue;
      const object = await this.#get(resource, namespace, reference.name);
      if (object === undefined || this.#isDeleted(object)) return "service account token has been invalidated";
      if (object.metadata.uid === reference.uid) continue;
      return `${kind} UID (${object.metadata.uid}) does not match service account ${kind} ref claim (${reference.uid})`;
    }
    return undefined;
  }

  #isDeleted(object: KubeObject): boolean {
    const at = object.metadata.deletionTimestamp;
    return typeof at === "string" && Date.parse(at) < this.deps.clock.now() - LEEWAY_SECONDS * 1_000;
  }

  async #get(resource: string, namespace: string | undefined, name: string): Promise<KubeObject | undefined> {
    try {
      return await this.deps.registry().store(resource).get(namespace, name, FROM_CACHE);
    } catch (error) {
      if (error instanceof StatusError && error.code === 404) return undefined;
      throw error;
    }
  }
}

function timeProblem(claims: Readonly<Record<string, unknown>>, nowMs: number): string | undefined {
  const nowSeconds = nowMs / 1_000;
  const { exp, nbf } = claims;
  if (typeof exp === "number" && nowSeconds - LEEWAY_SECONDS > exp) return "service account token has expired";
  if (typeof nbf === "number" && nowSeconds + LEEWAY_SECONDS < nbf) return "service account token is not valid yet";
  return undefined;
}

function referenceTo(object: KubeObject): { readonly name: string; readonly uid: string } {
  return { name: object.metadata.name ?? "", uid: object.metadata.uid ?? "" };
}

interface Reference {
  readonly name: string;
  readonly uid?: string;
}

/** Mirrors kubernetes in pkg/serviceaccount/claims.go. */
interface PrivateClaims {
  readonly namespace: string;
  readonly serviceaccount: Reference;
  readonly pod?: Reference;
  readonly secret?: Reference;
  readonly node?: Reference;
}

/** Only tokens with a valid signature get this far, so the claims are those that `issue` wrote. */
function boundTo(claims: Readonly<Record<string, unknown>>): PrivateClaims {
  return (claims["kubernetes.io"] ?? { namespace: "", serviceaccount: { name: "" } }) as PrivateClaims;
}

/** Mirrors k8s.io/apiserver/pkg/authentication/serviceaccount/util.go (UserInfo). */
function userOf(
  claims: Readonly<Record<string, unknown>>,
): Pick<Extract<TokenResult, { outcome: "authenticated" }>, "user" | "how"> {
  const { namespace, serviceaccount: account, pod, node } = boundTo(claims);
  const { jti } = claims;
  const extra = {
    ...extraOf("pod", pod),
    ...extraOf("node", node),
    ...(jti ? { [`${EXTRA_PREFIX}/credential-id`]: [`JTI=${jti}`] } : {}),
  };
  const user = asAuthenticated({
    username: `system:serviceaccount:${namespace}:${account.name}`,
    uid: account.uid ?? "",
    groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`],
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  });
  return { user, how: `token of service account ${namespace}/${account.name}` };
}

const EXTRA_PREFIX = "authentication.kubernetes.io";

function extraOf(kind: "pod" | "node", claim: Reference | undefined): Readonly<Record<string, readonly string[]>> {
  if (claim === undefined) return {};
  const { name, uid } = claim;
  const known = !uid ? {} : { [`${EXTRA_PREFIX}/${kind}-uid`]: [uid] };
  return { [`${EXTRA_PREFIX}/${kind}-name`]: [name], ...known };
}
