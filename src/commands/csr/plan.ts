import { isIP } from "node:net";
import { checkNodeName, nodeSubject } from "../../kubelet/certificate/node-identity.js";
import type { RequestPlan } from "../../staging/csr/create.js";
import { parseSubject } from "../../staging/csr/subject.js";
import type { KeyType } from "../../staging/pki/keys.js";
import type { DistinguishedName } from "../../staging/pki/name.js";
import { NO_SANS } from "../../staging/pki/sans.js";
import {
  findSigner,
  KUBE_APISERVER_CLIENT,
  KUBE_APISERVER_CLIENT_KUBELET,
  SIGNERS,
} from "../../staging/pki/signers.js";
import { ALL_USAGES } from "../../staging/pki/usages.js";
import { defined } from "../../util/defined.js";
import { LabError } from "../../util/errors.js";

/** The flags that describe the request. */
export interface PlanOptions {
  readonly name?: string;
  readonly node?: string;
  readonly subject?: string;
  readonly cn?: string;
  readonly org?: readonly string[];
  readonly signer?: string;
  readonly usages?: readonly string[];
  readonly keyType?: KeyType;
  readonly dns?: readonly string[];
  readonly ip?: readonly string[];
  /** ms */
  readonly expiration?: number;
}

/** The API server requires expirationSeconds of at least 600. */
const MIN_EXPIRATION_SECONDS = 600;

/** Runs before any key is created or any cluster is started. @throws LabError USAGE */
export function planFrom(options: PlanOptions): RequestPlan {
  const subject = subjectFrom(options);
  const { name, usages, keyType, dns = [], ip = [], expiration } = options;
  const expirationSeconds = expiration === undefined ? undefined : Math.floor(expiration / 1000);
  if (expirationSeconds !== undefined && expirationSeconds < MIN_EXPIRATION_SECONDS) {
    throw new LabError("USAGE", `--expiration ${expirationSeconds}s is too short`, "Use at least 10m (600 s).");
  }
  return {
    subject,
    sans: { ...NO_SANS, dns, ip },
    signerName: signerFrom(options),
    ...defined({ name, usages, keyType, expirationSeconds }),
  };
}

function subjectFrom({ node, subject, cn, org = [] }: PlanOptions): DistinguishedName {
  const given = [node, subject, cn].filter((one) => one !== undefined);
  if (given.length !== 1) {
    throw new LabError(
      "USAGE",
      given.length === 0 ? "the certificate needs a subject" : "--node, --subject and --cn exclude each other",
      "Use --node n1 (a kubelet), --cn jane --org devs (a user), or --subject /O=devs/CN=jane.",
    );
  }
  if (cn !== undefined) return { commonName: cn, organization: org };
  if (org.length > 0) throw new LabError("USAGE", "--org needs --cn", "With --subject, write the O there.");
  if (node !== undefined) return nodeSubject(checkNodeName(node));
  return parseSubject(subject ?? "");
}

/** `kubelet-serving` is short for `kubernetes.io/kubelet-serving`. */
function signerFrom({ signer, node }: PlanOptions): string {
  if (signer === undefined) return node === undefined ? KUBE_APISERVER_CLIENT : KUBE_APISERVER_CLIENT_KUBELET;
  if (signer.includes("/")) return signer;
  const name = `kubernetes.io/${signer}`;
  if (findSigner(name) !== undefined) return name;
  throw new LabError(
    "USAGE",
    `--signer ${JSON.stringify(signer)} is not a signer's name`,
    `The cluster's signers are ${SIGNERS.map((one) => one.name.split("/")[1]).join(", ")}; others look like example.com/name.`,
  );
}

/** Values of a flag that may be repeated or joined by commas. */
export function collect(text: string, before: readonly string[] = []): string[] {
  const values = text.split(",").map((one) => one.trim());
  return [...before, ...values.filter((one) => one !== "")];
}

/** Values of `--ip`, which may be repeated or joined by commas. @throws LabError USAGE */
export function collectIps(text: string, before: readonly string[] = []): string[] {
  for (const one of collect(text)) {
    if (isIP(one) === 0) {
      throw new LabError("USAGE", `--ip ${JSON.stringify(one)} is not an IP address`, "Use --dns for names.");
    }
  }
  return collect(text, before);
}

const DNS_NAME = /^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/i;

/** Values of `--dns`, which may be repeated or joined by commas. @throws LabError USAGE */
export function collectDns(text: string, before: readonly string[] = []): string[] {
  for (const one of collect(text)) {
    if (one.length > 253 || !DNS_NAME.test(one)) {
      throw new LabError(
        "USAGE",
        `--dns ${JSON.stringify(one)} is not a DNS name`,
        "Letters, digits and '-' between dots: node-1.example.org, or *.example.org.",
      );
    }
  }
  return collect(text, before);
}

/** Values of `--usages`, which may be repeated or joined by commas. @throws LabError USAGE */
export function collectUsages(text: string, before: readonly string[] = []): string[] {
  for (const one of collect(text)) {
    if (!ALL_USAGES.includes(one)) {
      throw new LabError(
        "USAGE",
        `--usages: ${JSON.stringify(one)} is not a usage`,
        `The usages are: ${ALL_USAGES.join(", ")}.`,
      );
    }
  }
  return collect(text, before);
}
