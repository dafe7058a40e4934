import type { IncomingMessage } from "node:http";

/** The reason for refusing a request. */
export interface Refusal {
  readonly status: number;
  readonly message: string;
}

const OWN_HOST = /^(127(?:\.\d{1,3}){3}|localhost|\[::1\])(?::(\d+))?$/i;
const HTTP_PORT = 80;

/**
 * Allows only this server's own pages, and programs on this machine. A foreign page whose name resolves to 127.0.0.1
 * (DNS rebinding) still sends its own name as Host; a page that only posts here sends its own Origin.
 * @returns undefined if the request is allowed
 */
export function checkOrigin({ headers }: IncomingMessage, port: number): Refusal | undefined {
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
