import type { KeyObject } from "node:crypto";
import type { Trace } from "../../trace/trace.js";
import { LabError } from "../../util/errors.js";
import { writeFileAtomic } from "../../util/os/files.js";
import { base64Text, type CertificateSigningRequest } from "../apimachinery/api/certificates.js";
import { createOrGet, csrObject } from "../client-go/certificate/csr.js";
import type { KubeClient } from "../client-go/rest/client.js";
import { createCertificateRequest, parseCertificateRequestPem } from "../pki/csr.js";
import { generatePrivateKey, type KeyType, publicKeyDer, publicKeyFacts } from "../pki/keys.js";
import type { DistinguishedName } from "../pki/name.js";
import type { SubjectAltNames } from "../pki/sans.js";
import { evaluateRules, evaluateSigner, findSigner, outcomesText } from "../pki/signers.js";
import { keyFromFile, type RequestFiles } from "./files.js";

export interface RequestPlan {
  /** undefined: the server generates a name that begins with `csr-` */
  readonly name?: string;
  readonly subject: DistinguishedName;
  readonly sans: SubjectAltNames;
  readonly signerName: string;
  /** undefined: the usual usages of this signer's requests */
  readonly usages?: readonly string[];
  readonly keyType?: KeyType;
  readonly expirationSeconds?: number;
}

export interface PreparedRequest {
  readonly key: KeyObject;
  /** PKCS#10, PEM */
  readonly requestPem: string;
  /** the object to send */
  readonly object: CertificateSigningRequest;
  /** path of the request, for messages; a placeholder in a dry run */
  readonly requestPath: string;
}

interface LocalDeps {
  readonly trace: Trace;
}

/**
 * Does the local steps before the cluster is involved: key, PKCS#10, base64, the object. Each step names the openssl
 * command that does the same.
 * @param files undefined: nothing is written, and the key is lost when this process ends
 * @throws LabError BAD_FILE
 */
export async function prepareRequest(
  deps: LocalDeps,
  plan: RequestPlan,
  files: RequestFiles | undefined,
): Promise<PreparedRequest> {
  const { trace } = deps;
  if (plan.usages === undefined && findSigner(plan.signerName) === undefined) throw unknownUsages(plan.signerName);
  const key = await trace.step("user", "Make a private key: it never leaves this machine", {}, () =>
    makeKey(trace, plan.keyType, files),
  );
  const requestPem = await trace.step(
    "user",
    "Write the certificate request (PKCS#10): the identity I want, signed with the key",
    { upstream: { file: "staging/src/k8s.io/client-go/util/cert/csr.go", func: "MakeCSRFromTemplate" } },
    async () => {
      const pem = createCertificateRequest(key, plan);
      if (files !== undefined) await writeFileAtomic(files.request, pem);
      showEquivalentCommand(trace, opensslRequest(plan, files));
      return pem;
    },
  );
  const object = trace.step("user", "Wrap it into a CertificateSigningRequest object", {}, () => {
    showEquivalentCommand(trace, `base64 -w0 ${files?.request ?? "kubelet.csr"}   # is spec.request`);
    const usages = plan.usages ?? usualUsages(plan.signerName, key);
    const wrapped = csrObject(requestPem, { ...plan, usages });
    explainSigner(trace, wrapped);
    return wrapped;
  });
  return { key, requestPem, object, requestPath: files?.request ?? "kubelet.csr" };
}

async function makeKey(trace: Trace, type: KeyType | undefined, files: RequestFiles | undefined): Promise<KeyObject> {
  if (files === undefined) return generatePrivateKey(type ?? "ec");
  const { key, isReused } = await keyFromFile(files.key, type);
  const kind = publicKeyFacts(publicKeyDer(key)).text;
  trace.emit(
    { kind: "state", subject: files.key, what: kind, to: isReused ? "exists already, reused" : "written (0600)" },
    { actor: "user" },
  );
  const command = key.asymmetricKeyType === "rsa" ? "genrsa 2048" : "ecparam -genkey -name prime256v1 -noout";
  if (!isReused) showEquivalentCommand(trace, `openssl ${command} > ${files.key}`);
  return key;
}

/** Reports the command line that does the same. */
export function showEquivalentCommand(trace: Trace, command: string): void {
  trace.emit({ kind: "note", text: `equivalent command: ${command}` }, { actor: "user" });
}

