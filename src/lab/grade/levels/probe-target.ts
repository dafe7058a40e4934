import { createServer, type Server as HttpServer } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Server } from "node:net";

/** A name and value that the probe must send. */
export const HEADER = { name: "X-Examiner", value: "graded" } as const;
const MAX_CALLS = 1_000;

/** A call of the HTTP probe. */
export interface ProbeCall {
  readonly target: string;
  readonly hasHeader: boolean;
}

/** Two servers of the examiner that probes name as their host: an agent needs no way into the pods' network. */
export interface ProbeTarget extends AsyncDisposable {
  readonly httpPort: number;
  readonly calls: readonly ProbeCall[];
  /** every later request is answered with this */
  httpStatus: number;
  /** closed at first */
  readonly tcpPort: number;
  openTcp(): Promise<void>;
}

/** Starts the servers on loopback. */
export async function serveProbes(): Promise<ProbeTarget> {
  const calls: ProbeCall[] = [];
  const http = createServer((request, response) => {
    const hasHeader = request.headers[HEADER.name.toLowerCase()] === HEADER.value;
    if (calls.length < MAX_CALLS) calls.push({ target: request.url ?? "", hasHeader });
    response.writeHead(served.httpStatus, { Connection: "close" });
    response.end("the examiner");
  });
  const tcp = createTcpServer((socket) => void socket.on("error", () => {}).end());
  const httpPort = await listen(http, 0);
  const tcpPort = await listen(tcp, 0);
  await closed(tcp);
  const served = {
    ...{ httpPort, calls, httpStatus: 200, tcpPort },
    openTcp: async () => void (await listen(tcp, tcpPort)),
    async [Symbol.asyncDispose]() {
      http.closeAllConnections();
      await Promise.all([closed(http), closed(tcp)]);
    },
  };
  return served;
}

async function listen(server: HttpServer | Server, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(port, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

function closed(server: HttpServer | Server): Promise<void> {
  return new Promise((resolve) => void server.close(() => resolve()));
}
