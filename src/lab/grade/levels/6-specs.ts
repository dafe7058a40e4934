import { collectionPath, objectPath } from "../../../staging/client-go/rest/paths.js";
import type { Exam, Examine } from "../exam.js";
import type { TimedChange } from "../place.js";
import { createPod, isPhase, podText, readPod, untilNodeReady, untilPod } from "../pods.js";

const CONFIG_MAPS = { apiVersion: "v1", resource: "configmaps", namespace: "default" };
const SECRETS = { ...CONFIG_MAPS, resource: "secrets" };
const END_MS = 40_000;
/** The kubelet reads a ConfigMap again with each sync of the pod: every minute, and a little more. */
const FOLLOW_MS = 120_000;
/** Exit codes from here on name the first thing that a container did not find. */
const FIRST_CODE = 10;
const EXIT_0 = ["sh", "-c", "exit 0"];

/** Something that a container must find, and a shell's test for it. */
type Look = readonly [what: string, test: string];

const is = (path: string, text: string) => `[ "$(cat ${path})" = '${text}' ]`;

const ENV: readonly Look[] = [
  ["a plain value", '[ "$GREETING" = hello ]'],
  ["$(GREETING) in a later value", '[ "$LATER" = "hello again" ]'],
  ["spec.nodeName by fieldRef", '[ "$NODE" = graded ]'],
  ["a key of a ConfigMap", '[ "$COLOR" = blue ]'],
];
const CONFIG: readonly Look[] = [
  ["/config/color with its text", is("/config/color", "blue")],
  ["only the keys of the ConfigMap", '[ "$(ls /config | wc -l)" = 2 ]'],
];
const SECRET: readonly Look[] = [["/secret/word with the decoded value", is("/secret/word", "swordfish")]];
const ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";
const TOKEN: readonly Look[] = [
  ["a token of three parts", `grep -q '^[^.]*[.][^.]*[.][^.]*$' ${ACCOUNT}/token`],
  ["the cluster's certificate", `grep -q 'BEGIN CERTIFICATE' ${ACCOUNT}/ca.crt`],
  ["its namespace", is(`${ACCOUNT}/namespace`, "default")],
];
/** Looks for what its init container wrote, fails once, and looks for what it wrote itself. */
const SHARES = "[ -f /data/from-init ] || exit 10; [ -f /data/mark ] && exit 0; touch /data/mark; exit 5";

/** Level 6: init containers, variables and volumes. */
export const examineSpecs: Examine = async (exam) => {
  await untilNodeReady(exam);
  await exam.create(collectionPath(CONFIG_MAPS), { metadata: { name: "paint" }, data: { color: "blue", size: "big" } });
  const word = Buffer.from("swordfish").toString("base64");
  await exam.create(collectionPath(SECRETS), { metadata: { name: "hidden" }, data: { word } });
  await createPods(exam);
  await examineOrder(exam);
  await examineInitFailure(exam);
  await examineLooks(exam, "env", "speaks", ENV);
  await examineEmptyDir(exam);
  await examineLooks(exam, "config-map", "reads", CONFIG);
  await examineLooks(exam, "secret", "knows", SECRET);
  await examineLooks(exam, "service-account", "belongs", TOKEN);
  await examineFollows(exam);
};

async function createPods(exam: Exam): Promise<void> {
  const image = "busybox:1.36";
  const never = { restartPolicy: "Never" };
  const initOf = (name: string, command: readonly string[], more: object = {}) => ({ name, image, command, ...more });
  const config = { volumes: [{ name: "config", configMap: { name: "paint" } }] };
  const atConfig = { volumeMounts: [{ name: "config", mountPath: "/config" }] };
  const follow = `until ${is("/config/color", "green")}; do sleep 1; done`;
  await createPod(exam, "follows", { command: ["sh", "-c", follow], ...atConfig }, { ...never, ...config });
  const inits = [initOf("first", ["sh", "-c", "sleep 2"]), initOf("second", EXIT_0)];
  await createPod(exam, "ordered", { command: EXIT_0 }, { ...never, initContainers: inits });
  const fails = [initOf("first", ["sh", "-c", "exit 4"])];
  await createPod(exam, "stuck", { command: EXIT_0 }, { ...never, initContainers: fails });
  const env = [
    { name: "GREETING", value: "hello" },
    { name: "LATER", value: "$(GREETING) again" },
    { name: "NODE", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } },
    { name: "COLOR", valueFrom: { configMapKeyRef: { name: "paint", key: "color" } } },
  ];
  await createPod(exam, "speaks", { command: looking(ENV), env }, never);
  const atData = { volumeMounts: [{ name: "data", mountPath: "/data" }] };
  const data = {
    volumes: [{ name: "data", emptyDir: {} }],
    initContainers: [initOf("first", ["sh", "-c", "touch /data/from-init"], atData)],
  };
  await createPod(
    exam,
    "shares",
    { command: ["sh", "-c", SHARES], ...atData },
    { restartPolicy: "OnFailure", ...data },
  );
  await createPod(exam, "reads", { command: looking(CONFIG), ...atConfig }, { ...never, ...config });
  const atSecret = { volumeMounts: [{ name: "hidden", mountPath: "/secret" }] };
  const secret = { volumes: [{ name: "hidden", secret: { secretName: "hidden" } }] };
  await createPod(exam, "knows", { command: looking(SECRET), ...atSecret }, { ...never, ...secret });
  await createPod(exam, "belongs", { command: looking(TOKEN) }, { ...never, automountServiceAccountToken: true });
}

