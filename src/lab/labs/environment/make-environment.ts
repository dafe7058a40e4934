import { join } from "node:path";
import type { ServerFaults } from "../../../cluster/apiserver/endpoints/faults/server-faults.js";
import type { DnsFaults } from "../../../cluster/dns/dns-faults.js";
import type { KubeClient } from "../../../staging/client-go/rest/client.js";
import { SystemClock } from "../../../util/clock.js";
import type { Language } from "../../../util/i18n/language.js";
import { LANGUAGE_VARIABLE } from "../../../util/i18n/language.js";
import { sentencesIn } from "../../../util/i18n/sentences.js";
import type { ApiServerPod } from "./api-server-pod.js";
import type { LabProcess } from "./context.js";
import type { LabEnvironment } from "./environment.js";
import type { LabFacts } from "./facts.js";
import { inject } from "./injections.js";
import { LabJump } from "./jump.js";
import type { LabNodes } from "./nodes.js";
import { writePrograms } from "./programs.js";
import { LabRunner } from "./shell-runner.js";

/** The reader of the output of a lab's commands. */
export interface Reader {
  readonly columns: number;
  readonly isColoured: boolean;
  readonly language: Language;
}

/** The parts of an environment on an embedded or a real cluster. */
export interface EnvironmentParts {
  readonly folder: string;
  /** address of the API server */
  readonly server: string;
  /** path of the kubeconfig for commands */
  readonly kubeconfig: string;
  /** `1.25`: the release whose constants count */
  readonly kubeVersion: string;
  readonly client: KubeClient;
  readonly clock: SystemClock;
  readonly nodes: LabNodes;
  readonly facts: LabFacts;
  /** of the API server; absent on a real cluster */
  readonly faults?: ServerFaults;
  readonly dnsFaults?: DnsFaults;
  /** the API server, if it is a static pod of the lab */
  readonly apiServer?: ApiServerPod | undefined;
  /** see LabEnvironment */
  readonly seesWrites: boolean;
  /** flags of `kubectl run` that place a pod on the lab's node */
  readonly onNode: string;
  /** environment variables that select the cluster */
  readonly variables: Readonly<Record<string, string>>;
  /** use the built-in kubectl even if one is installed */
  readonly withoutKubectl: boolean;
  /** see LabEnvironment */
  readonly patienceMs: number;
  readonly canSetSpeed: boolean;
  setSpeed(factor: number): Promise<void>;
  close(): Promise<void>;
}

/** Creates an environment from its parts. The lab's commands and a second terminal get the same variables. */
export async function makeEnvironment(
  context: LabProcess,
  parts: EnvironmentParts,
  reader: Reader,
): Promise<LabEnvironment> {
  const { folder, server, kubeconfig, kubeVersion, client, clock, nodes, facts, onNode, patienceMs } = parts;
  const { canSetSpeed, setSpeed, close } = parts;
  const { env, random, self, program } = context;
  const { columns, isColoured, language } = reader;
  const programs = await writePrograms(folder, context, parts.withoutKubectl);
  const own = {
    KUBECONFIG: kubeconfig,
    KUBELAB_NODES: join(folder, "nodes"),
    ...parts.variables,
    [LANGUAGE_VARIABLE]: language,
  };
  const say = (await sentencesIn(language))?.say;
  const ofCommands = { ...env, ...own, PATH: `${programs}:${env["PATH"] ?? ""}` };
  return {
    folder,
    client,
    clock,
    facts,
    seesWrites: parts.seesWrites,
    sayFact: say,
    wall: new SystemClock(),
    patienceMs,
    runner: new LabRunner({ program, random, clock, folder, facts, self, columns, isColoured, say, env: ofCommands }),
    given: { server, kubeconfig, kubeVersion, folder, onNode, ...nodes.given },
    place: { folder, programs, variables: own },
    get speed() {
      return clock.speed;
    },
    canSetSpeed,
    jump: canSetSpeed ? new LabJump(clock) : undefined,
    setSpeed,
    output: (name) => nodes.output(name),
    inject: (name, args, signal) =>
      facts.injection(name, args, () =>
        inject(
          { clock, nodes, faults: parts.faults, dnsFaults: parts.dnsFaults, apiServer: parts.apiServer, setSpeed },
          name,
          args,
          signal,
        ),
      ),
    [Symbol.asyncDispose]: close,
  };
}
