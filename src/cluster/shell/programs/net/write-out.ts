import type { SocketAddress } from "../../process/ports.js";
import { parseTarget } from "./url.js";

/** The variables of `curl --write-out`. */
export interface Transfer {
  url: string;
  method: string;
  code: number;
  contentType?: string;
  sizeBytes: number;
  headerBytes: number;
  redirects: number;
  remote?: SocketAddress;
  exitCode?: number;
  /** ms since the start, by the name after `time_` */
  readonly times: Record<string, number>;
}

/** The text of a format such as `%{http_code}\n`. An unknown variable is left out, as curl does. */
export function writeOut(format: string, transfer: Transfer): string {
  const values = valuesOf(transfer);
  return format
    .replace(/\\([nrt\\])/g, (_, letter: string) => ({ n: "\n", r: "\r", t: "\t" })[letter] ?? letter)
    .replace(/%\{([a-z_]+)\}|%%/g, (all, name: string | undefined) => {
      if (name === undefined) return "%";
      if (name.startsWith("time_")) return ((transfer.times[name.slice("time_".length)] ?? 0) / 1_000).toFixed(6);
      return values[name] ?? (all === "%%" ? "%" : "");
    });
}

function valuesOf(transfer: Transfer): Readonly<Record<string, string>> {
  const { url, method, code, contentType = "", sizeBytes, headerBytes, redirects, remote, exitCode = 0 } = transfer;
  const shownCode = String(code).padStart(3, "0");
  return {
    http_code: shownCode,
    response_code: shownCode,
    content_type: contentType,
    exitcode: String(exitCode),
    http_version: code === 0 ? "0" : "1.1",
    method,
    num_connects: remote === undefined ? "0" : "1",
    num_redirects: String(redirects),
    remote_ip: remote?.ip ?? "",
    remote_port: String(remote?.port ?? 0),
    scheme: (parseTarget(url)?.scheme ?? "").toUpperCase(),
    size_download: String(sizeBytes),
    size_header: String(headerBytes),
    url: url,
    url_effective: url,
  };
}
