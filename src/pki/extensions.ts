import { type DerNode, derChildren, isUniversal, oidText, Tag } from "./der.js";
import { boolean, octetString, oid, sequence } from "./der-write.js";

/** An X.509 v3 extension. */
export interface Extension {
  readonly oid: string;
  readonly critical: boolean;
  /** the content of its OCTET STRING: DER again */
  readonly value: Buffer;
}

/** `critical` is written only when true: false is its default. */
export function encodeExtension({ oid: dotted, critical, value }: Extension): Buffer {
  return sequence(oid(dotted), ...(critical ? [boolean(true)] : []), octetString(value));
}

/** @param node the SEQUENCE OF Extension */
export function parseExtensions(node: DerNode): Extension[] {
  return derChildren(node).flatMap((child): Extension[] => {
    const [type, ...rest] = derChildren(child);
    const value = rest.at(-1);
    if (!isUniversal(type, Tag.OID) || !isUniversal(value, Tag.OCTET_STRING)) return [];
    const flag = rest.length > 1 ? rest[0] : undefined;
    return [{ oid: oidText(type.content), critical: flag?.content[0] === 0xff, value: value.content }];
  });
}

/** The DER value of an extension, if it is there. @param dotted its OID */
export function extensionValue(extensions: readonly Extension[], dotted: string): Buffer | undefined {
  return extensions.find((one) => one.oid === dotted)?.value;
}
