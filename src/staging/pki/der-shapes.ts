import asn1 from "node-forge/lib/asn1.js";
import { contentOf, type DerNode, isContext, isUniversal, oidOf, stringOf, Tag } from "./der.js";
import { hexValue, type Shape } from "./der-walk.js";
import { sequence } from "./der-write.js";
import { OID } from "./oids.js";
import { parseSans } from "./sans.js";
import { algorithmOid } from "./signature.js";
import { keyUsageNames } from "./usages.js";

/** The structure of requests and certificates: PKCS#10 (RFC 2986), X.509 (RFC 5280), keys (RFC 3279, 5480). */

type Inside = NonNullable<Shape["inside"]>;

const fields =
  (...shapes: readonly Shape[]): Inside =>
  (index) =>
    shapes[index];
const each =
  (shape: Shape): Inside =>
  () =>
    shape;

/** The two attributes of a subject that Kubernetes reads. */
const READ_AS: Readonly<Record<string, string>> = {
  [OID.commonName]: "CN (the user)",
  [OID.organizationName]: "O (a group)",
};

function attributeValue(type: DerNode | undefined, isSubject: boolean): Shape {
  const label = isSubject ? READ_AS[oidOf(type)] : undefined;
  const value = (node: DerNode) => JSON.stringify(stringOf(node) ?? hexValue(contentOf(node)));
  return label === undefined ? { value } : { label, value };
}

function name(label: string, isSubject: boolean): Shape {
  const attribute: Shape = {
    inside: (index, _child, before) => (index === 1 ? attributeValue(before[0], isSubject) : undefined),
  };
  return { label, inside: each({ inside: each(attribute) }) };
}

const algorithm = (label: string): Shape => ({ label, inside: fields({}, { label: "parameters" }) });

/** An RSA key is DER inside the BIT STRING; a point of a curve and an Ed25519 key are plain bytes. */
function publicKeyBits(algorithmNode: DerNode | undefined): Shape {
  const dotted = algorithmOid(algorithmNode);
  if (dotted === OID.rsaEncryption) {
    const inside = fields({
      inside: fields({ label: "modulus", value: modulusText }, { label: "publicExponent" }),
    });
    return { label: "RSAPublicKey", wraps: true, inside };
  }
  const label = dotted === OID.ecPublicKey ? "point on the curve (04, x, y)" : "public key";
  return { label };
}

function modulusText(node: DerNode): string {
  const content = contentOf(node);
  const bytes = content[0] === 0 ? content.subarray(1) : content;
  return `${bytes.subarray(0, 8).toString("hex")}… (${bytes.length * 8} bits)`;
}

const subjectPublicKeyInfo: Shape = {
  label: "subjectPublicKeyInfo",
  inside: (index, _child, before) => (index === 0 ? algorithm("kind of key") : publicKeyBits(before[0])),
};

/** An ECDSA signature is a pair of integers, in DER again. */
function signature(algorithmNode: DerNode | undefined): Shape {
  const isEcdsa = algorithmOid(algorithmNode).startsWith("1.2.840.10045.4.");
  if (!isEcdsa) return { label: "signature" };
  return { label: "signature", wraps: true, inside: each({ inside: fields({ label: "r" }, { label: "s" }) }) };
}

const GENERAL_NAMES = [
  "otherName",
  "email",
  "DNS",
  "x400Address",
  "directoryName",
  "ediPartyName",
  "URI",
  "IP",
  "registeredID",
];

function generalName(node: DerNode): Shape {
  const label = GENERAL_NAMES[node.type] ?? "name";
  if (node.constructed) return { label };
  const { dns, email, uri, ip } = parseSans(sequence(node));
  const text = [...dns, ...email, ...uri, ...ip][0];
  return text === undefined ? { label } : { label, value: () => text };
}

