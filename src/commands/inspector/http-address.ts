import { isIPv4 } from "node:net";
import { InvalidArgumentError } from "commander";
import type { HttpAddress } from "./page-server.js";

/** Parses `127.0.0.1:8080`, `localhost:0`, `[::1]:8080` or `8080`. Only this machine, because the page can change the runtime. */
export function parseHttpAddress(text: string): HttpAddress {
  const match = /^(?:(\[::1\]|localhost|127(?:\.\d{1,3}){3}):)?(\d{1,5})$/.exec(text);
  const port = Number(match?.[2]);
  const isAddress = match !== null && (!/^127/.test(match[1] ?? "") || isIPv4(match[1] ?? ""));
  if (!isAddress || port > 65_535) {
    throw new InvalidArgumentError("expected an address of this machine and a port, for example 127.0.0.1:8080.");
  }
  return { host: (match[1] ?? "127.0.0.1").replace(/^\[|\]$/g, ""), port };
}
