import type { V1ContainerPort, V1LabelSelector } from "@kubernetes/client-node";
import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import type { Wire } from "../../../staging/apimachinery/wire.js";
import { defined } from "../../../util/defined.js";
import { visit } from "../builder.js";
import { integerOf, type KubectlLine, text } from "../flags.js";
import { lineError, unknown } from "../line-error.js";
import type { Session } from "../session.js";
import { createObject } from "./create.js";

/**
 * `kubectl expose deployment web --port 80`: a Service with the selector of the object; for a pod, with its labels.
 * Mirrors staging/src/k8s.io/kubectl/pkg/cmd/expose/expose.go (RunExpose).
 */
export async function expose(session: Session, line: KubectlLine): Promise<void> {
  await visit(session, line, line.words, async ({ object, name }) => {
    const { selector, containerPorts } = exposedBy(object);
    const protocol = text(line, "protocol");
    const given = text(line, "port");
    const target = text(line, "target-port");
    const numbers =
      given === undefined ? containerPorts : given.split(",").map((port) => integerOf(line, "port", port));
    if (numbers.length === 0) throw lineError(line.verb, "couldn't find port via --port flag or introspection");
    const ports = numbers.map((port) => ({
      port,
      targetPort: target === undefined ? port : /^\d+$/.test(target) ? Number(target) : target,
      ...(numbers.length === 1 ? {} : { name: `port-${numbers.indexOf(port) + 1}` }),
      ...defined({ protocol }),
    }));
    const service = {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: text(line, "name") ?? name, ...defined({ labels: object.metadata.labels }) },
      spec: { selector, ports, ...defined({ type: text(line, "type"), clusterIP: text(line, "cluster-ip") }) },
    };
    await createObject(session, service, { done: "exposed", fieldManager: "kubectl-expose" });
  });
}

/** Mirrors MapBasedSelectorForObject and PortsForObject in k8s.io/kubectl/pkg/polymorphichelpers. */
function exposedBy({ kind, metadata, spec }: KubeObject) {
  const { selector, template } = (spec ?? {}) as {
    selector?: Wire<V1LabelSelector> & Readonly<Record<string, string>>;
    template?: { spec?: unknown };
  };
  const labels =
    kind === "Pod" ? metadata.labels : (selector?.matchLabels ?? (selector as Record<string, string> | undefined));
  if (labels === undefined) throw unknown(`expose ${kind}`);
  const { containers = [] } = (kind === "Pod" ? spec : (template?.spec ?? {})) as {
    containers?: readonly { ports?: readonly Wire<V1ContainerPort>[] }[];
  };
  const containerPorts = containers.flatMap(({ ports = [] }) => ports.map(({ containerPort }) => containerPort));
  return { selector: labels, containerPorts };
}
