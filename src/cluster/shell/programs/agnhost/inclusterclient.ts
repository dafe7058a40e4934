import { createHash } from "node:crypto";
import { messageOf } from "../../../../util/errors.js";
import type { Self } from "../../process/process.js";
import { getHttp } from "./dial.js";
import type { Flags } from "./flags.js";
import { goLog, klog } from "./go-log.js";

const ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

/**
 * `agnhost inclusterclient`: asks the API server for /healthz again and again with the pod's token, and prints a hash of
 * the token, which changes when the kubelet rotates it. Mirrors test/images/agnhost/inclusterclient.
 */
export async function inClusterClient(self: Self, flags: Flags): Promise<number> {
  const { fs, clock } = self.machine;
  await klog(self, "main.go:61", "started");
  const { KUBERNETES_SERVICE_HOST: host = "", KUBERNETES_SERVICE_PORT: port = "" } = self.env;
  if (host === "" || port === "") {
    const why =
      "unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined";
    await goLog(self, `err: ${why}`);
    return 1;
  }
  if (!fs.exists(`${ACCOUNT}/token`)) {
    await goLog(self, `err: open ${ACCOUNT}/token: no such file or directory`);
    return 1;
  }
  for (;;) {
    await clock.sleep(flags.number("poll-interval", 30) * 1000, self.signal);
    await klog(self, "main.go:79", "calling /healthz");
    try {
      const token = fs.readFile(`${ACCOUNT}/token`).toString();
      const hash = createHash("sha256").update(`salt|Bearer ${token}`).digest("base64url");
      await klog(self, "main.go:96", `authz_header=${hash}`);
      const body = await getHttp(self, host, Number(port), "healthz", { ca: fs.readFile(`${ACCOUNT}/ca.crt`), token });
      if (body !== "ok") throw new Error(body);
    } catch (error) {
      self.signal.throwIfAborted();
      await klog(self, "main.go:82", "status=failed", "E");
      await klog(self, "main.go:83", `error checking /healthz: ${messageOf(error)}`, "E");
    }
  }
}
