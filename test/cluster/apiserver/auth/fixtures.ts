import { type Auth, type AuthOptions, createAuth } from "../../../../src/cluster/apiserver/auth/create-auth.js";
import {
  type BootstrapPolicyOptions,
  bootstrapPolicy,
} from "../../../../src/cluster/apiserver/auth/policy/bootstrap-policy.js";
import type { KubeObject } from "../../../../src/staging/apimachinery/api/meta.js";
import { createAuthority } from "../../../../src/staging/pki/authority.js";
import { parseCertificatePem } from "../../../../src/staging/pki/certificate.js";
import { type CertificateAuthority, issueCertificate } from "../../../../src/staging/pki/issue.js";
import { generatePrivateKey, publicKeyDer } from "../../../../src/staging/pki/keys.js";
import type { UserInfo } from "../../../../src/staging/server/authentication/user.js";
import type { AuthorizationAttributes } from "../../../../src/staging/server/authorization/authorizer.js";
import { SystemRandom } from "../../../../src/util/random.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { FakeRegistry } from "./fake-registry.js";

export const START_MS = Date.parse("2026-11-20T12:00:00Z");
const HOUR_MS = 3_600_000;

export interface AuthLab {
  readonly auth: Auth;
  readonly registry: FakeRegistry;
  readonly clock: FakeClock;
  readonly ca: CertificateAuthority;
}

/** Authentication and authorization over a registry with the seeded policy. The caller closes `auth`. */
export async function startAuth(options: AuthOptions & Partial<BootstrapPolicyOptions> = {}): Promise<AuthLab> {
  const clock = new FakeClock(START_MS);
  const random = new SystemRandom();
  const registry = new FakeRegistry();
  for (const object of bootstrapPolicy({ kubeVersion: "1.25", ...options })) {
    registry.put(`${object.kind.toLowerCase()}s.rbac.authorization.k8s.io`, object);
  }
  const ca = await createAuthority({ clock, random }, { commonName: "kubernetes" });
  const { kubeVersion = "1.25" } = options;
  const auth = createAuth({ registry: () => registry, ca, clock, random, kubeVersion }, options);
  await auth.ready();
  return { auth, registry, clock, ca };
}

export interface ClientOptions {
  readonly usages?: readonly string[];
  readonly notBeforeMs?: number;
  readonly notAfterMs?: number;
}

/** DER of a client certificate. @param organization groups */
export async function clientCertificate(
  ca: CertificateAuthority,
  commonName: string,
  organization: readonly string[],
  options: ClientOptions = {},
): Promise<Buffer> {
  const key = await generatePrivateKey("ec");
  const template = {
    subject: { commonName, organization },
    spkiDer: publicKeyDer(key),
    usages: options.usages ?? ["digital signature", "client auth"],
    notBeforeMs: options.notBeforeMs ?? START_MS - HOUR_MS,
    notAfterMs: options.notAfterMs ?? START_MS + 24 * HOUR_MS,
  };
  return parseCertificatePem(issueCertificate(ca, template, new SystemRandom())).der;
}

export function user(username: string, ...groups: string[]): UserInfo {
  return { username, groups };
}

/** @param what `pods/log`, `leases.coordination.k8s.io` or a path */
export function attributes(
  who: UserInfo,
  verb: string,
  what: string,
  namespace = "",
  name = "",
): AuthorizationAttributes {
  if (what.startsWith("/")) {
    const none = { apiGroup: "", apiVersion: "", resource: "", subresource: "", namespace: "", name: "" };
    return { user: who, verb, isResourceRequest: false, path: what, ...none };
  }
  const [path = "", ...group] = what.split(".");
  const [resource = "", subresource = ""] = path.split("/");
  const apiGroup = group.join(".");
  return {
    user: who,
    verb,
    isResourceRequest: true,
    apiGroup,
    apiVersion: "v1",
    resource,
    subresource,
    namespace,
    name,
    path: "",
  };
}

export function bootstrapTokenSecret(
  id: string,
  fields: Readonly<Record<string, string | undefined>> = {},
): KubeObject {
  const all: Record<string, string | undefined> = {
    "token-id": id,
    "token-secret": "0123456789abcdef",
    "usage-bootstrap-authentication": "true",
    "auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token",
    ...fields,
  };
  const entries = Object.entries(all).flatMap(([key, value]) =>
    value === undefined ? [] : [[key, Buffer.from(value).toString("base64")]],
  );
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: `bootstrap-token-${id}`, namespace: "kube-system" },
    type: "bootstrap.kubernetes.io/token",
    data: Object.fromEntries(entries),
  };
}
