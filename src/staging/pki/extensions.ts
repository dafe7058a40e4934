import { childrenOf, contentOf, type DerNode, isUniversal, latin1Of, oidOf, Tag } from "./der.js";
import { boolean, octetString, oid, sequence } from "./der-write.js";

/** An X.509 v3 extension. */
export interface Extension {
  readonly oid: string;
  readonly critical: boolean;
  /** the content of its OCTET STRING: DER again */
  readonly value: Buffer;
}

/** `critical` is left out when false, which is its default. */
export function encodeExtension({ oid: dotted, critical, value }: Extension): DerNode {
  return sequence(oid(dotted), ...(critical ? [boolean(true)] : []), octetString(value));
}

/** @param node the SEQUENCE OF Extension */
export function parseExtensions(node: DerNode): Extension[] {
  return childrenOf(node).flatMap((child): Extension[] => {
    const [type, ...rest] = childrenOf(child);
    const value = rest.at(-1);
    if (!isUniversal(type, Tag.OID) || !isUniversal(value, Tag.OCTETSTRING)) return [];
    const flag = rest.length > 1 ? rest[0] : undefined;
    return [{ oid: oidOf(type), critical: flag !== undefined && latin1Of(flag) === "\xff", value: contentOf(value) }];
  });
}

/** The DER value of an extension; undefined when it is absent. @param dotted its OID */
export function extensionValue(extensions: readonly Extension[], dotted: string): Buffer | undefined {
  return extensions.find((one) => one.oid === dotted)?.value;
}
