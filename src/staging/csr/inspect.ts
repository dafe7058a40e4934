import { LabError } from "../../util/errors.js";
import { type CertificateSigningRequest, csrState } from "../apimachinery/api/certificates.js";
import { rfc3339 } from "../apimachinery/time.js";
import { type Certificate, certificateProblem, parseCertificate } from "../pki/certificate.js";
import { type CertificateRequest, parseCertificateRequest, requestSignatureProblem } from "../pki/csr.js";
import { DerError } from "../pki/der.js";
import { shapeOf } from "../pki/der-shapes.js";
import { type DerWalk, walkDer } from "../pki/der-walk.js";
import { publicKeyFacts } from "../pki/keys.js";
import { nameText } from "../pki/name.js";
import { oidName } from "../pki/oids.js";
import type { SubjectAltNames } from "../pki/sans.js";
import { evaluateRules, evaluateSigner, type RuleOutcome, SIGNERS } from "../pki/signers.js";
import type { InspectSource } from "./source.js";

/** How one signer judges a request. */
export interface SignerVerdict {
  readonly signerName: string;
  readonly purpose: string;
  readonly approval: string;
  /** whether the object names this signer */
  readonly isAsked: boolean;
  readonly accepts: boolean;
  readonly outcomes: readonly RuleOutcome[];
  /** the usages that the rules were evaluated with */
  readonly usages: readonly string[];
  /** where `usages` comes from; assumed: the typical usages of this signer's requests */
  readonly usagesFrom: "object" | "flag" | "assumed";
}

/** Everything that `csr inspect` shows. */
export interface Inspection {
  readonly title: string;
  readonly kind: "request" | "certificate";
  readonly walk: DerWalk;
  /** label and value, in the order to show them */
  readonly facts: readonly (readonly [string, string])[];
  /** why the DER could not be read to its end */
  readonly broken?: string;
  /** empty for a certificate */
  readonly verdicts: readonly SignerVerdict[];
}

export interface InspectOptions {
  /** Unix ms */
  readonly nowMs: number;
  /** for a request that is not inside an object */
  readonly usages?: readonly string[];
  /** the CA to verify a certificate against */
  readonly ca?: Certificate;
}

/** Reads a request or certificate as far as possible. Pure. @throws LabError USAGE for an option of the other kind */
export function inspect(source: InspectSource, options: InspectOptions): Inspection {
  checkOptions(source, options);
  const { kind, title, der, csr } = source;
  const walk = walkDer(der, shapeOf(kind === "request" ? "CERTIFICATE REQUEST" : "CERTIFICATE"));
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

function checkOptions({ title, kind }: InspectSource, { ca, usages }: InspectOptions): void {
  const refuse = (flag: string, other: string, hint: string) => {
    throw new LabError("USAGE", `${flag} is for a ${other}, but ${title} is a ${kind}`, hint);
  };
  if (kind === "request" && ca !== undefined) {
    refuse("--ca", "certificate", "A request is signed by its own key: leave out --ca.");
  }
  if (kind === "certificate" && usages !== undefined) {
    refuse("--usages", "request", "A certificate contains its usages: leave out --usages.");
  }
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
  if (spec.expirationSeconds !== undefined) facts.push(["expiration", `${spec.expirationSeconds} s requested`]);
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
        ? `${algorithm}, good: the requester has the private key`
        : `${algorithm}, NOT good (${problem}): an API server refuses this request`,
    ],
  ];
}

function factsOfCertificate(certificate: Certificate, options: InspectOptions): Facts {
  const { ca, nowMs } = options;
  const time = (ms: number) => rfc3339(ms);
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

/** The share of the lifetime that has passed: the kubelet renews between 70 and 90 %. */
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
  return parts.length === 0 ? "only the subject" : parts.join(", ");
}