/** The content of an extension's OCTET STRING. */
function extensionContent(dotted: string): Shape {
  switch (dotted) {
    case OID.keyUsage:
      return { label: "usages", value: (node) => keyUsageNames(node).join(", ") };
    case OID.extKeyUsage:
      return { label: "purposes" };
    case OID.basicConstraints:
      return {
        empty: "CA: FALSE (absent, the default)",
        inside: fields({ label: "CA" }, { label: "pathLenConstraint" }),
      };
    case OID.subjectKeyIdentifier:
      return { label: "id of the key" };
    case OID.authorityKeyIdentifier:
      return { inside: (_index, child) => (isContext(child, 0) ? { label: "id of the CA's key" } : undefined) };
    case OID.subjectAltName:
      return { label: "alternative names", inside: (_index, child) => generalName(child) };
    default:
      return {};
  }
}

/** Only known extensions are opened: others need not hold DER. */
const OPENED: ReadonlySet<string> = new Set([
  OID.keyUsage,
  OID.extKeyUsage,
  OID.basicConstraints,
  OID.subjectKeyIdentifier,
  OID.authorityKeyIdentifier,
  OID.subjectAltName,
]);

const extension: Shape = {
  label: "extension",
  inside: (_index, child, before) => {
    if (isUniversal(child, Tag.BOOLEAN)) return { label: "critical" };
    if (!isUniversal(child, Tag.OCTETSTRING)) return undefined;
    const dotted = oidOf(before[0]);
    if (!OPENED.has(dotted)) return { label: "value" };
    return { label: "value", wraps: true, inside: each(extensionContent(dotted)) };
  },
};
const extensions: Shape = { label: "extensions", inside: each(extension) };

const requestAttribute: Shape = {
  label: "attribute",
  inside: (_index, child, before) =>
    isUniversal(child, Tag.SET) && oidOf(before[0]) === OID.extensionRequest ? { inside: each(extensions) } : undefined,
};

const requestInfo: Shape = {
  label: "what the key signs",
  inside: fields(
    { label: "version", value: (node) => versionText(node, ["0 (v1)"]) },
    name("subject", true),
    subjectPublicKeyInfo,
    {
      label: "attributes",
      empty: "none",
      inside: each(requestAttribute),
    },
  ),
};

const signed = (label: string, content: Shape): Shape => ({
  label,
  inside: (index, _child, before) =>
    index === 0 ? content : index === 1 ? algorithm("signatureAlgorithm") : signature(before[1]),
});

/** A PKCS#10 CertificationRequest. */
export const CERTIFICATION_REQUEST: Shape = signed("CertificationRequest", requestInfo);

const VERSIONS = ["0 (v1)", "1 (v2)", "2 (v3)"];

function versionText(node: DerNode, versions: readonly string[]): string {
  const content = contentOf(node);
  return versions[content[0] ?? 0] ?? hexValue(content);
}

const certificateFields: readonly Shape[] = [
  { label: "version", inside: each({ value: (node) => versionText(node, VERSIONS) }) },
  { label: "serialNumber", value: (node) => hexValue(contentOf(node)) },
  algorithm("signature algorithm"),
  name("issuer", false),
  { label: "validity", inside: fields({ label: "notBefore" }, { label: "notAfter" }) },
  name("subject", true),
  subjectPublicKeyInfo,
];

const tbsCertificate: Shape = {
  label: "what the CA signs",
  inside: (index, child, before) => {
    if (isContext(child, 3)) return { inside: each(extensions) };
    // A v1 certificate has no version field, so its fields come one place earlier.
    const first = before[0] ?? child;
    return certificateFields[first.tagClass === asn1.Class.CONTEXT_SPECIFIC ? index : index + 1];
  },
};

/** An X.509 certificate. */
export const CERTIFICATE: Shape = signed("Certificate", tbsCertificate);

/** The shape of a PEM block by its type; {} for a block that is shown only by its tags. */
export function shapeOf(pemType: string): Shape {
  if (pemType === "CERTIFICATE REQUEST") return CERTIFICATION_REQUEST;
  return pemType === "CERTIFICATE" ? CERTIFICATE : {};
}
