// Virtual pods: kubelab node --handler ./examples/handler.mjs
//
// Each pod of the node becomes one call of this function, in a thread of its own. It gets
//   pod         the pod as the API server has it
//   containers  name, image, command, args, env (config maps, secrets and fields filled in), mounts
//   signal      aborts when the pod is deleted, when its activeDeadlineSeconds are over, or --handler-timeout is;
//               then there are the pod's terminationGracePeriodSeconds to stop in, and after them it is abandoned
//   log         writes a line of the pod's log; console.log does as well
//   progress    progress(0.4, "resizing"): shown in the pod's status
// What it returns becomes the pod's end: nothing or a text is Succeeded; { phase: "Failed", reason, message } is not; an
// error that is thrown is Failed with its message.
//
// Try:  kubectl run count --image=any --restart=Never --env=UNTIL=5
//       kubectl logs -f count
//       kubectl get pod count -o jsonpath='{.status.phase}: {.status.message}'
import { setTimeout as sleep } from "node:timers/promises";

export default async function ({ pod, containers, signal, log, progress }) {
  const until = Number(containers[0].env.UNTIL ?? 3);
  if (!Number.isInteger(until) || until < 1) {
    return { phase: "Failed", reason: "BadUntil", message: `UNTIL is ${containers[0].env.UNTIL}` };
  }
  log(`counting to ${until} for ${pod.metadata.namespace}/${pod.metadata.name}`);
  for (let count = 1; count <= until; count++) {
    await sleep(1000, undefined, { signal });
    log(count);
    progress(count / until, `${count} of ${until}`);
  }
  return `counted to ${until}`;
}
