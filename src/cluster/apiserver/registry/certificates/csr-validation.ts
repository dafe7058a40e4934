import type { V1CertificateSigningRequest, V1CertificateSigningRequestCondition } from "@kubernetes/client-node";
import { isDns1123Label, isDns1123Subdomain } from "../../../../staging/apimachinery/api/names.js";
import type { FieldError } from "../../../../staging/apimachinery/errors.js";
import { semanticallyEqual } from "../../../../staging/apimachinery/semantic-equality.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import { parseCertificate } from "../../../../staging/pki/certificate.js";
import { parseCertificateRequestPem, requestSignatureProblem } from "../../../../staging/pki/csr.js";
import { decodePem } from "../../../../staging/pki/pem.js";
import { ALL_USAGES } from "../../../../staging/pki/usages.js";
import { messageOf } from "../../../../util/errors.js";
import {
  addErrors,
  duplicate,
  forbidden,
  goValue,
  invalidValue,
  notSupported,
  required,
  tooLong,
} from "../rest/field-errors.js";

/** Mirrors pkg/apis/certificates/validation/validation.go. */

type Csr = Wire<V1CertificateSigningRequest>;
type Condition = Wire<V1CertificateSigningRequestCondition>;

const MIN_EXPIRATION_SECONDS = 600;
const LEGACY_UNKNOWN_SIGNER = "kubernetes.io/legacy-unknown";
const MAX_SIGNER_DOMAIN_LENGTH = 253;
const MAX_SIGNER_NAME_LENGTH = 253 + (253 + 63 + 1) + 1;

/** Faults that are accepted because the old object has them already; always strict for a new object. */
interface Leniency {
  readonly unknownUsages: boolean;
  readonly duplicateUsages: boolean;
  readonly legacySigner: boolean;
  readonly anyCertificate: boolean;
}

const STRICT: Leniency = { unknownUsages: false, duplicateUsages: false, legacySigner: false, anyCertificate: false };

export function validateCsr({ spec, status }: Csr, leniency: Leniency = STRICT): FieldError[] {
  const { expirationSeconds: seconds } = spec;
  const errors = [
    ...validateRequest(spec.request),
    ...validateUsages(spec.usages, leniency),
    ...validateSignerName(spec.signerName, leniency),
  ];
  if (seconds !== undefined && seconds < MIN_EXPIRATION_SECONDS) {
    const why = "may not specify a duration less than 600 seconds (10 minutes)";
    errors.push(invalidValue("spec.expirationSeconds", seconds, why));
  }
  addErrors(errors, validateConditions(status?.conditions));
  const problem = leniency.anyCertificate ? undefined : certificateDataProblem(status?.certificate);
  if (problem !== undefined) errors.push(invalidValue("status.certificate", "<certificate data>", problem));
  return errors;
}

function validateRequest(request: string | null): FieldError[] {
  const bytes = Buffer.from(request ?? "", "base64");
  const problem = requestProblem(bytes);
  if (problem === undefined) return [];
  return [invalidValue("spec.request", request === null ? goValue("[]byte(nil)") : goBytes(bytes), problem)];
}

function requestProblem(bytes: Buffer): string | undefined {
  try {
    return requestSignatureProblem(parseCertificateRequestPem(bytes.toString("latin1")));
  } catch (error) {
    // The parser's messages are Go's. Any other error is a bug of ours.
    if (error instanceof Error && error.name === "DerError") return error.message;
    throw error;
  }
}

/** Go's `%#v` of a byte slice. */
function goBytes(bytes: Buffer) {
  return goValue(`[]byte{${[...bytes].map((one) => `0x${one.toString(16)}`).join(", ")}}`);
}

function validateUsages(usages: readonly string[] | null | undefined, leniency: Leniency): FieldError[] {
  const list = usages ?? [];
  if (list.length === 0) return [required("spec.usages", "usages must be provided")];
  const errors: FieldError[] = [];
  if (!leniency.unknownUsages) {
    list.forEach((one, index) => {
      if (!ALL_USAGES.includes(one)) errors.push(notSupported(`spec.usages[${index}]`, one, ALL_USAGES));
    });
  }
  if (!leniency.duplicateUsages) {
    list.forEach((one, index) => {
      if (list.indexOf(one) < index) errors.push(duplicate(`spec.usages[${index}]`, one));
    });
  }
  return errors;
}

