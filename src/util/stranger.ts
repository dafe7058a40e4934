import type { IncomingMessage } from "node:http";

/** Why a request is refused. */
export interface Refusal {
  readonly status: number;
  readonly message: string;
}

const OWN_HOST = /^(127(?:\.\d{1,3}){3}|localhost|\[::1\])(?::(\d+))?$/i;
const HTTP_PORT = 80;

/**
 * Only pages of this server, and programs of this machine, may ask. A foreign page whose name was made to point at 127.0.0.1
 * (DNS rebinding) still sends its own name as Host; one that only posts here sends its own Origin.
 * @returns undefined: it may
 */
export function refuseStranger({ headers }: IncomingMessage, port: number): Refusal | undefined {
  const { host, origin } = headers;
  if (host === undefined || !isOwn(host, port)) {
    const message = `Host ${JSON.stringify(host ?? "")} is not this server: use http://127.0.0.1:${port}/`;
    return { status: 403, message };
  }
  const from = origin === undefined ? host : (/^http:\/\/(.+)$/i.exec(origin)?.[1] ?? "");
  return isOwn(from, port) ? undefined : { status: 403, message: `Origin ${JSON.stringify(origin)} is not this page` };
}

function isOwn(host: string, port: number): boolean {
  const match = OWN_HOST.exec(host);
  return match !== null && Number(match[2] ?? HTTP_PORT) === port;
}
