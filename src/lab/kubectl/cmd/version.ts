import { isOn, type KubectlLine, text } from "../flags.js";
import { lineError } from "../line-error.js";
import { objectText } from "../output.js";
import type { Session } from "../session.js";

/**
 * `kubectl version [--client] [-o json|yaml]`.
 * Mirrors staging/src/k8s.io/kubectl/pkg/cmd/version/version.go (Run).
 * Differs: no Kustomize, and no warning about the skew of both versions: the built-in kubectl serves each release.
 */
export async function version(session: Session, line: KubectlLine): Promise<void> {
  const { client, signal, userAgent } = session;
  if (line.words.length > 0) throw lineError(line.verb, `extra arguments: [${line.words.join(" ")}]`);
  const output = text(line, "output");
  if (output !== undefined && !["json", "yaml"].includes(output)) {
    throw lineError(line.verb, "--output must be 'yaml' or 'json'");
  }
  const gitVersion = userAgent.replace("kubectl/", "");
  const [, major = "", minor = ""] = /^v(\d+)\.(\d+)/.exec(gitVersion) ?? [];
  const clientVersion = { major, minor, gitVersion };
  const serverVersion = isOn(line, "client")
    ? undefined
    : await client.expect<{ readonly gitVersion: string }>({ method: "GET", path: "/version", signal });
  if (output !== undefined) {
    const both = serverVersion === undefined ? { clientVersion } : { clientVersion, serverVersion };
    return session.print(objectText(both, output, []));
  }
  session.print(`Client Version: ${gitVersion}\n`);
  if (serverVersion !== undefined) session.print(`Server Version: ${serverVersion.gitVersion}\n`);
}
