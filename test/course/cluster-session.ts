import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../support/free-port.js";
import { runInProcess } from "../support/run-cli.js";
import { type Output, singleSpaced, wordsOf } from "./outputs.js";

/** What is typed on the course's cluster, in this order; `kubectl` is the built-in one. `GET /pods` asks the pod manager. */
const LINES = [
  "kubectl get nodes",
  "kubectl describe node fake",
  "kubectl get node fake -o yaml",
  "kubectl get lease fake -n kube-node-lease -o yaml",
  "kubectl get clusterrolebinding kubeadm:kubelet-bootstrap -o yaml",
  "kubectl get clusterrole system:node-bootstrapper -o yaml",
  "kubelab token create",
  "kubectl get secrets -n kube-system",
  "kubelab csr create --node by-hand --name testcsr --signer kube-apiserver-client --prefix by-hand",
  "kubectl certificate approve testcsr",
  "kubelab csr fetch testcsr --prefix by-hand",
  "kubectl get csr testcsr -o yaml",
  "kubelab csr inspect by-hand.csr",
  "kubelab csr inspect by-hand.pem",
  "kubectl --kubeconfig by-hand.config get nodes",
] as const;

/** Runs the course's lines on one cluster of v1.26 with a kubelet of v1.24. @returns the output of each line */
export async function clusterSession(): Promise<ReadonlyMap<string, Output>> {
  const home = mkdtempSync(join(tmpdir(), "kubelab-course-"));
  const state = join(home, "state");
  const env = {
    HOME: home,
    XDG_STATE_HOME: state,
    KUBECONFIG: join(state, "kubelab", "clusters", "kubelab.kubeconfig"),
  };
  const stop = new AbortController();
  const { signal } = stop;
  const options = { env, cwd: home };
  const outputs = new Map<string, Output>();
  const type = async (line: string): Promise<string> => {
    const [program, ...words] = wordsOf(line);
    const argv = program === "kubectl" ? ["learn", "kubectl", "--", ...words] : words;
    const { code, stdout, stderr } = await runInProcess(argv, options);
    if (code !== 0) throw new Error(`${line}: ${stderr}`);
    const text = singleSpaced(`${stdout} ${stderr}`);
    outputs.set(line, { text, facts: [] });
    return text;
  };
  /** A command that goes on; resolves when it has printed `until`. */
  const running: Promise<unknown>[] = [];
  const keep = (argv: readonly string[], until: RegExp) =>
    new Promise<void>((started, failed) => {
      const look = (text: string) => until.test(singleSpaced(text)) && started();
      const run = runInProcess(argv, { ...options, signal, onStdout: look, onStderr: look });
      running.push(run.then(({ stderr }) => failed(new Error(stderr))));
    });
  try {
    await keep(["cluster", "up", "--kube-version", "1.26", "--nodes", "1"], /is ready/);
    const http = `127.0.0.1:${await freePort()}`;
    await Promise.all([
      keep(["node", "--node", "fake", "--kube-version", "1.24", "--cpu", "100", "--memory", "32Gi"], /fake is Ready/),
      keep(["pod-manager", "--http", http], /Page:/),
    ]);
    for (const line of LINES) await type(line);
    await pods(http, type, outputs);
    return outputs;
  } finally {
    stop.abort();
    await Promise.allSettled(running);
  }
}

/** The pod manager's `/pods` before, with and after a pod, and a pod with the image of the course. */
async function pods(
  http: string,
  type: (line: string) => Promise<string>,
  outputs: Map<string, Output>,
): Promise<void> {
  const ask = async (label: string, isThere: boolean) => {
    let text: string;
    do text = singleSpaced(await (await fetch(`http://${http}/pods`)).text());
    while (text.includes("nginx-kubelet") !== isThere);
    outputs.set(label, { text, facts: [] });
  };
  await ask("GET /pods", false);
  await type(`kubectl run nginx-kubelet --image=nginx:1.25 --overrides='{"spec":{"nodeName":"manager-node"}}'`);
  await ask("GET /pods after kubectl run", true);
  await type("kubectl delete pod nginx-kubelet --wait=false");
  await ask("GET /pods after kubectl delete", false);
  await type("kubectl run nettool --image=cr7258/nettool:v1");
  while (!(await type("kubectl get pod nettool -o yaml")).includes("running:"));
}
