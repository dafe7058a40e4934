import type { ServingPair } from "../../staging/server/serve.js";
import { LabError } from "../../util/errors.js";
import { describeFileError } from "../../util/os/files.js";
import { readRegularFile } from "../../util/os/read-at-most.js";
import type { KubeletConfiguration } from "../apis/config/defaults.js";

/** Reads the files that a configuration names, so that a missing one is an error before the node joins. @throws LabError BAD_FILE */
export async function checkNamedFiles(config: KubeletConfiguration): Promise<void> {
  await readServingPair(config);
  await readClientCa(config);
}

/** The CA of clients' certificates: `authentication.x509.clientCAFile`; undefined: none is named. @throws LabError BAD_FILE */
export async function readClientCa({ authentication }: KubeletConfiguration): Promise<string | undefined> {
  const { clientCAFile } = authentication.x509;
  if (clientCAFile === undefined) return undefined;
  try {
    return await readRegularFile(clientCAFile);
  } catch (cause) {
    const message = `unable to load client CA file ${clientCAFile}: ${describeFileError(cause)}`;
    throw new LabError("BAD_FILE", message, "authentication.x509.clientCAFile names it.", { cause });
  }
}

/** The certificate of `tlsCertFile`; undefined: none is named. @throws LabError BAD_FILE */
export async function readServingPair({
  tlsCertFile,
  tlsPrivateKeyFile,
}: KubeletConfiguration): Promise<ServingPair | undefined> {
  if (tlsCertFile === undefined || tlsPrivateKeyFile === undefined) return undefined;
  try {
    const [certificatePem, keyPem] = await Promise.all([
      readRegularFile(tlsCertFile),
      readRegularFile(tlsPrivateKeyFile),
    ]);
    return { certificatePem, keyPem };
  } catch (cause) {
    const message = `cannot read the serving certificate: ${describeFileError(cause)}`;
    throw new LabError("BAD_FILE", message, "tlsCertFile and tlsPrivateKeyFile name it and its key.", { cause });
  }
}
