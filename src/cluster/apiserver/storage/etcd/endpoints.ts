import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { type PeerCertificate, checkServerIdentity as tlsCheckServerIdentity } from "node:tls";
import { type ChannelOptions, Client, credentials } from "@grpc/grpc-js";
import { fromPem } from "../../../../staging/client-go/rest/tls.js";
import { LabError } from "../../../../util/errors.js";
import { describeFileError } from "../../../../util/os/files.js";
import type { EtcdConfig } from "./config.js";

/** One server: grpc-js connects with the first call, and again when the connection is lost. */
export interface EtcdEndpoint {
  /** as configured */
  readonly url: string;
  readonly client: Client;
}

/** Mirrors newETCD3Client in k8s.io/apiserver/pkg/storage/storagebackend/factory/etcd3.go (keepaliveTime, keepaliveTimeout). */
const OPTIONS: ChannelOptions = {
  "grpc.keepalive_time_ms": 30_000,
  "grpc.keepalive_timeout_ms": 10_000,
  // A list has no limit.
  "grpc.max_receive_message_length": -1,
  "grpc.max_send_message_length": -1,
  "grpc-node.flow_control_window": 4 * 1024 * 1024,
  "grpc.initial_reconnect_backoff_ms": 100,
  "grpc.max_reconnect_backoff_ms": 1_000,
  "grpc.enable_channelz": 0,
  // Closing a client closes its connection.
  "grpc.use_local_subchannel_pool": 1,
  "grpc.enable_http_proxy": 0,
};

/**
 * Makes a client for each server. Nothing is sent yet.
 * @throws LabError USAGE for a text that is no address, or TLS files without https; BAD_FILE
 */
export async function openEndpoints(config: EtcdConfig): Promise<readonly EtcdEndpoint[]> {
  const targets = config.servers.map(parseServer);
  if (targets.length === 0) throw new LabError("USAGE", "no etcd server is named", EXAMPLE);
  const isTls = targets.some((one) => one.isTls);
  const { caFile, certFile, keyFile } = config;
  if (!isTls && (caFile ?? certFile ?? keyFile) !== undefined) {
    throw new LabError("USAGE", "etcd's certificates are of no use with http://", "Name the server with https://.");
  }
  if ((certFile === undefined) !== (keyFile === undefined)) {
    throw new LabError("USAGE", "etcd's client certificate needs its key, and the key its certificate", "Give both.");
  }
  const [ca = null, cert = null, key = null] = await Promise.all([caFile, certFile, keyFile].map(readPem));
  return targets.map(({ url, address, isTls: secure }) => {
    if (!secure) return { url, client: new Client(`dns:${address}`, credentials.createInsecure(), OPTIONS) };
    const host = new URL(url).hostname.replace(/^\[|\]$/g, "");
    const checkServerIdentity = (_: string, peer: PeerCertificate) => tlsCheckServerIdentity(host, peer);
    // TLS cannot ask for an address by name: the certificate is checked for the address nevertheless.
    const options = isIP(host) === 0 ? OPTIONS : { ...OPTIONS, "grpc.ssl_target_name_override": "localhost" };
    const place = "in the files of --etcd-cafile, --etcd-certfile and --etcd-keyfile";
    const channel = fromPem(ca?.toString(), place, () => credentials.createSsl(ca, key, cert, { checkServerIdentity }));
    return { url, client: new Client(`dns:${address}`, channel, options) };
  });
}

const EXAMPLE = "Name it as http://127.0.0.1:2379; several are separated by commas.";

function parseServer(url: string): { readonly url: string; readonly address: string; readonly isTls: boolean } {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed !== undefined && parsed.username + parsed.password !== "") {
    const hint = "A user of etcd is the common name of a client certificate: --etcd-certfile and --etcd-keyfile.";
    throw new LabError("USAGE", "--etcd takes no user and no password, as kube-apiserver's flag", hint);
  }
  const isTls = parsed?.protocol === "https:";
  const isHttp = parsed?.protocol === "http:" || isTls;
  if (parsed === undefined || !isHttp || parsed.hostname === "" || !["", "/"].includes(parsed.pathname)) {
    throw new LabError("USAGE", `${JSON.stringify(url)} is not the address of an etcd server`, EXAMPLE);
  }
  const port = parsed.port === "" ? (isTls ? "443" : "80") : parsed.port;
  return { url, address: `${parsed.hostname}:${port}`, isTls };
}

async function readPem(file: string | undefined): Promise<Buffer | undefined> {
  if (file === undefined) return undefined;
  try {
    return await readFile(file);
  } catch (cause) {
    throw new LabError("BAD_FILE", `cannot read ${file}: ${describeFileError(cause)}`, "Name a PEM file.", { cause });
  }
}
