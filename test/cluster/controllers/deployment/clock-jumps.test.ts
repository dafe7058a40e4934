import { expect, test } from "vitest";
import type { Deployment } from "../../../../src/cluster/controllers/deployment/util/deployment-util.js";
import type { KubeObject } from "../../../../src/staging/apimachinery/api/meta.js";
import { podTemplate, WorkloadStage } from "../support/workload-stage.js";

const DEPLOYMENTS = "deployments.apps";
const HOUR = 3600;
const TEN_MINUTES = 600;

function withImage(object: KubeObject, image: string): KubeObject {
  const spec = structuredClone(object["spec"]) as { template: { spec: { containers: { image?: string }[] } } };
  for (const container of spec.template.spec.containers) container.image = image;
  return { ...object, spec };
}

/** The machine's time changes during a rollout of four pods, one after the other. */
class Rollout implements AsyncDisposable {
  #requests = 0;

  private constructor(readonly stage: WorkloadStage) {}

  static async begin(spec: object = {}): Promise<Rollout> {
    const stage = await WorkloadStage.open();
    const strategy = { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } };
    await stage.create(DEPLOYMENTS, {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "web" },
      spec: { replicas: 4, selector: { matchLabels: { app: "web" } }, strategy, template: podTemplate(), ...spec },
    });
    await stage.start();
    await stage.pass(60);
    await stage.change(DEPLOYMENTS, "web", (object) => withImage(object, "nginx:2"));
    return new Rollout(stage);
  }

  /** All processes of the control plane stand still. */
  async stop(seconds: number): Promise<void> {
    this.stage.on.clock.jump(seconds * 1000);
    await this.stage.settle();
    this.#requests = this.stage.on.requests();
  }

  /** The control plane is started again after the machine's time was set. */
  async restart(seconds: number): Promise<void> {
    await this.stage.on.restartControllers(seconds * 1000);
    await this.stage.settle();
    this.#requests = this.stage.on.requests();
  }

  /** The kubelets start and end all pods, as often as there is something to do. */
  async goOn(rounds = 8): Promise<void> {
    for (let i = 0; i < rounds; i++) {
      await this.stage.start();
      await this.stage.endTerminating();
      await this.stage.pass(1);
    }
  }

  /** `4/4 True NewReplicaSetAvailable`: the updated and available pods, and the condition Progressing */
  async progress(): Promise<string> {
    const { status } = await this.stage.get<Deployment>(DEPLOYMENTS, "web");
    const { status: is, reason } = status?.conditions?.find(({ type }) => type === "Progressing") ?? {};
    return `${status?.updatedReplicas ?? 0}/${status?.availableReplicas ?? 0} ${is} ${reason}`;
  }

  /** number of requests of all controllers since the time changed */
  requests(): number {
    return this.stage.on.requests() - this.#requests;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stage[Symbol.asyncDispose]();
  }
}

const WAITS = "1/4 True ReplicaSetUpdated";
const TIMED_OUT = "1/4 False ProgressDeadlineExceeded";
const DONE = "4/4 True NewReplicaSetAvailable";

const table: readonly (readonly [
  title: string,
  spec: object,
  story: (on: Rollout) => Promise<unknown>,
  want: unknown,
])[] = [
  [
    "an hour of standing still exceeds the progress deadline, as upstream; the rollout ends well all the same",
    {},
    async (on) => {
      await on.stop(HOUR);
      await on.stage.pass(1);
      const stuck = await on.progress();
      await on.goOn();
      return [stuck, await on.progress()];
    },
    [TIMED_OUT, DONE],
  ],
  [
    "an hour forwards between two control planes exceeds it too",
    {},
    async (on) => {
      await on.restart(HOUR);
      await on.stage.pass(2);
      const stuck = await on.progress();
      await on.goOn();
      return [stuck, await on.progress()];
    },
    [TIMED_OUT, DONE],
  ],
  [
    "a rollout that goes on before an hour passes does not care",
    {},
    async (on) => {
      await on.goOn();
      await on.restart(HOUR);
      await on.stage.pass(2 * TEN_MINUTES);
      return on.progress();
    },
    DONE,
  ],
  [
    "ten minutes backwards: the deadline counts from the condition's time, so it comes ten minutes late; nothing is asked meanwhile",
    {},
    async (on) => {
      await on.restart(-TEN_MINUTES);
      const started = on.requests();
      await on.stage.pass(2 * TEN_MINUTES - 10);
      const [before, asked] = [await on.progress(), on.requests() - started];
      await on.stage.pass(20);
      return [before, asked, await on.progress()];
    },
    [WAITS, 0, TIMED_OUT],
  ],
  [
    "ten minutes backwards: a rollout goes on",
    {},
    async (on) => {
      await on.restart(-TEN_MINUTES);
      await on.goOn();
      return on.progress();
    },
    DONE,
  ],
  [
    "minReadySeconds: pods that are ready since a time in the future are available then",
    { minReadySeconds: 30 },
    async (on) => {
      await on.stage.start();
      await on.restart(-TEN_MINUTES);
      await on.stage.pass(TEN_MINUTES);
      const waiting = [await on.progress(), on.requests() < 200];
      for (let i = 0; i < 8; i++) {
        await on.goOn(1);
        await on.stage.pass(40);
      }
      return [...waiting, await on.progress()];
    },
    ["1/4 True ReplicaSetUpdated", true, DONE],
  ],
  [
    "minReadySeconds: an hour forwards makes a ready pod available",
    { minReadySeconds: 30 },
    async (on) => {
      await on.stage.start();
      await on.restart(HOUR);
      await on.stage.settle();
      return (await on.progress()).split(" ")[0];
    },
    "2/4",
  ],
];

test.each(table)("clock jumps: %s", async (_title, spec, story, want) => {
  await using on = await Rollout.begin(spec);
  expect(await story(on)).toEqual(want);
  expect(on.stage.errors()).toEqual([]);
});
