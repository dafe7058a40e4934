import { isIP } from "node:net";
import { messageOf } from "../../../../util/errors.js";
import type { Self } from "../../process/process.js";
import { warn } from "../console.js";
import { getHttp, sendRequest } from "./dial.js";
import type { Flags } from "./flags.js";
import { listenAndServe } from "./web.js";

/**
 * `no-snat-test`: /whoami answers the client's address; /checknosnat asks other pods' /whoami, and is 200 if all of them see
 * the address of this pod. Mirrors test/images/agnhost/no-snat-test.
 */
export async function noSnatTest(self: Self, flags: Flags): Promise<number> {
  for (const name of ["POD_IP", "NODE_IP"]) {
    const value = self.env[name];
    if (value !== undefined && isIP(value) !== 0) continue;
    const why =
      value === undefined
        ? "was not present in the environment"
        : `contained ${JSON.stringify(value)}, which is not an IP address`;
    await warn(self, `${name} env var ${why}\n`);
    return 1;
  }
  return listenAndServe(self, flags.number("port", 8080), async ({ path, query, peer, answer }) => {
    if (path === "/whoami") return answer(200, peer);
    if (path !== "/checknosnat") return answer(404, "404 page not found\n");
    const problems: string[] = [];
    for (const target of (query.get("ips") ?? "").split(",")) {
      const problem = await check(self, target);
      if (problem !== undefined) problems.push(problem);
    }
    answer(problems.length === 0 ? 200 : 500, problems.join(", "));
  });
}

/** @returns how the target's view of this pod's address differs from it; undefined: it does not */
async function check(self: Self, target: string): Promise<string | undefined> {
  const { POD_IP: podIp = "", NODE_IP: nodeIp = "" } = self.env;
  try {
    const [seen = ""] = (await getHttp(self, ...addressOf(target), "whoami")).split(":");
    if (seen === podIp) return undefined;
    const [one, pod, node] = [seen, podIp, nodeIp].map((ip) => JSON.stringify(ip));
    return seen === nodeIp
      ? `Returned ip ${one} != my Pod ip ${pod}, == my Node ip ${node} - SNAT`
      : `Returned ip ${one} != my Pod ip ${pod} or my Node ip ${node} - SNAT to unexpected ip (possible SNAT through unexpected interface on the way into another node)`;
  } catch (error) {
    self.signal.throwIfAborted();
    return messageOf(error);
  }
}

/** `no-snat-test-proxy`: passes /checknosnat?target=…&ips=… on to the target. Mirrors test/images/agnhost/no-snat-test-proxy. */
export async function noSnatTestProxy(self: Self, flags: Flags): Promise<number> {
  return listenAndServe(self, flags.number("port", 31_235), async ({ path, query, answer }) => {
    if (path !== "/checknosnat") return answer(404, "404 page not found\n");
    const [target, asked] = [query.get("target") ?? "", `checknosnat?ips=${query.get("ips") ?? ""}`];
    try {
      const { status, body } = await sendRequest(self, ...addressOf(target), asked);
      answer(status, body);
    } catch (error) {
      self.signal.throwIfAborted();
      answer(500, `error querying ${JSON.stringify(`http://${target}/${asked}`)}, err: ${messageOf(error)}`);
    }
  });
}

/** Splits `host:port`; the port of a URL without one is 80. */
function addressOf(target: string): [host: string, port: number] {
  const [, host = target, port = "80"] = /^(.*?)(?::(\d+))?$/.exec(target) ?? [];
  return [host, Number(port)];
}
