import { parseYaml } from "../apimachinery/yaml.js";
import { MessageError } from "../i18n/message-error.js";
import { defined } from "../util/defined.js";
import { LabError } from "../util/errors.js";
import { readFileAtMost } from "../util/read-at-most.js";
import { type KubectlLine, text, unknown } from "./arguments.js";
import { objectText } from "./output.js";
import { findResource } from "./resources.js";
import type { Session } from "./session.js";

/** `auth can-i VERB RESOURCE [NAME]`. @throws LabError FAILED for "no", because kubectl exits with 1 */
export async function auth(session: Session, line: KubectlLine): Promise<string> {
  const [what, verb = "", resource = "", name] = line.words;
  if (what === "whoami") return whoAmI(session, line);
  if (what !== "can-i") throw unknown(`auth ${what ?? ""}`);
  const [word = "", subresource] = resource.split("/");
  const known = await findResource(session.client, word, session.signal).catch((error: unknown) => {
    // Without any rights, discovery may be forbidden too.
    if (!(error instanceof LabError)) throw error;
    const [plural = "", ...group] = word.split(".");
    return {
      apiVersion: group.length === 0 ? "v1" : `${group.join(".")}/v1`,
      resource: plural,
      kind: "",
      isNamespaced: true,
    };
  });
  const body = {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SelfSubjectAccessReview",
    spec: {
      resourceAttributes: {
        verb,
        resource: known.resource,
        group: known.apiVersion.includes("/") ? known.apiVersion.split("/")[0] : "",
        ...(known.isNamespaced ? { namespace: session.namespace } : {}),
        ...defined({ name, subresource }),
      },
    },
  };
  const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
  const { status } = await session.client.expect<{ status?: { allowed?: boolean } }>({
    method: "POST",
    path,
    body,
    signal: session.signal,
  });
  if (status?.allowed === true) return "yes\n";
  session.context.streams.stdout.write("no\n");
  throw new MessageError("FAILED", { verbatim: "no" }, ["rightsHint"]);
}

async function whoAmI({ client, signal }: Session, line: KubectlLine): Promise<string> {
  const { apiVersion, kind } = await findResource(client, "selfsubjectreviews", signal);
  const path = `/apis/${apiVersion}/selfsubjectreviews`;
  const review = await client.expect({ method: "POST", path, body: { apiVersion, kind }, signal });
  return objectText(review, text(line, "output") ?? "yaml", []);
}

/** `config view [--raw] [--minify] [-o F]`: prints the file. */
export async function config(session: Session, line: KubectlLine): Promise<string> {
  if (line.words[0] !== "view") throw unknown(`config ${line.words[0] ?? ""}`);
  const document = parseYaml((await readFileAtMost(session.kubeconfig, session.signal)).toString()) as Record<
    string,
    unknown
  >;
  return objectText(line.flags["raw"] === undefined ? masked(document) : document, text(line, "output") ?? "yaml", []);
}

const SECRETS: ReadonlySet<string> = new Set(["client-key-data", "client-certificate-data", "token", "password"]);

function masked(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(masked);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [
      key,
      SECRETS.has(key) ? "REDACTED" : key === "certificate-authority-data" ? "DATA+OMITTED" : masked(one),
    ]),
  );
}
