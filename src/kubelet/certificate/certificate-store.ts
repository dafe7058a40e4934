import { mkdtemp, rm, rmdir, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import type { KeyPair, PendingKey, Store } from "../../staging/client-go/certificate/manager.js";
import { generatePrivateKey, keyMatchesCertificate, parsePrivateKey, privateKeyPem } from "../../staging/pki/keys.js";
import { LabError } from "../../util/errors.js";
import {
  createFileAtomic,
  describeFileError,
  makeFolder,
  readIfThere,
  removeAbandoned,
  writeFileAtomic,
} from "../../util/os/files.js";
import { checkUnlocked } from "./folder-lock.js";

/**
 * The node's folder: `kubelet.key` (0600), `kubelet.pem` and `kubelet.config`.
 *
 * A new pair is first written as `kubelet.key.next` and `kubelet.pem.next`. The exchange is committed once
 * `kubelet.pem.next` exists: this process copies both, or, if it is killed meanwhile, the next process that opens the
 * folder. So `openCertificateStore` always returns a key and certificate that match.
 *
 * Several commands can use the folder at once. They share the pending key, and each can finish the exchange of another.
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
    for (let attempt = 1; ; attempt++) {
      const certificatePem = await readIfThere(this.certificatePath);
      const keyPem = await readIfThere(this.keyPath);
      if (keyPem !== undefined && parsePrivateKey(keyPem) === undefined) throw this.#unreadableKey();
      if (certificatePem === undefined || keyPem === undefined) return undefined;
      if (keyMatchesCertificate(keyPem, certificatePem)) return { keyPem, certificatePem };
      if (attempt === MAX_ATTEMPTS) throw this.#noPair();
      // Another command may be between the two files of its exchange.
      await this.finishExchange();
    }
  }

  #unreadableKey(): LabError {
    return new LabError(
      "BAD_FILE",
      `${this.keyPath} cannot be read as a private key: it is damaged, encrypted or not a key`,
      "Put the right key back, or get a new one with --force.",
    );
  }

  #noPair(): LabError {
    return new LabError(
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
    for (;;) {
      const text = options.forget === true ? undefined : await readIfThere(path);
      const waiting = text === undefined ? undefined : parsePrivateKey(text);
      if (text !== undefined && waiting !== undefined) return { key: waiting, keyPem: text, isReused: true };
      const key = await generatePrivateKey("ec");
      const keyPem = privateKeyPem(key);
      await makeFolder(this.folder, 0o700);
      const replaces = options.forget === true || text !== undefined;
      if (replaces) await writeFileAtomic(path, keyPem, { mode: 0o600 });
      // Otherwise another command may have made one meanwhile: then it is everybody's.
      if (replaces || (await createFileAtomic(path, keyPem, { mode: 0o600 }))) return { key, keyPem, isReused: false };
    }
  }

  /** Without a certificate, `kubelet.key` itself is the pending key. */
  async #pendingKeyPath(): Promise<string> {
    return (await readIfThere(this.certificatePath)) === undefined ? this.keyPath : this.#nextKeyPath;
  }

  /**
   * Makes a pair with the pending key the pair in use.
   * @throws LabError BAD_FILE
   */
  async commit({ keyPem, certificatePem }: KeyPair): Promise<void> {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      if ((await readIfThere(this.keyPath)) === keyPem) await writeFileAtomic(this.certificatePath, certificatePem);
      else {
        // Another command may have replaced the pending key.
        if ((await readIfThere(this.#nextKeyPath)) !== keyPem) {
          await writeFileAtomic(this.#nextKeyPath, keyPem, { mode: 0o600 });
        }
        await writeFileAtomic(this.#nextCertificatePath, certificatePem);
        await this.finishExchange();
      }
      // Another command may have exchanged one of the two files meanwhile.
      const current = await this.current().catch(() => undefined);
      if (current !== undefined) return;
    }
    await this.current();
  }

  /** Finishes a committed exchange, drops any other. */
  async finishExchange(): Promise<void> {
    const certificatePem = await readIfThere(this.#nextCertificatePath);
    if (certificatePem === undefined) return;
    const nextKey = await readIfThere(this.#nextKeyPath);
    if (nextKey !== undefined && keyMatchesCertificate(nextKey, certificatePem)) {
      await writeFileAtomic(this.keyPath, nextKey, { mode: 0o600 });
    }
    const key = await readIfThere(this.keyPath);
    if (key !== undefined && keyMatchesCertificate(key, certificatePem)) {
      await writeFileAtomic(this.certificatePath, certificatePem);
      await removeIf(this.#nextKeyPath, key);
    }
    await removeIf(this.#nextCertificatePath, certificatePem);
  }

  /** of the files that are replaced atomically */
  get fileNames(): readonly string[] {
    const { keyPath, certificatePath, kubeconfigPath } = this;
    const all = [keyPath, certificatePath, kubeconfigPath, this.#nextKeyPath, this.#nextCertificatePath];
    return all.map((path) => basename(path));
  }

  async writeKubeconfig(text: string): Promise<void> {
    await writeFileAtomic(this.kubeconfigPath, text, { mode: 0o600 });
  }
}

/** Another command can disturb an exchange between its two files, but hardly each time. */
const MAX_ATTEMPTS = 5;

/** Removes a file unless another command has replaced its content. */
async function removeIf(path: string, content: string): Promise<void> {
  if ((await readIfThere(path)) === content) await rm(path, { force: true });
}

/** An administrator's kubeconfig that exists only during one wait. */
export const ADMIN_KUBECONFIG = "kubelab-admin.config";

/**
 * Opens the folder of a node's files after checking that it is writable. A missing folder is created with the first
 * file, so that a run that ends earlier leaves nothing behind.
 * @throws LabError BAD_FILE, also when a running kubelet has locked the folder
 */
export async function openCertificateStore(folder: string): Promise<CertificateStore> {
  const store = new CertificateStore(folder);
  try {
    await checkWritable(folder);
    await checkUnlocked(folder);
    await removeAbandoned(folder, store.fileNames);
    await rm(join(folder, ADMIN_KUBECONFIG), { force: true });
  } catch (cause) {
    if (cause instanceof LabError) throw cause;
    throw new LabError(
      "BAD_FILE",
      `the folder ${folder} cannot be written to: ${describeFileError(cause)}`,
      "Name another folder with --dir (kubelab node: --root-dir).",
      { cause },
    );
  }
  await store.finishExchange();
  return store;
}

/** Creates and removes an empty folder where the first missing part of the path would be. @throws the file system's error */
async function checkWritable(folder: string): Promise<void> {
  let existing = resolve(folder);
  while (!(await exists(existing)) && dirname(existing) !== existing) existing = dirname(existing);
  await rmdir(await mkdtemp(join(existing, ".kubelab-")));
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
