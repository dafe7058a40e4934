import { childrenOf, type DerNode, isUniversal, oidOf, stringOf, Tag } from "./der.js";
import { directoryString, oid, sequence, setOf } from "./der-write.js";
import { OID } from "./oids.js";

/** A distinguished name. Kubernetes reads CN as the user and O as the groups. Mirrors pkix.Name in Go's crypto/x509. */
export interface DistinguishedName {
  readonly commonName: string;
  readonly organization: readonly string[];
  readonly country?: readonly string[];
  readonly organizationalUnit?: readonly string[];
  readonly locality?: readonly string[];
  readonly province?: readonly string[];
  readonly streetAddress?: readonly string[];
  readonly postalCode?: readonly string[];
  readonly serialNumber?: string;
}

/** The attributes with several values, in Go's order. */
const LIST_ATTRIBUTES = [
  ["country", OID.countryName],
  ["organization", OID.organizationName],
  ["organizationalUnit", OID.organizationalUnitName],
  ["locality", OID.localityName],
  ["province", OID.stateOrProvinceName],
  ["streetAddress", OID.streetAddress],
  ["postalCode", OID.postalCode],
] as const;

/**
 * O comes before CN; all values of one attribute share a sorted SET.
 *
 * Mirrors pkix.Name (ToRDNSequence). `parseName` drops unknown attributes, so a certificate's subject may hold less than
 * the request's.
 */
export function encodeName(name: DistinguishedName): DerNode {
  const sets: DerNode[] = [];
  const attribute = (dotted: string, value: string) => sequence(oid(dotted), directoryString(value));
  for (const [field, dotted] of LIST_ATTRIBUTES) {
    const values = name[field] ?? [];
    if (values.length > 0) sets.push(setOf(...values.map((value) => attribute(dotted, value))));
  }
  if (name.commonName !== "") sets.push(setOf(attribute(OID.commonName, name.commonName)));
  if (name.serialNumber) sets.push(setOf(attribute(OID.serialNumber, name.serialNumber)));
  return sequence(...sets);
}

/** One `attribute = value` of a name. */
interface NameAttribute {
  readonly oid: string;
  readonly value: string;
}

/** Every attribute, in the order of the bytes. */
function nameAttributes(node: DerNode): NameAttribute[] {
  return childrenOf(node)
    .flatMap((set) => childrenOf(set))
    .flatMap((pair): NameAttribute[] => {
      const [type, value] = childrenOf(pair);
      if (!isUniversal(type, Tag.OID) || value === undefined) return [];
      return [{ oid: oidOf(type), value: stringOf(value) ?? "" }];
    });
}

/** The last of several CNs wins, as in Go. */
export function parseName(node: DerNode): DistinguishedName {
  const attributes = nameAttributes(node);
  const all = (dotted: string) => attributes.filter((one) => one.oid === dotted).map((one) => one.value);
  const lists = LIST_ATTRIBUTES.map(([field, dotted]) => [field, all(dotted)] as const);
  const serialNumber = all(OID.serialNumber).at(-1);
  return {
    commonName: all(OID.commonName).at(-1) ?? "",
    organization: [],
    ...Object.fromEntries(lists.filter(([field, values]) => values.length > 0 || field === "organization")),
    ...(serialNumber === undefined ? {} : { serialNumber }),
  };
}

/** `O=system:nodes, CN=system:node:n1`, for people. */
export function nameText(name: DistinguishedName): string {
  const parts = [...name.organization.map((value) => `O=${value}`)];
  for (const [label, values] of [
    ["OU", name.organizationalUnit],
    ["C", name.country],
    ["ST", name.province],
    ["L", name.locality],
  ] as const) {
    parts.push(...(values ?? []).map((value) => `${label}=${value}`));
  }
  if (name.commonName !== "") parts.push(`CN=${name.commonName}`);
  return parts.length === 0 ? "(empty)" : parts.join(", ");
}
