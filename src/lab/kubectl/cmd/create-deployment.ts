import { isStatus, type KubeObject } from "../../../staging/apimachinery/api/meta.js";
import { randomSuffix } from "../../../util/random.js";
import { integerOf, type KubectlLine, text, texts } from "../flags.js";
import { lineError } from "../line-error.js";
import type { Session } from "../session.js";
import { createObject } from "./create.js";

/**
 * `kubectl create deployment NAME --image=IMAGE [--replicas=N] [--port=N] [-- COMMAND]`.
 * Mirrors staging/src/k8s.io/kubectl/pkg/cmd/create/create_deployment.go (createDeployment, buildPodSpec).
 */
export async function createDeployment(session: Session, line: KubectlLine): Promise<void> {
  const images = texts(line, "image");
  if (images.length === 0) throw lineError(line.verb, 'required flag(s) "image" not set');
  const [name] = line.words;
  if (name === undefined || line.words.length > 1) {
    throw lineError(line.verb, `exactly one NAME is required, got ${line.words.length}`);
  }
  if (images.length > 1 && line.rest.length > 0) {
    throw lineError(line.verb, "cannot specify multiple --image options and command");
  }
  const labels = { app: name };
  const deployment = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, labels },
    spec: {
      replicas: integerOf(line, "replicas", text(line, "replicas") ?? "1"),
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: containersOf(session, line, images) } },
    },
  };
  await createObject(session, deployment as KubeObject).catch((error: unknown) => {
    const { cause } = error as Error;
    if (!isStatus(cause)) throw error;
    throw lineError(line.verb, `failed to create deployment: ${cause.message}`);
  });
}

function containersOf({ context }: Session, line: KubectlLine, images: readonly string[]): readonly object[] {
  const port = text(line, "port");
  const ports = port === undefined ? {} : { ports: [{ containerPort: integerOf(line, "port", port) }] };
  const command = line.rest.length === 0 ? {} : { command: line.rest };
  return images.map((image, index) => {
    const last = image.split("/").at(-1) ?? "";
    const short = last.replace(/[:@].*/, "");
    // Images can have dots and underscores, but names of containers cannot.
    const name = /[_.]/.test(short) ? `${short.replace(/[_.]/g, "-")}-${randomSuffix(context.random)}` : short;
    return { name, image, ...command, ...(index === 0 ? ports : {}) };
  });
}
