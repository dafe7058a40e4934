import { createHash } from "node:crypto";
import type { Clock } from "../../util/clock.js";
import { defined } from "../../util/defined.js";
import type { Random } from "../../util/random.js";
import { type Certificate, parseCertificatePem } from "./certificate.js";
import { type CertificateAuthority, issueCertificate, issueSelfSigned } from "./issue.js";
import { generatePrivateKey, type KeyType, privateKeyPem, publicKeyDer } from "./keys.js";
import { NO_SANS, type SubjectAltNames } from "./sans.js";

/** A certificate and its key. */
export interface KeyPair {
  readonly certificatePem: string;
  /** never printed */
  readonly privateKeyPem: string;
}

export interface PkiDeps {
  readonly clock: Clock;
  readonly random: Random;
}

const MINUTE_MS = 60_000;
const YEAR_MS = 365 * 24 * 60 * MINUTE_MS;
/** kubeadm's CertificateValidity and CA period: a year for leaves, ten for a CA. */
const CA_VALIDITY_MS = 10 * YEAR_MS;
const CERTIFICATE_VALIDITY_MS = YEAR_MS;
/** in wall-clock time */
const BACKDATE_MS = 5 * MINUTE_MS;

/**
 * Backdates a certificate, so that a peer with a slightly slow clock accepts it. A TLS peer uses the wall clock, which is far
 * behind a lab clock that runs ten thousand times as fast.
 */
function validFromMs({ speed = 1 }: Clock, nowMs: number): number {
  return nowMs - BACKDATE_MS * Math.max(1, speed);
}

/** The organizational unit in the CA of an embedded cluster, which distinguishes its certificates from those of real clusters. */
export const EMBEDDED_CA_UNIT = "kubelab";

export interface AuthorityOptions {
  /** `kubernetes` for the cluster's CA */
  readonly commonName: string;
  readonly organizationalUnit?: readonly string[];
  /** default `ec`; `rsa` is kubeadm's default and takes about 0.1 s */
  readonly keyType?: KeyType;
  /** default ten years */
  readonly validityMs?: number;
}

/** Creates a CA. Mirrors k8s.io/client-go/util/cert/cert.go (NewSelfSignedCACert). */
export async function createAuthority(deps: PkiDeps, options: AuthorityOptions): Promise<CertificateAuthority> {
  const { commonName, organizationalUnit, keyType = "ec", validityMs = CA_VALIDITY_MS } = options;
  const key = await generatePrivateKey(keyType);
  const nowMs = deps.clock.now();
  const certificatePem = issueSelfSigned(
    key,
    {
      subject: { commonName, organization: [], ...defined({ organizationalUnit }) },
      spkiDer: publicKeyDer(key),
      usages: ["digital signature", "key encipherment", "cert sign"],
      sans: { ...NO_SANS, dns: [commonName] },
      notBeforeMs: validFromMs(deps.clock, nowMs),
      notAfterMs: nowMs + validityMs,
      isCa: true,
    },
    deps.random,
  );
  return { certificatePem, privateKeyPem: privateKeyPem(key) };
}

export interface ServingOptions {
  /** default `kube-apiserver` */
  readonly commonName?: string;
  /** in addition to an API server's usual names */
  readonly sans?: Partial<SubjectAltNames>;
  /** only `sans`; default false */
  readonly withoutUsualNames?: boolean;
  /** default one year; negative: it has expired */
  readonly validityMs?: number;
}

const USUAL_NAMES = {
  dns: [
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
    "localhost",
  ],
  ip: ["127.0.0.1", "::1", "10.96.0.1"],
} as const;

/**
 * Creates the key and certificate of an API server on loopback.
 *
 * Mirrors cmd/kubeadm/app/util/pkiutil/pki_helpers.go (GetAPIServerAltNames).
 * Differs: an ECDSA key, which takes a hundredth of the time; localhost and both loopback addresses are added.
 */
export async function createApiServerCertificate(
  ca: CertificateAuthority,
  deps: PkiDeps,
  options: ServingOptions = {},
): Promise<KeyPair> {
  const { commonName = "kube-apiserver", sans = {}, withoutUsualNames = false, validityMs } = options;
  return issuePair(ca, deps, {
    commonName,
    ...defined({ validityMs }),
    organization: [],
    usages: ["digital signature", "key encipherment", "server auth"],
    sans: {
      ...NO_SANS,
      dns: [...(withoutUsualNames ? [] : USUAL_NAMES.dns), ...(sans.dns ?? [])],
      ip: [...(withoutUsualNames ? [] : USUAL_NAMES.ip), ...(sans.ip ?? [])],
    },
  });
}

export interface ClientOptions {
  /** the user */
  readonly commonName: string;
  /** the groups */
  readonly organization: readonly string[];
  /** default one year */
  readonly validityMs?: number;
}

/** Creates the key and client certificate of a user, such as the administrator (`kubernetes-admin`, `system:masters`). */
export async function createClientCertificate(
  ca: CertificateAuthority,
  deps: PkiDeps,
  options: ClientOptions,
): Promise<KeyPair> {
  return issuePair(ca, deps, { ...options, usages: ["digital signature", "key encipherment", "client auth"] });
}

interface PairOptions extends ClientOptions {
  readonly usages: readonly string[];
  readonly sans?: SubjectAltNames;
}

async function issuePair(ca: CertificateAuthority, deps: PkiDeps, options: PairOptions): Promise<KeyPair> {
  const key = await generatePrivateKey("ec");
  const nowMs = deps.clock.now();
  const certificatePem = issueCertificate(
    ca,
    {
      subject: { commonName: options.commonName, organization: options.organization },
      spkiDer: publicKeyDer(key),
      usages: options.usages,
      ...(options.sans === undefined ? {} : { sans: options.sans }),
      notBeforeMs: validFromMs(deps.clock, nowMs),
      notAfterMs: nowMs + (options.validityMs ?? CERTIFICATE_VALIDITY_MS),
    },
    deps.random,
  );
  return { certificatePem, privateKeyPem: privateKeyPem(key) };
}

/**
 * `sha256:<hex>` of the CA's SubjectPublicKeyInfo, as in `--discovery-token-ca-cert-hash`.
 *
 * Mirrors cmd/kubeadm/app/util/pubkeypin/pubkeypin.go (Hash).
 */
export function publicKeyHash(certificate: Pick<Certificate, "spkiDer"> | string): string {
  const { spkiDer } = typeof certificate === "string" ? parseCertificatePem(certificate) : certificate;
  return `sha256:${createHash("sha256").update(spkiDer).digest("hex")}`;
}
