import { counted } from "../../../util/text/counted.js";
import type { Exam } from "../exam.js";
import { createPod, isPhase, isReady, mainStatus, POD_MS, podText, readPod, startsOf, untilPod } from "../pods.js";
import { HEADER, type ProbeTarget } from "./probe-target.js";

const PATH = "/alive?from=probe";
/** Probes once a second see a change within a few seconds. */
const SEEN_MS = 20_000;
const HOST = "127.0.0.1";

/** Creates the pods whose probes go to the examiner. */
export async function createProbed(exam: Exam, { httpPort, tcpPort }: ProbeTarget): Promise<void> {
  const httpGet = { host: HOST, port: httpPort, path: PATH, httpHeaders: [HEADER] };
  await createPod(exam, "calls", {
    livenessProbe: { httpGet, periodSeconds: 1, timeoutSeconds: 10, failureThreshold: 2 },
  });
  const tcpSocket = { host: HOST, port: tcpPort };
  await createPod(exam, "dials", { readinessProbe: { tcpSocket, periodSeconds: 1, timeoutSeconds: 10 } });
}

/** The container lives while its path answers 200, and is restarted when it answers 500. */
export async function examineHttpProbe(exam: Exam, target: ProbeTarget): Promise<void> {
  const judge = (isFine: boolean, why: string) => exam.judge("http-probe", isFine, why);
  await untilPod(exam, "calls", isPhase("Running"));
  const call = await exam.until(SEEN_MS, () => target.calls[0]);
  if (call === undefined) return judge(false, "no probe of pod calls reached its port");
  if (call.target !== PATH) return judge(false, `the probe of pod calls asked for ${call.target} instead of ${PATH}`);
  if (!call.hasHeader) return judge(false, `the probe of pod calls did not send the header ${HEADER.name}`);
  await exam.pass(3_000);
  if (startsOf(exam, "calls").length > 1) return judge(false, "pod calls was restarted while its path answered 200");
  target.httpStatus = 500;
  const isRestarted = await untilPod(exam, "calls", (pod) => (mainStatus(pod)?.restartCount ?? 0) > 0, SEEN_MS);
  target.httpStatus = 200;
  const calls = counted(target.calls.length, "request");
  if (isRestarted !== undefined) return judge(true, "pod calls was restarted after its path answered 500");
  judge(false, `pod calls, whose path answers 500 (${calls}): ${podText(await readPod(exam, "calls"))}`);
}

/** The container is not ready while its port is closed, and ready when it is open. */
export async function examineTcpProbe(exam: Exam, target: ProbeTarget): Promise<void> {
  const judge = (isFine: boolean, why: string) => exam.judge("tcp-probe", isFine, why);
  const running = await untilPod(exam, "dials", isPhase("Running"), POD_MS);
  if (running === undefined) return judge(false, `pod dials: ${podText(await readPod(exam, "dials"))}`);
  if (isReady(running)) return judge(false, "pod dials was reported Ready while its port was closed");
  await target.openTcp();
  const ready = await untilPod(exam, "dials", isReady, SEEN_MS);
  judge(
    ready !== undefined,
    ready === undefined
      ? "pod dials was never reported Ready, though its port is open"
      : "pod dials became Ready when its port was open",
  );
}
