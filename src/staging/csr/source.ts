import { LabError } from "../../util/errors.js";
import { describeFileError } from "../../util/os/files.js";
import { readFileAtMost } from "../../util/os/read-at-most.js";
import { base64Text, type CertificateSigningRequest } from "../apimachinery/api/certificates.js";
import { type Certificate, parseCertificatePem } from "../pki/certificate.js";
import { parseCertificateRequest } from "../pki/csr.js";
import { DerError } from "../pki/der.js";
import { walkDer } from "../pki/der-walk.js";
import { decodePem } from "../pki/pem.js";

/** The DER to inspect, and its origin. */
export interface InspectSource {
  readonly kind: "request" | "certificate";
  /** `kubelet.pem`, or `CSR csr-abc12` */
  readonly title: string;
  readonly der: Buffer;
  /** the object that contains the request, if any */
  readonly csr?: CertificateSigningRequest;
  /** what is wrong with the file around the DER */
  readonly problem?: string;
}

/**
 * Reads a file.
 * @param name the path as the user wrote it
 * @returns undefined if there is no such file, and `name` may be the name of a CSR
 * @throws LabError BAD_FILE
 */
export async function readSource(path: string, name: string, signal: AbortSignal): Promise<InspectSource | undefined> {
  const bytes = await readIfFile(path, signal);
  if (bytes !== undefined) return sourceFromBytes(bytes, name);
  if (!/\/|\.(pem|csr|crt|cer|der|key|ya?ml|json)$/.test(name)) return undefined;
  throw new LabError("BAD_FILE", `there is no file ${name}`, "Name a PEM file, or a CSR of the cluster.");
}

/** Reads the CA of `--ca`. @throws LabError BAD_FILE */
export async function readCa(path: string, signal: AbortSignal): Promise<Certificate> {
  const bytes = await readIfFile(path, signal);
  try {
    return parseCertificatePem(bytes?.toString("utf8") ?? "");
  } catch (cause) {
    const why = bytes === undefined ? "there is no such file" : "it contains no certificate";
    throw new LabError("BAD_FILE", `--ca ${path}: ${why}`, "Name the PEM file of the CA.", { cause });
  }
}

async function readIfFile(path: string, signal: AbortSignal): Promise<Buffer | undefined> {
  try {
    return await readFileAtMost(path, signal);
  } catch (cause) {
    signal.throwIfAborted();
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new LabError(
      "BAD_FILE",
      `cannot read ${path}: ${describeFileError(cause)}`,
      "Name a file with a CSR or a certificate, in PEM or DER.",
      { cause },
    );
  }
}

/**
 * Finds the request or certificate in a file: PEM (other blocks are skipped), plain DER, base64 of PEM as in an object,
 * or a CertificateSigningRequest as YAML or JSON.
 * @throws LabError BAD_FILE
 */
export async function sourceFromBytes(bytes: Buffer, title: string): Promise<InspectSource> {
  const text = bytes.toString("utf8").trim();
  const blocks = decodePem(/^[A-Za-z0-9+/=\s]+$/.test(text) ? base64Text(text) : text);
  for (const { type, der } of blocks) {
    if (type === "CERTIFICATE REQUEST") return { kind: "request", title, der };
    if (type === "CERTIFICATE") return { kind: "certificate", title, der };
  }
  const key = blocks.find(({ type }) => type.endsWith("PRIVATE KEY"));
  if (key !== undefined) {
    const hint = "Inspect its request or certificate instead, and keep the key secret.";
    throw new LabError("BAD_FILE", `${title} contains a private key, which is not shown`, hint);
  }
  const cut = cutOffBlock(text);
  if (cut !== undefined) return { ...cut, title };
  if (bytes[0] === 0x30) return { kind: isRequest(bytes) ? "request" : "certificate", title, der: bytes };
  const csr = await parseObject(text);
  if (csr !== undefined) return sourceFromObject(csr);
  throw new LabError(
    "BAD_FILE",
    `${title} contains neither a certificate request nor a certificate`,
    "Pass a PEM block CERTIFICATE REQUEST or CERTIFICATE, or a CertificateSigningRequest as YAML.",
  );
}

/** Extracts the request from an object. */
export function sourceFromObject(csr: CertificateSigningRequest): InspectSource {
  const title = `CSR ${csr.metadata.name ?? csr.metadata.generateName ?? "(no name)"}`;
  const block = decodePem(base64Text(csr.spec.request)).find(({ type }) => type === "CERTIFICATE REQUEST");
  if (block === undefined) {
    throw new LabError(
      "BAD_FILE",
      `spec.request of ${title} is not the base64 of a PEM block CERTIFICATE REQUEST`,
      "Create it with: base64 -w0 kubelet.csr",
    );
  }
  return { kind: "request", title, der: block.der, csr };
}

function isRequest(der: Buffer): boolean {
  try {
    parseCertificateRequest(der);
    return true;
  } catch (error) {
    if (error instanceof DerError) return !beginsAsCertificate(der);
    throw error;
  }
}

/** Only a certificate has the tag [0] there: SEQUENCE { SEQUENCE { [0] version … */
function beginsAsCertificate(der: Buffer): boolean {
  const [, signed, version] = walkDer(der).rows;
  return signed?.tag === "SEQUENCE" && version?.tag === "[0]";
}

/** A PEM block without its END line. */
function cutOffBlock(text: string): Omit<InspectSource, "title"> | undefined {
  const begin = /-----BEGIN ((?:NEW )?CERTIFICATE REQUEST|CERTIFICATE)-----\s/.exec(text);
  if (begin === null || text.includes("-----END ")) return undefined;
  const der = Buffer.from(text.slice(begin.index + begin[0].length), "base64");
  const kind = begin[1] === "CERTIFICATE" ? "certificate" : "request";
  return { kind, der, problem: "the file is cut off: its END line is missing" };
}

async function parseObject(text: string): Promise<CertificateSigningRequest | undefined> {
  const { parseYaml } = await import("../apimachinery/yaml.js");
  let value: unknown;
  try {
    value = parseYaml(text);
  } catch {
    return undefined; // Not YAML either: the caller reports what was expected.
  }
  if (typeof value !== "object" || value === null) return undefined;
  const { kind, metadata, spec } = value as {
    kind?: unknown;
    metadata?: unknown;
    spec?: { request?: unknown; signerName?: unknown };
  };
  const isCsr =
    kind === "CertificateSigningRequest" && typeof spec?.request === "string" && typeof spec.signerName === "string";
  return isCsr
    ? ({ metadata: {}, ...value, ...(metadata ? { metadata } : {}) } as CertificateSigningRequest)
    : undefined;
}
