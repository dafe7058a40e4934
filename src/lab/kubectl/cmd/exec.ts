import { podFor } from "../attachable-pod.js";
import { containerOf } from "../default-container.js";
import { isOn, type KubectlLine, text } from "../flags.js";
import { lineError } from "../line-error.js";
import type { Session } from "../session.js";

/**
 * `exec POD -- COMMAND`, `exec deployment/NAME -- COMMAND`: runs `kubelab exec` without its trace, and exits with its exit code.
 * Mirrors staging/src/k8s.io/kubectl/pkg/cmd/exec/exec.go (Run).
 */
export async function exec(session: Session, line: KubectlLine): Promise<void> {
  const { env, cwd, streams, random, self, signal, program } = session.context;
  const [word] = line.words;
  if (word === undefined) throw lineError(line.verb, "pod, type/name or --filename must be specified");
  const command = line.rest.length > 0 ? line.rest : line.words.slice(1);
  if (command.length === 0) throw lineError(line.verb, "you must specify at least one command for the container");
  const pod = await podFor(session, word);
  const container = containerOf(session, pod, text(line, "container"));
  const flags = ["-c", container, ...(isOn(line, "stdin") ? ["-i"] : []), ...(isOn(line, "tty") ? ["-t"] : [])];
  const argv = ["exec", "-v", "0", "-n", session.namespace, ...flags, pod.metadata.name ?? "", "--", ...command];
  const code = await program.run(argv, "kubectl", { env, cwd, streams, random, self, signal });
  if (code === 0) return;
  session.warn(`command terminated with exit code ${code}`);
  session.context.exitWith(code);
}
