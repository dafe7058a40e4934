import { afterAll, beforeAll, describe, test } from "vitest";
import { FOR_SIGN, IMAGE, Lab, play, pod, type Scenario, SEES_SIGNS, SERVE, SIGNS, shell, sign } from "./lab.js";

const RUNS = "Running Ready c=running*/0";
const DELETE = (lab: Lab, name: string) => lab.deletePod(name);
const never = { restartPolicy: "Never" };
const onFailure = { restartPolicy: "OnFailure" };
const kill = (options: object) => (lab: Lab, name: string) => {
  return lab.runtime.killContainer(lab.running(name).containerId, options);
};
const init = (name: string, script: string, more: object = {}) => ({ name, image: IMAGE, ...shell(script), ...more });
const configMap = (name: string) => (lab: Lab) => {
  const metadata = { name };
  return lab.create("/api/v1/namespaces/default/configmaps", {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata,
    data: { a: "1" },
  });
};

const SCENARIOS: readonly Scenario[] = [
  {
    name: "runs, is deleted, ends within its grace; how it ended is seen before it is gone",
    pod: (name) => pod(name),
    steps: [
      /^Pending/,
      RUNS,
      DELETE,
      "Running ending Ready c=running*/0",
      /c=(Completed\(0\)|Error\(137\))\/0$/,
      "gone",
    ],
    never: /Failed|Succeeded/,
  },
  {
    name: "ends well and never restarts: Succeeded",
    pod: (name) => pod(name, never, shell("exit 0")),
    steps: ["Succeeded c=Completed(0)/0"],
    never: /Failed/,
  },
  {
    name: "ends badly and never restarts: Failed",
    pod: (name) => pod(name, never, shell("exit 3")),
    steps: ["Failed c=Error(3)/0"],
    never: /Succeeded/,
  },
  {
    name: "OnFailure: a failure is repeated, a success is final",
    pod: (name) => pod(name, onFailure),
    steps: [
      RUNS,
      kill({ exitCode: 3 }),
      "Running Ready c=running*/1",
      kill({ exitCode: 0 }),
      "Succeeded c=Completed(0)/1",
    ],
    never: /Failed/,
  },
  {
    name: "Always: a success is repeated too",
    pod: (name) => pod(name),
    steps: [RUNS, kill({ exitCode: 0 }), "Running Ready c=running*/1"],
    never: /Succeeded/,
  },
  {
    // The first waits, of 10 s and 20 s, may be over on a fast clock before a busy machine's watcher has seen them.
    name: "a crash loop waits longer each time: 40 s, 80 s",
    pod: (name) => pod(name, {}, shell("exit 1")),
    steps: ["Running c=CrashLoopBackOff:40s/3", "Running c=CrashLoopBackOff:1m20s/4", DELETE, "gone"],
  },
  {
    name: "out of memory: OOMKilled, then another one",
    pod: (name) => pod(name, never),
    steps: [RUNS, kill({ oom: true }), "Failed c=OOMKilled(137)/0"],
  },
  {
    name: "of two containers one ends: the pod runs, and is not Ready",
    pod: (name) =>
      pod(name, {
        ...never,
        containers: [
          { name: "a", image: IMAGE, ...shell("exit 0") },
          { name: "c", image: IMAGE, command: SERVE },
        ],
      }),
    steps: [
      "Running a=Completed(0)/0 c=running*/0",
      kill({ exitCode: 0 }),
      "Succeeded a=Completed(0)/0 c=Completed(0)/0",
    ],
  },
  {
    name: "init containers come one after the other, before the others",
    pod: (name) => {
      const waits = init("j", "until [ -e /signs/up ]; do sleep 1; done", SEES_SIGNS);
      return pod(name, { ...SIGNS, initContainers: [init("i", "sleep 2"), waits] });
    },
    steps: [
      /^Pending i=Completed\(0\)\*\/0 j=(PodInitializing|running)\/0 c=PodInitializing\/0$/,
      sign("up"),
      "Running Ready i=Completed(0)*/0 j=Completed(0)*/0 c=running*/0",
    ],
    never: /i=running.* j=running|j=running.* c=running/,
  },
  {
    name: "an init container that fails fails a pod that never restarts",
    pod: (name) => pod(name, { ...never, initContainers: [init("i", "exit 4")] }),
    steps: ["Failed i=Error(4)/0 c=PodInitializing/0"],
    never: /c=running/,
  },
  {
    name: "an init container that fails is tried again, with back-off",
    pod: (name) => pod(name, { initContainers: [init("i", "exit 4")] }),
    steps: ["Pending i=CrashLoopBackOff:40s/3 c=PodInitializing/0", /i=.*\/4 /],
    never: /c=running/,
  },
  {
    name: "an image that never comes: ErrImagePull, ImagePullBackOff; then it comes",
    pod: (name) => pod(name, {}, { image: "httpd:2.4" }),
    steps: [
      (lab) => lab.runtime.setPullFault("httpd", "not-found"),
      /^Pending c=(ErrImagePull|ImagePullBackOff)\/0$/,
      "Pending c=ImagePullBackOff/0",
      (lab) => lab.runtime.setPullFault("httpd", undefined),
      RUNS,
    ],
  },
  {
    name: "an image that must not be pulled",
    pod: (name) => pod(name, {}, { image: "absent.example/app:1", imagePullPolicy: "Never" }),
    steps: ["Pending c=ErrImageNeverPull/0"],
    never: /ErrImagePull|running/,
  },
  {
    name: "an image name that is none",
    pod: (name) => pod(name, {}, { image: "NO:NO:NO" }),
    steps: ["Pending c=InvalidImageName/0"],
    never: /running/,
  },
  {
    name: "a config map that is missing, and then there",
    pod: (name) => pod(name, {}, { env: [{ name: "A", valueFrom: { configMapKeyRef: { name: "late", key: "a" } } }] }),
    steps: ["Pending c=CreateContainerConfigError/0", configMap("late"), RUNS],
  },
  {
    name: "a volume of a config map that is missing, and then there",
    pod: (name) =>
      pod(
        name,
        { volumes: [{ name: "v", configMap: { name: "late-volume" } }] },
        { volumeMounts: [{ name: "v", mountPath: "/v" }] },
      ),
    steps: ["Pending c=ContainerCreating/0", configMap("late-volume"), RUNS],
  },
  {
    name: "a command that is not there",
    pod: (name) => pod(name, {}, { command: ["/no/such/program"] }),
    steps: [/^(Pending|Running) c=(RunContainerError|StartError\(128\)|ContainerCannotRun\(127\))\/[01]$/],
    never: /c=running/,
  },
  {
    name: "a postStart hook that fails ends the container",
    pod: (name) => pod(name, {}, { lifecycle: { postStart: { exec: { command: ["false"] } } } }),
    steps: [/c=(PostStartHookError|CrashLoopBackOff:\w+|Completed\(0\)|Error\(\d+\))\/[1-9]$/],
    never: /Ready/,
  },
  {
    name: "a preStop hook runs before the end",
    pod: (name) =>
      pod(
        name,
        { terminationGracePeriodSeconds: 30 },
        { lifecycle: { preStop: { exec: { command: ["sleep", "3"] } } } },
      ),
    steps: [RUNS, DELETE, /ending/, "gone"],
    never: /Error/,
  },
  {
    name: "a container that ignores SIGTERM is killed when its grace is over",
    pod: (name) => pod(name, never, shell("trap '' TERM; while true; do sleep 1; done")),
    steps: [RUNS, DELETE, "Running ending Ready c=running*/0", "gone"],
  },
  {
    name: "grace 0: gone at once",
    pod: (name) => pod(name),
    steps: [RUNS, (lab, name) => lab.deletePod(name, 0), "gone", (lab, name) => lab.untilNothingRuns(name)],
    never: /Failed|Succeeded/,
  },
  {
    name: "a shorter grace hurries a deletion that is under way",
    pod: (name) =>
      pod(name, { terminationGracePeriodSeconds: 600 }, shell("trap '' TERM; while true; do sleep 1; done")),
    steps: [
      RUNS,
      DELETE,
      // A worker that has not begun to end the pod would go on with what it was told first, as upstream's does.
      (lab, name) => lab.untilEvent(name, "Killing"),
      (lab, name) => lab.deletePod(name, 1),
      "gone",
    ],
  },
  {
    name: "a liveness probe that fails restarts the container",
    pod: (name) =>
      pod(name, SIGNS, {
        ...shell("touch /signs/up; trap 'exit 0' TERM; while true; do sleep 1; done"),
        ...SEES_SIGNS,
        livenessProbe: { ...FOR_SIGN, failureThreshold: 1, initialDelaySeconds: 2 },
      }),
    steps: [RUNS, sign("down"), /c=running.*\/1$/],
  },
  {
    name: "a readiness probe makes the pod Ready, and not Ready, and Ready",
    pod: (name) => pod(name, SIGNS, { ...SEES_SIGNS, readinessProbe: { ...FOR_SIGN, failureThreshold: 1 } }),
    steps: ["Running c=running/0", sign("up"), RUNS, sign("down"), "Running c=running/0", sign("up"), RUNS],
    never: /\/1$/,
  },
  {
    name: "a startup probe holds the others back until it has succeeded",
    pod: (name) =>
      pod(name, SIGNS, {
        ...SEES_SIGNS,
        startupProbe: { ...FOR_SIGN, failureThreshold: 1_000 },
        livenessProbe: { ...FOR_SIGN, failureThreshold: 1 },
      }),
    steps: ["Running c=running/0", sign("up"), RUNS],
    never: /\/1$/,
  },
  {
    name: "a startup probe that never succeeds restarts the container",
    pod: (name) =>
      pod(name, {}, { startupProbe: { exec: { command: ["false"] }, periodSeconds: 1, failureThreshold: 2 } }),
    steps: [/\/[1-9]$/],
    never: /Ready/,
  },
  {
    name: "a pod that may only be active so long fails with DeadlineExceeded",
    pod: (name) => pod(name, { activeDeadlineSeconds: 30 }),
    steps: [/^Failed\(DeadlineExceeded\)/],
    never: /Succeeded/,
  },
  {
    name: "more CPU than the node has",
    pod: (name) => pod(name, {}, { resources: { requests: { cpu: "64" } } }),
    steps: [/^Failed\(OutOfcpu\)/],
    never: /Running/,
  },
  {
    name: "a node selector that the node does not match",
    pod: (name) => pod(name, { nodeSelector: { disk: "none" } }),
    steps: [/^Failed\(NodeAffinity\)/],
    never: /Running/,
  },
  {
    name: "a sandbox that dies is made again, with its containers",
    pod: (name) => pod(name),
    steps: [
      RUNS,
      (lab, name) => lab.runtime.setSandboxNotReady(lab.sandboxOf(name).sandboxId),
      /^Running Ready c=running\*\/1$/,
    ],
  },
  {
    name: "a container that somebody removes is started again",
    pod: (name) => pod(name),
    steps: [
      RUNS,
      (lab, name) => lab.runtime.removeContainer(lab.running(name).containerId),
      /^Running Ready c=running\*\/[01]$/,
    ],
  },
  {
    name: "labels of 60 characters, an annotation of 1,000",
    pod: (name) => {
      const long = pod(name) as { metadata: object };
      return {
        ...long,
        metadata: {
          ...long.metadata,
          labels: { [`l${"a".repeat(60)}`]: "b".repeat(63) },
          annotations: { a: "x".repeat(1_000) },
        },
      };
    },
    steps: [RUNS],
  },
  {
    name: "a pod in the host's network has the node's address",
    pod: (name) => pod(name, { hostNetwork: true }),
    steps: [RUNS],
  },
  {
    name: "a termination message becomes the container's",
    pod: (name) => pod(name, never, shell("echo bye > /dev/termination-log; exit 1")),
    steps: ["Failed c=Error(1)/0"],
  },
];

describe("what a watcher sees of pods", () => {
  let lab: Lab;
  beforeAll(async () => {
    lab = await Lab.start();
  });
  afterAll(() => lab.close());

  for (const scenario of SCENARIOS) {
    test.concurrent(scenario.name, () => play(lab, scenario));
  }
});
