import { resolve } from "node:path";
import type { EtcdConfig } from "../../cluster/apiserver/storage/etcd/config.js";
import { defined } from "../../util/defined.js";
import { LabError } from "../../util/errors.js";

/** The flags for the location of a control plane's state. Mirrors kube-apiserver's `--etcd-servers` and its TLS files. */
export interface EtcdOptions {
  /** separated by commas */
  readonly etcd?: string;
  readonly etcdCafile?: string;
  readonly etcdCertfile?: string;
  readonly etcdKeyfile?: string;
}

/** undefined without --etcd. @throws LabError USAGE for the other flags alone */
export function etcdConfig(options: EtcdOptions): EtcdConfig | undefined {
  const { etcd, etcdCafile, etcdCertfile, etcdKeyfile } = options;
  const absolute = (file: string | undefined) => (file === undefined ? undefined : resolve(file));
  const [caFile, certFile, keyFile] = [etcdCafile, etcdCertfile, etcdKeyfile].map(absolute);
  if (etcd !== undefined) {
    return { servers: etcdServers(etcd), ...defined({ caFile, certFile, keyFile }) };
  }
  if ((caFile ?? certFile ?? keyFile) === undefined) return undefined;
  throw new LabError("USAGE", "files for etcd need --etcd", "Name etcd with --etcd https://127.0.0.1:2379.");
}

function etcdServers(etcd: string): readonly string[] {
  return etcd.split(",").filter((one) => one !== "");
}

/** The same flags, for a process that is started with them. */
export function etcdFlags({ etcd, etcdCafile, etcdCertfile, etcdKeyfile }: EtcdOptions): string[] {
  const flags = {
    "--etcd": etcd,
    "--etcd-cafile": etcdCafile,
    "--etcd-certfile": etcdCertfile,
    "--etcd-keyfile": etcdKeyfile,
  };
  return Object.entries(defined(flags)).flat();
}
