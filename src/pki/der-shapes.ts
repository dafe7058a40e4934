import { type DerNode, derChildren, isUniversal, oidText, stringValue, Tag } from "./der.js";
import { hexValue, type Shape } from "./der-walk.js";
import { sequence } from "./der-write.js";
import { OID } from "./oids.js";
import { parseSans } from "./sans.js";
import { keyUsageNames } from "./usages.js";

/** What stands where in requests and certificates: PKCS#10 (RFC 2986), X.509 (RFC 5280), keys (RFC 3279, 5480). */

type Inside = NonNullable<Shape["inside"]>;

const fields =
  (...shapes: readonly Shape[]): Inside =>
  (index) =>
    shapes[index];
const each =
  (shape: Shape): Inside =>
  () =>
    shape;

/** Kubernetes reads two attributes of a subject; the others are only text. */
const READ_AS: Readonly<Record<string, string>> = {
  [OID.commonName]: "CN (the user)",
  [OID.organizationName]: "O (a group)",
};

function attributeValue(type: DerNode | undefined, isSubject: boolean): Shape {
  const dotted = isUniversal(type, Tag.OID) ? oidText(type.content) : "";
  const label = isSubject ? READ_AS[dotted] : undefined;
  const value = (node: DerNode) => JSON.stringify(stringValue(node) ?? hexValue(node.content));
  return label === undefined ? { value } : { label, value };
}

function name(label: string, isSubject: boolean): Shape {
  const attribute: Shape = {
    inside: (index, _child, before) => (index === 1 ? attributeValue(before[0], isSubject) : undefined),
  };
  return { label, inside: each({ inside: each(attribute) }) };
}

const algorithm = (label: string): Shape => ({ label, inside: fields({}, { label: "parameters" }) });

/** RSA keys are DER inside the BIT STRING, points of a curve and Ed25519 keys are bare bytes. */
function publicKeyBits(algorithmNode: DerNode | undefined): Shape {
  const dotted = algorithmOidOf(algorithmNode);
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
  const bytes = node.content[0] === 0 ? node.content.subarray(1) : node.content;
  return `${bytes.subarray(0, 8).toString("hex")}… (${bytes.length * 8} bits)`;
}

const subjectPublicKeyInfo: Shape = {
  label: "subjectPublicKeyInfo",
  inside: (index, _child, before) => (index === 0 ? algorithm("kind of key") : publicKeyBits(before[0])),
};

/** An ECDSA signature is a pair of numbers, in DER again. */
function signature(algorithmNode: DerNode | undefined): Shape {
  const isEcdsa = algorithmOidOf(algorithmNode).startsWith("1.2.840.10045.4.");
  if (!isEcdsa) return { label: "signature" };
  return { label: "signature", wraps: true, inside: each({ inside: fields({ label: "r" }, { label: "s" }) }) };
}

function algorithmOidOf(node: DerNode | undefined): string {
  const first = isUniversal(node, Tag.SEQUENCE) ? derChildren(node)[0] : undefined;
  return isUniversal(first, Tag.OID) ? oidText(first.content) : "";
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
  const label = GENERAL_NAMES[node.tag] ?? "name";
  if (node.constructed) return { label };
  // One name in a list of its own: the reader of lists knows how addresses are written.
  const { dns, email, uri, ip } = parseSans(sequence(node.whole));
  const text = [...dns, ...email, ...uri, ...ip][0];
  return text === undefined ? { label } : { label, value: () => text };
}

/** What is inside the OCTET STRING of an extension. */
function extensionContent(dotted: string): Shape {
  switch (dotted) {
    case OID.keyUsage:
      return { label: "usages", value: (node) => keyUsageNames(node).join(", ") };
    case OID.extKeyUsage:
      return { label: "purposes" };
    case OID.basicConstraints:
      return {
        value: (node) => (node.content.length === 0 ? "CA: FALSE (absent, the default)" : ""),
        inside: fields({ label: "CA" }, { label: "pathLenConstraint" }),
      };
    case OID.subjectKeyIdentifier:
      return { label: "id of the key" };
    case OID.authorityKeyIdentifier:
      return { inside: (_index, child) => (child.tag === 0 ? { label: "id of the CA's key" } : undefined) };
    case OID.subjectAltName:
      return { label: "alternative names", inside: (_index, child) => generalName(child) };
    default:
      return {};
  }
}

/** Known extensions are opened; of others only the bytes are shown, as they need not hold DER. */
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
    if (!isUniversal(child, Tag.OCTET_STRING)) return undefined;
    const dotted = isUniversal(before[0], Tag.OID) ? oidText(before[0].content) : "";
    if (!OPENED.has(dotted)) return { label: "value" };
    return { label: "value", wraps: true, inside: each(extensionContent(dotted)) };
  },
};
const extensions: Shape = { label: "extensions", inside: each(extension) };

const requestAttribute: Shape = {
  label: "attribute",
  inside: (_index, child, before) => {
    const dotted = isUniversal(before[0], Tag.OID) ? oidText(before[0].content) : "";
    return isUniversal(child, Tag.SET) && dotted === OID.extensionRequest ? { inside: each(extensions) } : undefined;
  },
};

const requestInfo: Shape = {
  label: "what the key signs",
  inside: fields(
    { label: "version", value: (node) => (node.content[0] === 0 ? "0 (v1)" : hexValue(node.content)) },
    name("subject", true),
    subjectPublicKeyInfo,
    {
      label: "attributes",
      value: (node) => (node.content.length === 0 ? "none" : ""),
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

const certificateFields: readonly Shape[] = [
  { label: "version", inside: each({ value: (node) => VERSIONS[node.content[0] ?? 0] ?? hexValue(node.content) }) },
  { label: "serialNumber", value: (node) => hexValue(node.content) },
  algorithm("signature algorithm"),
  name("issuer", false),
  { label: "validity", inside: fields({ label: "notBefore" }, { label: "notAfter" }) },
  name("subject", true),
  subjectPublicKeyInfo,
];

const tbsCertificate: Shape = {
  label: "what the CA signs",
  inside: (index, child, before) => {
    if (child.tagClass === "context" && child.tag === 3) return { inside: each(extensions) };
    // A v1 certificate has no version: everything moves up by one.
    const first = index === 0 ? child : before[0];
    const shift = first?.tagClass === "context" ? 0 : 1;
    return certificateFields[index + shift];
  },
};

/** An X.509 certificate. */
export const CERTIFICATE: Shape = signed("Certificate", tbsCertificate);

/** The shape of a PEM block by its type; {} for what this project only shows by its tags. */
export function shapeOf(pemType: string): Shape {
  if (pemType === "CERTIFICATE REQUEST" || pemType === "NEW CERTIFICATE REQUEST") return CERTIFICATION_REQUEST;
  return pemType === "CERTIFICATE" ? CERTIFICATE : {};
}
