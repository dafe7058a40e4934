import type { KeyObject } from "node:crypto";
import { join } from "node:path";
import { LabError } from "../../util/errors.js";
import { readIfThere, writeFileAtomic } from "../../util/os/files.js";
import {
  generatePrivateKey,
  type KeyType,
  keyMatchesCertificate,
  parsePrivateKey,
  privateKeyPem,
} from "../pki/keys.js";

/** The files of one request: `kubelet.key` (0600), `kubelet.csr`, `kubelet.pem`, and `kubelet.config` for kubectl. */
export interface RequestFiles {
  readonly key: string;
  readonly request: string;
  readonly certificate: string;
  readonly kubeconfig: string;
}

/** @throws LabError USAGE for a prefix that would leave the folder */
export function requestFiles(folder: string, prefix: string): RequestFiles {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: rejects control characters
  if (prefix === "" || /[/\\\u0000-\u001f]/.test(prefix)) {
    throw new LabError(
      "USAGE",
      `--prefix ${JSON.stringify(prefix)} cannot begin a file's name`,
      "It is a word without slashes; --out-dir sets the folder.",
    );
  }
  const path = (ending: string) => join(folder, `${prefix}.${ending}`);
  return { key: path("key"), request: path("csr"), certificate: path("pem"), kubeconfig: path("config") };
}

export interface LocalKey {
  readonly key: KeyObject;
  /** true: the file existed already */
  readonly isReused: boolean;
}

/**
 * Reads the key from this file, or writes a new one to it (0600). This happens before anything is sent, so that no
 * certificate is issued for a lost key.
 * @param type undefined: an existing key of any type is accepted, a new one is ECDSA P-256
 * @throws LabError BAD_FILE when the file contains something else, or a key of another type
 */
export async function keyFromFile(path: string, type: KeyType | undefined): Promise<LocalKey> {
  const existing = await readKeyFile(path);
  if (existing === undefined) {
    const key = await generatePrivateKey(type ?? "ec");
    await writeFileAtomic(path, privateKeyPem(key), { mode: 0o600 });
    return { key, isReused: false };
  }
  if (type !== undefined && existing.asymmetricKeyType !== type) {
    throw new LabError(
      "BAD_FILE",
      `${path} contains a key of type ${existing.asymmetricKeyType}, but --key-type is ${type}`,
      "Choose another folder with --out-dir, or move the old key away.",
    );
  }
  return { key: existing, isReused: true };
}

/** @returns undefined when there is no such file. @throws LabError BAD_FILE when it contains no readable key */
export async function readKeyFile(path: string): Promise<KeyObject | undefined> {
  const pem = await readIfThere(path);
  if (pem === undefined) return undefined;
  const key = parsePrivateKey(pem);
  if (key !== undefined) return key;
  throw new LabError(
    "BAD_FILE",
    `${path} does not contain a readable private key`,
    "It is damaged, encrypted or incomplete: move it away, or choose another with --out-dir or --prefix.",
  );
}

/**
 * Writes the certificate next to its key.
 * @throws LabError BAD_FILE, without writing, when the key file contains another key
 */
export async function writeCertificate(files: RequestFiles, certificatePem: string): Promise<void> {
  const keyPem = await readIfThere(files.key);
  if (keyPem !== undefined && !keyMatchesCertificate(keyPem, certificatePem)) {
    throw new LabError(
      "BAD_FILE",
      `the key ${files.key} does not belong to the issued certificate`,
      "Choose the key of the request: its folder with --out-dir, the beginning of its name with --prefix.",
    );
  }
  await writeFileAtomic(files.certificate, certificatePem);
}