/** The openssl command line that makes the same request. */
function opensslRequest({ subject, sans }: RequestPlan, files: RequestFiles | undefined): string {
  const names = [...subject.organization.map((one) => `/O=${one}`), `/CN=${subject.commonName}`].join("");
  const alternative = [
    ...sans.dns.map((one) => `DNS:${one}`),
    ...sans.ip.map((one) => `IP:${one}`),
    ...sans.email.map((one) => `email:${one}`),
    ...sans.uri.map((one) => `URI:${one}`),
  ].join(",");
  const extension = alternative === "" ? "" : ` -addext subjectAltName=${alternative}`;
  const { key = "kubelet.key", request = "kubelet.csr" } = files ?? {};
  return `openssl req -new -key ${key} -subj ${names}${extension} -out ${request}`;
}

/** A signer's usual usages, plus key encipherment for an RSA key. */
function usualUsages(signerName: string, key: KeyObject): readonly string[] {
  const [first = "", ...rest] = findSigner(signerName)?.typicalUsages ?? [];
  return key.asymmetricKeyType === "rsa" ? [first, "key encipherment", ...rest] : [first, ...rest];
}

function unknownUsages(signerName: string): LabError {
  return new LabError(
    "USAGE",
    `the usual usages of ${signerName} are unknown`,
    "Name them, for example: --usages 'digital signature,client auth'",
  );
}

/** Reports what the signer will decide, before the request is sent. */
export function explainSigner(trace: Trace, csr: CertificateSigningRequest): void {
  const signer = findSigner(csr.spec.signerName);
  if (signer === undefined) {
    const text = `${csr.spec.signerName} is not a signer of the cluster's own CA: another signer must issue this certificate.`;
    trace.emit({ kind: "note", text }, { actor: "user" });
    return;
  }
  const request = parseCertificateRequestPem(base64Text(csr.spec.request));
  const question = { request, usages: csr.spec.usages ?? [] };
  const atCreation = evaluateRules(signer.creationRules, question);
  const outcomes = [...atCreation, ...evaluateSigner(signer, question)];
  const isGood = outcomes.every((one) => one.ok);
  const what = !atCreation.every((one) => one.ok)
    ? "the API server's admission will refuse to create this object"
    : isGood
      ? `${signer.name} would sign this once it is approved`
      : `${signer.name} would refuse this even after it is approved`;
  trace.emit({ kind: "decision", what, why: outcomesText(outcomes), upstream: signer.upstream }, { actor: "user" });
  if (isGood) trace.emit({ kind: "note", text: `Approved: ${signer.approval}.` }, { actor: "user" });
}

/**
 * Sends the object, or finds an existing one with the same name, key and signer.
 * @throws LabError REFUSED when another request has the name; as KubeClient.expect
 */
export async function submitRequest(
  deps: { readonly client: KubeClient; readonly trace: Trace },
  prepared: PreparedRequest,
  signal: AbortSignal,
): Promise<CertificateSigningRequest> {
  const { client, trace } = deps;
  return trace.step("user", "Send it: the API server adds the requester and stores it", {}, async () => {
    showEquivalentCommand(trace, kubectlCreate(prepared));
    const { csr, isNew } = await createOrGet(client, prepared.object, signal);
    if (isNew) return csr;
    const { name } = csr.metadata;
    if (isSameRequest(csr, prepared)) {
      const text = `CSR ${name} exists already, for the same key and signer: continuing with it.`;
      trace.emit({ kind: "note", text }, { actor: "user" });
      return csr;
    }
    throw new LabError(
      "REFUSED",
      `CSR ${name} exists already, for another key or signer`,
      `Choose another --name, or inspect it: kubelab csr inspect ${name}`,
    );
  });
}

/** The object as a person would type it; the shell inserts the request. */
function kubectlCreate({ object, requestPath }: PreparedRequest): string {
  const { metadata, spec } = object;
  const { expirationSeconds, usages = [] } = spec;
  return [
    "kubectl create -f - <<EOF",
    `apiVersion: ${object.apiVersion}`,
    `kind: ${object.kind}`,
    metadata.name === undefined
      ? `metadata: {generateName: ${metadata.generateName}}`
      : `metadata: {name: ${metadata.name}}`,
    "spec:",
    `  request: $(base64 -w0 ${requestPath})`,
    `  signerName: ${spec.signerName}`,
    ...(expirationSeconds === undefined ? [] : [`  expirationSeconds: ${expirationSeconds}`]),
    `  usages: [${usages.join(", ")}]`,
    "EOF",
  ].join("\n");
}

function isSameRequest(existing: CertificateSigningRequest, { key, object }: PreparedRequest): boolean {
  const request = parseCertificateRequestPem(base64Text(existing.spec.request));
  return existing.spec.signerName === object.spec.signerName && request.spkiDer.equals(publicKeyDer(key));
}