/** Mirrors ValidateSignerName in pkg/apis/core/validation/validation.go, which cluster trust bundles share. */
function validateSignerName(signerName: string, leniency: Leniency): FieldError[] {
  const field = "spec.signerName";
  if (signerName === LEGACY_UNKNOWN_SIGNER && !leniency.legacySigner) {
    return [invalidValue(field, signerName, "the legacy signerName is not allowed via this API version")];
  }
  if (signerName === "") return [required(field, "signerName must be provided")];
  const segments = signerName.split("/");
  const [domain = "", path = ""] = segments;
  if (segments.length !== 2) {
    const why = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
    return [invalidValue(field, signerName, why)];
  }
  const errors: FieldError[] = [];
  if (domain.length > MAX_SIGNER_DOMAIN_LENGTH) errors.push(tooLong(field, MAX_SIGNER_DOMAIN_LENGTH));
  const domainLabels = domain.split(".");
  for (const label of domainLabels) {
    for (const one of isDns1123Label(label)) {
      errors.push(invalidValue(field, domain, `validating label ${JSON.stringify(label)}: ${one}`));
    }
  }
  if (domainLabels.length < 2) {
    errors.push(invalidValue(field, domain, "should be a domain with at least two segments separated by dots"));
  }
  for (const label of path.split(".")) {
    for (const one of isDns1123Subdomain(label)) {
      errors.push(invalidValue(field, path, `validating label ${JSON.stringify(label)}: ${one}`));
    }
  }
  if (signerName.length > MAX_SIGNER_NAME_LENGTH) errors.push(tooLong(field, MAX_SIGNER_NAME_LENGTH));
  return errors;
}

/** Decisions can only be True; other conditions can have any status. */
const DECISIONS = ["Approved", "Denied", "Failed"];
const ANY_STATUS = ["False", "True", "Unknown"];
const EXCLUSIVE = "Approved and Denied conditions are mutually exclusive";

function validateConditions(conditions: readonly Condition[] | null | undefined): FieldError[] {
  const seen = new Set<string>();
  return (conditions ?? []).flatMap(({ type, status }, index) => {
    const field = `status.conditions[${index}]`;
    const allowed = DECISIONS.includes(type) ? ["True"] : ANY_STATUS;
    const errors: FieldError[] = [];
    if (type === "") errors.push(required(`${field}.type`));
    if (status === "") errors.push(required(`${field}.status`));
    else if (!allowed.includes(status)) errors.push(notSupported(`${field}.status`, status, allowed));
    const rival = type === "Approved" ? "Denied" : type === "Denied" ? "Approved" : undefined;
    if (rival !== undefined && seen.has(rival)) errors.push(invalidValue(`${field}.type`, type, EXCLUSIVE));
    if (seen.has(type)) errors.push(duplicate(`${field}.type`, type));
    seen.add(type);
    return errors;
  });
}

/** Mirrors validateCertificate. @param certificate base64 of PEM; "" is fine */
function certificateDataProblem(certificate = ""): string | undefined {
  if (certificate === "") return undefined;
  const blocks = decodePem(Buffer.from(certificate, "base64").toString("latin1"));
  if (blocks.length === 0) return "must contain at least one CERTIFICATE PEM block";
  for (const block of blocks) {
    if (block.type !== "CERTIFICATE") {
      return `only CERTIFICATE PEM blocks are allowed, found ${JSON.stringify(block.type)}`;
    }
    try {
      parseCertificate(block.der);
    } catch (error) {
      return messageOf(error);
    }
  }
  return undefined;
}

export interface CsrUpdateRights {
  /** through /approval */
  readonly mayApprove?: boolean;
  /** through /status */
  readonly maySetCertificate?: boolean;
}

/** Mirrors validateCertificateSigningRequestUpdate: decisions stay, and a certificate is written once. */
export function validateCsrUpdate(csr: Csr, old: Csr, rights: CsrUpdateRights): FieldError[] {
  const errors = validateCsr(csr, leniencyFor(old));
  const count = (object: Csr, type: string) => conditionsOfType(object, type).length;
  for (const type of DECISIONS) {
    if (count(csr, type) < count(old, type)) {
      errors.push(forbidden("status.conditions", `updates may not remove a condition of type "${type}"`));
    }
  }
  if (rights.mayApprove !== true) {
    for (const type of ["Approved", "Denied"]) {
      if (count(csr, type) > count(old, type)) {
        errors.push(forbidden("status.conditions", `updates may not add a condition of type "${type}"`));
      } else if (!semanticallyEqual(conditionsOfType(csr, type), conditionsOfType(old, type))) {
        errors.push(forbidden("status.conditions", `updates may not modify a condition of type "${type}"`));
      }
    }
  }
  const before = old.status?.certificate ?? "";
  if ((csr.status?.certificate ?? "") !== before) {
    if (rights.maySetCertificate !== true) {
      errors.push(forbidden("status.certificate", "updates may not set certificate content"));
    } else if (before !== "") {
      errors.push(forbidden("status.certificate", "updates may not modify existing certificate content"));
    }
  }
  return errors;
}

function conditionsOfType({ status }: Csr, type: string): readonly Condition[] {
  return (status?.conditions ?? []).filter((one) => one.type === type);
}

/** Mirrors getValidationOptions: an object's existing faults do not block its update. */
function leniencyFor({ spec, status }: Csr): Leniency {
  const usages = spec.usages ?? [];
  return {
    unknownUsages: usages.some((one) => !ALL_USAGES.includes(one)),
    duplicateUsages: new Set(usages).size < usages.length,
    legacySigner: spec.signerName === LEGACY_UNKNOWN_SIGNER,
    anyCertificate: certificateDataProblem(status?.certificate) !== undefined,
  };
}
