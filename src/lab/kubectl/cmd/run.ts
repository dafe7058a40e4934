import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import { applyStrategicMergePatch } from "../../../staging/apimachinery/patch/strategic-merge-patch.js";
import { parseYaml } from "../../../staging/apimachinery/yaml.js";
import { defined } from "../../../util/defined.js";
import { isRecord } from "../../../util/records.js";
import { type KubectlLine, text, texts } from "../flags.js";
import { lineError } from "../line-error.js";
import type { Session } from "../session.js";
import { createObject, pairsOf } from "./create.js";

/**
 * `kubectl run NAME --image I [--restart P] [--env K=V] [--overrides JSON] [-- args]`.
 * Mirrors staging/src/k8s.io/kubectl/pkg/cmd/run/run.go (Run) and pkg/generate/versioned/run.go.
 * Differs: --overrides is merged as with --override-type=strategic.
 */
export async function run(session: Session, line: KubectlLine): Promise<void> {
  const [name] = line.words;
  const image = text(line, "image");
  if (image === undefined) throw lineError(line.verb, 'required flag(s) "image" not set');
  if (name === undefined) throw lineError(line.verb, "NAME is required for run");
  const env = pairsOf(texts(line, "env"), "--env").map(([name, value]) => ({ name, value }));
  const container = {
    name,
    image,
    ...(line.rest.length === 0 ? {} : { args: line.rest }),
    ...(env.length === 0 ? {} : { env }),
    ...defined({ imagePullPolicy: text(line, "image-pull-policy") }),
  };
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: labelsOf(line) ?? { run: name } },
    spec: { containers: [container], restartPolicy: text(line, "restart") ?? "Always" },
  };
  const overrides = parseYaml(text(line, "overrides") ?? "{}");
  if (!isRecord(overrides)) throw lineError(line.verb, ["kubectlNeedsObject", { what: "--overrides" }]);
  const body = applyStrategicMergePatch(pod, overrides, "Pod") as unknown as KubeObject;
  await createObject(session, body, { fieldManager: "kubectl-run" });
}

function labelsOf(line: KubectlLine): Readonly<Record<string, string>> | undefined {
  const labels = text(line, "labels");
  return labels === undefined ? undefined : Object.fromEntries(pairsOf(labels.split(","), "--labels"));
}
