import { type CertificateSigningRequest, csrState } from "../../../apimachinery/api/certificates.js";
import { type Certificate, certificateProblem, parseCertificate } from "../../../pki/certificate.js";
import { type CertificateRequest, parseCertificateRequest, requestSignatureProblem } from "../../../pki/csr.js";
import { DerError } from "../../../pki/der.js";
import { shapeOf } from "../../../pki/der-shapes.js";
import { type DerWalk, walkDer } from "../../../pki/der-walk.js";
import { publicKeyFacts } from "../../../pki/keys.js";
import { nameText } from "../../../pki/name.js";
import { oidName } from "../../../pki/oids.js";
import type { SubjectAltNames } from "../../../pki/sans.js";
import { evaluateRules, evaluateSigner, type RuleOutcome, SIGNERS } from "../../../pki/signers.js";
import type { InspectSource } from "./source.js";

/** What one signer would say to a request. */
export interface SignerVerdict {
  readonly signerName: string;
  readonly purpose: string;
  readonly approval: string;
  /** true: it is the one that the object names */
  readonly isAsked: boolean;
  readonly accepts: boolean;
  readonly outcomes: readonly RuleOutcome[];
  /** the usages that the rules were asked with */
  readonly usages: readonly string[];
  /** where they come from: the object, a flag, or what this signer's requests usually have */
  readonly usagesFrom: "object" | "flag" | "assumed";
}

/** Everything that `csr inspect` shows. */
export interface Inspection {
  readonly title: string;
  readonly kind: "request" | "certificate";
  readonly walk: DerWalk;
  /** label and value, in the order to show them */
  readonly facts: readonly (readonly [string, string])[];
  /** why it cannot be read to its end, in words */
  readonly broken?: string;
  /** of a request only */
  readonly verdicts: readonly SignerVerdict[];
}

export interface InspectOptions {
  /** Unix ms */
  readonly nowMs: number;
  /** for a request without an object around it */
  readonly usages?: readonly string[];
  /** a certificate is verified against it */
  readonly ca?: Certificate;
}

/** Reads a request or certificate as far as it can be read. Pure. */
export function inspect(source: InspectSource, options: InspectOptions): Inspection {
  const { kind, title, der, csr } = source;
  const walk = walkAsFarAsItGoes(der, shapeOf(kind === "request" ? "CERTIFICATE REQUEST" : "CERTIFICATE"));
  const { problem } = source;
  const around: Facts = problem === undefined ? [] : [["broken", problem]];
  const objectFacts = [...around, ...(csr === undefined ? [] : factsOfObject(csr))];
  const state = problem === undefined ? {} : { broken: problem };
  try {
    if (kind === "certificate") {
      const facts = factsOfCertificate(parseCertificate(der), options);
      return { title, kind, walk, ...state, facts: [...objectFacts, ...facts], verdicts: [] };
    }
    const request = parseCertificateRequest(der);
    const verdicts = SIGNERS.map((signer) => verdict(signer, request, csr, options.usages));
    return { title, kind, walk, ...state, facts: [...objectFacts, ...factsOfRequest(request)], verdicts };
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    const broken = `${error.message} (at offset ${error.offset})`;
    return { title, kind, walk, broken, facts: [...objectFacts, ["broken", broken]], verdicts: [] };
  }
}

/** Longer than any request or certificate: a longer length is a damaged one. */
const MAX_DER_BYTES = 65_536;

/** As walkDer, also into a document that is cut off: its values are shown as far as they are whole. */
function walkAsFarAsItGoes(der: Buffer, shape: ReturnType<typeof shapeOf>): DerWalk {
  const walk = walkDer(der, shape);
  const wholeBytes = declaredBytes(der);
  if (walk.rows.length > 0 || wholeBytes <= der.length || wholeBytes > MAX_DER_BYTES) return walk;
  // With zeros for what is missing the outer lengths are right; what reaches into the zeros is left out again.
  const { rows } = walkDer(Buffer.concat([der], wholeBytes), shape);
  const seen = rows.filter(({ offset, headerLength, length, depth }, index) => {
    const isOpened = (rows[index + 1]?.depth ?? 0) > depth;
    return offset + headerLength + (isOpened ? 0 : length) <= der.length;
  });
  return { ...walk, rows: seen };
}

