import { open, readdir, rename, rm, rmdir, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { KeyPair, PendingKey, Store } from "../../staging/client-go/certificate/manager.js";
import { generatePrivateKey, keyMatchesCertificate, parsePrivateKey, privateKeyPem } from "../../staging/pki/keys.js";
import { LabError } from "../../util/errors.js";
import { describeFileError, makeFolder, readIfThere, writeFileAtomic } from "../../util/os/files.js";
import { checkUnlocked } from "./folder-lock.js";

/**
 * The node's folder: `kubelet.key` (0600), `kubelet.pem` and `kubelet.config`.
 *
 * A new pair is first written as `kubelet.key.next` and `kubelet.pem.next`. The exchange is committed once
 * `kubelet.pem.next` exists: two renames finish it, by this process or, if it is killed between them, by the next
 * process that opens the folder. So `openCertificateStore` always returns a key and certificate that match.
 *
 * Mirrors k8s.io/client-go/util/certificate/certificate_store.go (fileStore).
 * Differs: key and certificate are two files, so that openssl reads each as it is; upstream has one, behind a symbolic
 * link.
 */
export class CertificateStore implements Store {
  readonly keyPath: string;
  readonly certificatePath: string;
  readonly kubeconfigPath: string;
  readonly #nextKeyPath: string;
  readonly #nextCertificatePath: string;

  constructor(readonly folder: string) {
    this.keyPath = join(folder, "kubelet.key");
    this.certificatePath = join(folder, "kubelet.pem");
    this.kubeconfigPath = join(folder, "kubelet.config");
    this.#nextKeyPath = `${this.keyPath}.next`;
    this.#nextCertificatePath = `${this.certificatePath}.next`;
  }

  /**
   * The pair in use; undefined while there is no certificate.
   * @throws LabError BAD_FILE when the key cannot be read (even without a certificate), or does not match the
   *   certificate
   */
  async current(): Promise<KeyPair | undefined> {
    const certificatePem = await readIfThere(this.certificatePath);
    const keyPem = await readIfThere(this.keyPath);
    if (keyPem !== undefined && parsePrivateKey(keyPem) === undefined) {
      throw new LabError(
        "BAD_FILE",
        `${this.keyPath} cannot be read as a private key: it is damaged, encrypted or not a key`,
        "Put the right key back, or get a new one with --force.",
      );
    }
    if (certificatePem === undefined || keyPem === undefined) return undefined;
    if (keyMatchesCertificate(keyPem, certificatePem)) return { keyPem, certificatePem };
    throw new LabError(
      "BAD_FILE",
      `the key ${this.keyPath} does not belong to the certificate ${this.certificatePath}`,
      "Put the right pair back, or get a new one with --force.",
    );
  }

  /**
   * The key for the next certificate request: the pending key of an earlier run, or a new P-256 key. The key is on disk
   * before any request is sent.
   *
   * Mirrors pkg/kubelet/certificate/bootstrap/bootstrap.go (LoadClientCert: kubelet-client.key.tmp).
   */
  async pendingKey(options: { readonly forget?: boolean } = {}): Promise<PendingKey> {
    const path = await this.#pendingKeyPath();
    const text = options.forget === true ? undefined : await readIfThere(path);
    const waiting = text === undefined ? undefined : parsePrivateKey(text);
    if (text !== undefined && waiting !== undefined) return { key: waiting, keyPem: text, isReused: true };
    const key = await generatePrivateKey("ec");
    const keyPem = privateKeyPem(key);
    await makeFolder(this.folder, 0o700);
    await writeFileAtomic(path, keyPem, { mode: 0o600 });
    return { key, keyPem, isReused: false };
  }

  /** Without a certificate, `kubelet.key` itself is the pending key. */
  async #pendingKeyPath(): Promise<string> {
    return (await readIfThere(this.certificatePath)) === undefined ? this.keyPath : this.#nextKeyPath;
  }

  /** Makes the pending key and its certificate the pair in use. */
  async commit(certificatePem: string): Promise<void> {
    if ((await this.#pendingKeyPath()) === this.keyPath) {
      await writeFileAtomic(this.certificatePath, certificatePem);
      return;
    }
    await writeFileAtomic(this.#nextCertificatePath, certificatePem);
    await this.finishExchange();
  }

  /** Finishes a committed exchange, drops any other. */
  async finishExchange(): Promise<void> {
    const certificatePem = await readIfThere(this.#nextCertificatePath);
    if (certificatePem === undefined) return;
    const nextKey = await readIfThere(this.#nextKeyPath);
    if (nextKey !== undefined && keyMatchesCertificate(nextKey, certificatePem)) {
      await rename(this.#nextKeyPath, this.keyPath);
    }
    const key = await readIfThere(this.keyPath);
    if (key !== undefined && keyMatchesCertificate(key, certificatePem)) {
      await rename(this.#nextCertificatePath, this.certificatePath);
    } else {
      await rm(this.#nextCertificatePath, { force: true });
    }
  }

  async writeKubeconfig(text: string): Promise<void> {
    await writeFileAtomic(this.kubeconfigPath, text, { mode: 0o600 });
  }
}

/** An administrator's kubeconfig that exists only during one wait. */
export const ADMIN_KUBECONFIG = "kubelab-admin.config";

/** The temporary files of `writeFileAtomic`, and the probe below. */
const TEMPORARY = /^\.(kubelet\.(key|pem|config)(\.next)?\.[0-9a-f]{8}|kubelab-\d+)\.tmp$/;

/**
 * Opens the folder of a node's files after checking that it is writable. A missing folder is created with the first
 * file, so that a run that ends earlier leaves nothing behind.
 * @throws LabError BAD_FILE, also when a running kubelet has locked the folder
 */
export async function openCertificateStore(folder: string): Promise<CertificateStore> {
  const probe = join(folder, `.kubelab-${process.pid}.tmp`);
  const missing = await missingFolders(folder);
  try {
    await makeFolder(folder, 0o700);
    await (await open(probe, "w")).close();
    await rm(probe, { force: true });
    await checkUnlocked(folder);
    // A killed run leaves its temporary files; no other program uses names like these.
    const stale = (await readdir(folder)).filter((name) => TEMPORARY.test(name) || name === ADMIN_KUBECONFIG);
    for (const name of stale) await rm(join(folder, name), { force: true });
  } catch (cause) {
    if (cause instanceof LabError) throw cause;
    throw new LabError(
      "BAD_FILE",
      `the folder ${folder} cannot be written to: ${describeFileError(cause)}`,
      "Name another folder with --dir (kubelab node: --root-dir).",
      { cause },
    );
  } finally {
    await removeEmpty(missing);
  }
  const store = new CertificateStore(folder);
  await store.finishExchange();
  return store;
}

/** The folder and its missing parents, the deepest first. */
async function missingFolders(folder: string): Promise<string[]> {
  const missing: string[] = [];
  for (let path = resolve(folder); !(await exists(path)) && dirname(path) !== path; path = dirname(path)) {
    missing.push(path);
  }
  return missing;
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

async function removeEmpty(folders: readonly string[]): Promise<void> {
  for (const path of folders) {
    try {
      await rmdir(path);
    } catch {
      return; // It was never created, or another run has put something into it: keep it and its parents.
    }
  }
}
