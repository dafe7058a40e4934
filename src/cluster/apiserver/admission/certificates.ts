import { isDeepStrictEqual } from "node:util";
import type { CertificateSigningRequest } from "../../../staging/apimachinery/api/certificates.js";
import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import { goQuote } from "../../../staging/apimachinery/scheme/go-text.js";
import { parseCertificateRequestPem } from "../../../staging/pki/csr.js";
import { DerError } from "../../../staging/pki/der.js";
import { admissionForbidden } from "../../../staging/server/admission/errors.js";
import type {
  AdmissionAttributes,
  AdmissionPlugin,
  AdmissionSubject,
} from "../../../staging/server/admission/interfaces.js";
import type { UserInfo } from "../../../staging/server/authentication/user.js";
import type { Authorizer } from "../../../staging/server/authorization/authorizer.js";

const CERTIFICATES_GROUP = "certificates.k8s.io";
const API_CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client";
const MASTERS_GROUP = "system:masters";

/**
 * Requires permission to `approve` for the signer when a client approves or denies a request.
 * Mirrors plugin/pkg/admission/certificates/approval/admission.go (Validate).
 */
export function certificateApproval(authorizer: Authorizer): AdmissionPlugin {
  return {
    name: "CertificateApproval",
    handles: (write) => isCsrUpdate(write, "approval"),
    async validate(attributes) {
      const signerName = signerNameOf(attributes.oldObject);
      if (await isAuthorizedForSignerName(authorizer, attributes.user, "approve", signerName)) return;
      const why = `user not permitted to approve requests with signerName ${goQuote(signerName)}`;
      throw admissionForbidden(attributes, why);
    },
  };
}

/**
 * Requires permission to `sign` for the signer when a client sets a certificate or a condition through /status.
 * Mirrors plugin/pkg/admission/certificates/signing/admission.go (Validate).
 */
export function certificateSigning(authorizer: Authorizer): AdmissionPlugin {
  return {
    name: "CertificateSigning",
    handles: (write) => isCsrUpdate(write, "status"),
    async validate(attributes) {
      const { object, oldObject } = attributes;
      const [status, oldStatus] = [object, oldObject].map(
        (csr) => (csr as CertificateSigningRequest | undefined)?.status,
      );
      const isSame = (field: "certificate" | "conditions") =>
        isDeepStrictEqual(status?.[field] ?? [], oldStatus?.[field] ?? []);
      if (isSame("certificate") && isSame("conditions")) return;
      const signerName = signerNameOf(oldObject);
      if (await isAuthorizedForSignerName(authorizer, attributes.user, "sign", signerName)) return;
      throw admissionForbidden(
        attributes,
        `user not permitted to sign requests with signerName ${goQuote(signerName)}`,
      );
    },
  };
}

/**
 * Refuses client certificates for system:masters, regardless of who requests or approves them.
 * Mirrors plugin/pkg/admission/certificates/subjectrestriction/admission.go (Validate).
 */
export function certificateSubjectRestriction(): AdmissionPlugin {
  return {
    name: "CertificateSubjectRestriction",
    handles: (write) => isCsr(write) && write.operation === "CREATE" && write.subresource === "",
    async validate(attributes) {
      const { object } = attributes;
      if (signerNameOf(object) !== API_CLIENT_SIGNER) return;
      if (!organizationOf(object, attributes).includes(MASTERS_GROUP)) return;
      const why = `use of ${API_CLIENT_SIGNER} signer with ${MASTERS_GROUP} group is not allowed`;
      throw admissionForbidden(attributes, why);
    },
  };
}

function isCsr({ group, resource }: AdmissionSubject): boolean {
  return group === CERTIFICATES_GROUP && resource === "certificatesigningrequests";
}

function isCsrUpdate(write: AdmissionSubject, subresource: string): boolean {
  return isCsr(write) && write.subresource === subresource && write.operation === "UPDATE";
}

function signerNameOf(csr: KubeObject | undefined): string {
  return specOf(csr)?.signerName ?? "";
}

function specOf(csr: KubeObject | undefined): CertificateSigningRequest["spec"] | undefined {
  return (csr as CertificateSigningRequest | undefined)?.spec;
}

function organizationOf(csr: KubeObject | undefined, attributes: AdmissionAttributes): readonly string[] {
  const pem = Buffer.from(specOf(csr)?.request ?? "", "base64").toString("utf8");
  try {
    return parseCertificateRequestPem(pem).subject.organization;
  } catch (error) {
    if (error instanceof DerError) throw admissionForbidden(attributes, `failed to parse CSR: ${error.message}`);
    throw error;
  }
}

/** Mirrors pkg/certauthorization/certauthorization.go (IsAuthorizedForSignerName): the signer by name, or all of its domain. */
async function isAuthorizedForSignerName(
  authorizer: Authorizer,
  user: UserInfo,
  verb: "approve" | "sign",
  signerName: string,
): Promise<boolean> {
  const wildcard = `${signerName.split("/")[0]}/*`;
  for (const name of [signerName, wildcard]) {
    const decision = await authorizer.authorize({
      user,
      verb,
      isResourceRequest: true,
      apiGroup: CERTIFICATES_GROUP,
      apiVersion: "*",
      resource: "signers",
      subresource: "",
      namespace: "",
      name,
      path: "",
    });
    if (decision.allowed) return true;
  }
  return false;
}
