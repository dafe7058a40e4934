import { dirname, join } from "node:path";

/**
 * Modules in place of what client-node imports: Node has URL built in, kubeconfigs are parsed before client-node gets
 * them, and the proxy is loaded when it is used.
 */
const IMPORTS = {
  "whatwg-url": "module.exports = { URL };",
  "js-yaml": "export default {};",
  "socks-proxy-agent": `export function SocksProxyAgent(...options) {
    return new (require("socks-proxy-agent").SocksProxyAgent)(...options);
  }`,
};
const PREFIX = "\0client-node:";

/**
 * For rolldown: keeps of @kubernetes/client-node what its KubeConfig needs. The generated API has no effects of its own
 * and is dropped.
 */
export const CLIENT_NODE = {
  name: "client-node",
  resolveId(path, importer = "") {
    if (/^\.\.?\//.test(path) && importer.includes("/@kubernetes/client-node/dist/")) {
      return { id: join(dirname(importer), path), moduleSideEffects: false };
    }
    if (path in IMPORTS && importer.includes("/node_modules/")) return PREFIX + path;
  },
  load(id) {
    if (id.startsWith(PREFIX)) return IMPORTS[id.slice(PREFIX.length)];
  },
};