/** What the first value says of its length, header included; 0 when it says nothing. */
function declaredBytes(der: Buffer): number {
  const first = der[1] ?? 0;
  if (first <= 0x80) return first + 2;
  const count = first & 0x7f;
  return count > 3 || der.length < 2 + count ? 0 : 2 + count + der.readUIntBE(2, count);
}

function verdict(
  signer: (typeof SIGNERS)[number],
  request: CertificateRequest,
  csr: CertificateSigningRequest | undefined,
  fromFlag: readonly string[] | undefined,
): SignerVerdict {
  const usagesFrom = fromFlag !== undefined ? "flag" : csr !== undefined ? "object" : "assumed";
  const usages = fromFlag ?? (csr === undefined ? signer.typicalUsages : (csr.spec.usages ?? []));
  const question = { request, usages };
  const outcomes = [...evaluateRules(signer.creationRules, question), ...evaluateSigner(signer, question)];
  return {
    signerName: signer.name,
    purpose: signer.purpose,
    approval: signer.approval,
    isAsked: csr?.spec.signerName === signer.name,
    accepts: outcomes.every((one) => one.ok) && requestSignatureProblem(request) === undefined,
    outcomes,
    usages,
    usagesFrom,
  };
}

type Facts = (readonly [string, string])[];

function factsOfObject(csr: CertificateSigningRequest): Facts {
  const { spec, status } = csr;
  const facts: Facts = [["state", csrState(csr)]];
  for (const { type, reason, message } of status?.conditions ?? []) {
    facts.push([type, [reason, message].filter(Boolean).join(": ")]);
  }
  if (spec.username !== undefined) facts.push(["requester", `${spec.username} (${(spec.groups ?? []).join(", ")})`]);
  facts.push(["signer", spec.signerName], ["usages", (spec.usages ?? []).join(", ")]);
  if (spec.expirationSeconds !== undefined) facts.push(["expiration", `${spec.expirationSeconds} s asked for`]);
  return facts;
}

function factsOfRequest(request: CertificateRequest): Facts {
  const problem = requestSignatureProblem(request);
  const algorithm = oidName(request.signatureAlgorithm) ?? request.signatureAlgorithm;
  return [
    ["subject", nameText(request.subject)],
    ["key", publicKeyFacts(request.spkiDer).text],
    ["names", sansText(request.sans)],
    [
      "signature",
      problem === undefined
        ? `${algorithm}, good: the requester holds the private key`
        : `${algorithm}, NOT good (${problem}): an API server refuses this request`,
    ],
  ];
}

function factsOfCertificate(certificate: Certificate, options: InspectOptions): Facts {
  const { ca, nowMs } = options;
  const time = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`;
  const isSelfIssued = certificate.issuerDer.equals(certificate.subjectDer);
  const issuer = ca ?? (isSelfIssued ? certificate : undefined);
  const facts: Facts = [
    ["subject", nameText(certificate.subject)],
    ["issuer", nameText(certificate.issuer) + (isSelfIssued ? " (itself)" : "")],
    ["serial", certificate.serialHex],
    ["valid", `${time(certificate.notBeforeMs)} to ${time(certificate.notAfterMs)}, ${ageText(certificate, nowMs)}`],
    ["key", publicKeyFacts(certificate.spkiDer).text],
    ["usages", [...certificate.keyUsages, ...certificate.extendedKeyUsages].join(", ") || "none"],
    ["names", sansText(certificate.sans)],
    ["CA", certificate.isCa ? "yes" : "no"],
  ];
  if (issuer !== undefined) {
    facts.push([
      "verified",
      certificateProblem(certificate, { issuer, nowMs }) ?? `signed by ${nameText(issuer.subject)}`,
    ]);
  }
  return facts;
}

/** Which part of its life is over: the kubelet renews between 70 and 90 %. */
function ageText({ notBeforeMs, notAfterMs }: Certificate, nowMs: number): string {
  if (nowMs < notBeforeMs) return "not valid yet";
  if (nowMs >= notAfterMs + 1000) return "EXPIRED";
  return `${Math.floor(((nowMs - notBeforeMs) / (notAfterMs - notBeforeMs)) * 100)} % of its life is over`;
}

function sansText(sans: SubjectAltNames): string {
  const { dns, ip, email, uri } = sans;
  const parts = [
    ...dns.map((one) => `DNS:${one}`),
    ...ip.map((one) => `IP:${one}`),
    ...email.map((one) => `email:${one}`),
    ...uri.map((one) => `URI:${one}`),
  ];
  return parts.length === 0 ? "none but the subject" : parts.join(", ");
}
