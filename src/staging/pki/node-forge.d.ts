// The modules of node-forge that this folder uses. @types/node-forge describes only the package as a whole, which loads slowly.

declare module "node-forge/lib/asn1.js" {
  import type { asn1, util } from "node-forge";

  interface FromDerOptions {
    readonly strict: boolean;
    readonly parseAllBytes: boolean;
    readonly decodeBitStrings: boolean;
    readonly maxDepth: number;
  }
  const api: Omit<typeof asn1, "fromDer"> & {
    fromDer(bytes: string, options: FromDerOptions): asn1.Asn1;
    /** undefined: indefinite. @param bytes begin with the length's first byte */
    getBerValueLength(bytes: util.ByteStringBuffer): number | undefined;
  };
  export = api;
}

declare module "node-forge/lib/pem.js" {
  import type { pem } from "node-forge";

  const api: typeof pem;
  export = api;
}

declare module "node-forge/lib/oids.js" {
  type Known =
    | "commonName"
    | "serialNumber"
    | "countryName"
    | "localityName"
    | "stateOrProvinceName"
    | "streetAddress"
    | "organizationName"
    | "organizationalUnitName"
    | "postalCode"
    | "rsaEncryption"
    | "sha1WithRSAEncryption"
    | "sha256WithRSAEncryption"
    | "sha384WithRSAEncryption"
    | "sha512WithRSAEncryption"
    | "extensionRequest"
    | "subjectKeyIdentifier"
    | "keyUsage"
    | "subjectAltName"
    | "basicConstraints"
    | "authorityKeyIdentifier"
    | "extKeyUsage"
    | "serverAuth"
    | "clientAuth"
    | "codeSigning"
    | "emailProtection"
    | "timeStamping";
  /** dotted OID by name, and name by dotted OID */
  const oids: Readonly<Record<Known, string>> & Readonly<Record<string, string | undefined>>;
  export = oids;
}

declare module "node-forge/lib/util.js" {
  import type { util } from "node-forge";

  const api: typeof util;
  export = api;
}
