/**
 * The ports in a port-forward's URL. Only WebSockets name them there: over SPDY each connection names its own.
 *
 * Mirrors NewV4Options in pkg/kubelet/cri/streaming/portforward/websocket.go.
 *
 * @param query of a request to a kubelet: `port=80&port=443`, also `port=80,443`, as the API server joins them
 * @returns the ports, or the text of a 400
 */
export function portsInQuery(query: URLSearchParams): readonly number[] | string {
  const given = query.getAll("port");
  if (given.length === 0) return 'query parameter "port" is required';
  const ports: number[] = [];
  for (const list of given) {
    if (list === "") return 'query parameter "port" cannot be empty';
    for (const port of list.split(",")) {
      const problem = portProblem(port);
      if (problem !== undefined) return `unable to parse ${JSON.stringify(list)} as a port: ${problem}`;
      if (Number(port) < 1) return `port ${JSON.stringify(list)} must be > 0`;
      ports.push(Number(port));
    }
  }
  return ports;
}

/** In the words of Go's strconv. */
function portProblem(port: string): string | undefined {
  const parsing = `strconv.ParseUint: parsing ${JSON.stringify(port)}`;
  if (!/^\d+$/.test(port)) return `${parsing}: invalid syntax`;
  return Number(port) > 65_535 ? `${parsing}: value out of range` : undefined;
}