function looking(looks: readonly Look[]): readonly string[] {
  return ["sh", "-c", looks.map(([, test], i) => `${test} || exit ${FIRST_CODE + i}`).join("\n")];
}

/** The exit codes of a container in the runtime, the oldest first. */
function codesOf(exam: Exam, pod: string, container = "main"): readonly number[] {
  return endsOf(exam, pod, container).map(({ to }) => Number(/\d+/.exec(to)?.[0]));
}

function endsOf(exam: Exam, pod: string, container: string): readonly TimedChange[] {
  return exam.changesOf(`default/${pod}`, container).filter(({ to }) => to.startsWith("exited"));
}

function startOf(exam: Exam, pod: string, container: string): TimedChange | undefined {
  return exam.changesOf(`default/${pod}`, container).find(({ to }) => to === "running");
}

/** A container ends with 0 if it finds all that it looks for. */
async function examineLooks(exam: Exam, id: string, pod: string, looks: readonly Look[]): Promise<void> {
  const code = await exam.until(END_MS, () => codesOf(exam, pod)[0]);
  if (code === undefined) return exam.judge(id, false, `pod ${pod}: ${podText(await readPod(exam, pod))}`);
  const [what] = looks[code - FIRST_CODE] ?? [`exit code ${code}`];
  exam.judge(
    id,
    code === 0,
    code === 0 ? `pod ${pod} found all that it looked for` : `pod ${pod} did not find ${what}`,
  );
}

async function examineOrder(exam: Exam): Promise<void> {
  const main = await exam.until(END_MS, () => startOf(exam, "ordered", "main"));
  const [first] = endsOf(exam, "ordered", "first");
  const second = startOf(exam, "ordered", "second");
  const [secondEnd] = endsOf(exam, "ordered", "second");
  const changes = ["first", "second", "main"].flatMap((name) => exam.changesOf("default/ordered", name));
  if (main === undefined) {
    const why = `pod ordered: ${podText(await readPod(exam, "ordered"))}`;
    return exam.judge("init-order", false, why, exam.changeLines(changes));
  }
  const isFine = first && second && secondEnd && first.atMs <= second.atMs && secondEnd.atMs <= main.atMs;
  const why = isFine
    ? "each container of pod ordered began after the end of the one before"
    : "a container of pod ordered began before the end of its init containers";
  exam.judge("init-order", isFine === true, why, isFine ? [] : exam.changeLines(changes));
}

async function examineInitFailure(exam: Exam): Promise<void> {
  const pod = (await untilPod(exam, "stuck", isPhase("Failed"), END_MS)) ?? (await readPod(exam, "stuck"));
  const began = startOf(exam, "stuck", "main") !== undefined;
  const seen = `pod stuck, whose init container fails: phase ${pod?.status?.phase ?? "unknown"}`;
  const why = began ? `${seen}, and its container was started` : seen;
  exam.judge("init-failure", pod?.status?.phase === "Failed" && !began, why);
}

async function examineEmptyDir(exam: Exam): Promise<void> {
  const codes = await exam.until(END_MS, () => {
    const all = codesOf(exam, "shares");
    return all.length > 1 || (all[0] !== undefined && all[0] !== 5) ? all : undefined;
  });
  const [first, second] = codes ?? codesOf(exam, "shares");
  const judge = (isFine: boolean, why: string) => exam.judge("empty-dir", isFine, why);
  if (first === FIRST_CODE) judge(false, "pod shares did not find the file that its init container wrote");
  else if (second === 5) judge(false, "pod shares lost its files when its container was restarted");
  else if (second === 0) judge(true, "pod shares found the file of its init container, and its own after a restart");
  else judge(false, `pod shares: ${podText(await readPod(exam, "shares"))}`);
}

/** The first thing that is read is the text before the change, in each agent that mounts ConfigMaps at all. */
async function examineFollows(exam: Exam): Promise<void> {
  const id = "config-map-follows";
  if (exam.hasFailed("config-map")) return exam.judge(id, false, "no pod saw the ConfigMap in its volume");
  const fromMs = exam.now;
  const body = { data: { color: "green" } };
  const path = objectPath(CONFIG_MAPS, "paint");
  await exam.request({ method: "PATCH", path, body, contentType: "application/merge-patch+json" });
  const [end] =
    (await exam.until(FOLLOW_MS, () =>
      codesOf(exam, "follows")[0] === 0 ? endsOf(exam, "follows", "main") : undefined,
    )) ?? [];
  const seconds = end === undefined ? "" : ((end.atMs - fromMs) / 1000).toFixed(1);
  const why =
    end === undefined
      ? `pod follows did not see the new text of the ConfigMap within ${FOLLOW_MS / 1000} s`
      : `pod follows saw the new text of the ConfigMap after ${seconds} s`;
  exam.judge(id, end !== undefined, why);
}
