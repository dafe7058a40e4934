import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { kubectlMinor } from "../support/kubectl.js";
import { KubectlCluster } from "../support/kubectl-cluster.js";
import { LoggingProxy } from "../support/logging-proxy.js";
import { comparable, discoveryOf, KubectlStory, printed, recordedCommands } from "./kubectl-story.js";
import { hasRecordings, REAL } from "./recorder.js";

/** Commands that need a kubelet's own server. */
const STREAMS = /^(logs|exec|attach|port-forward|cp|proxy:|run -i)/;
/** Commands with correct results but different requests than recorded, and why. */
const DIFFERS: Readonly<Record<string, string>> = {
  "apply --server-side": "managedFields are not stored, so kubectl has none to migrate",
  "apply --server-side --force-conflicts": "managedFields are not stored, so kubectl updates its annotation again",
};
/** Commands whose output depends on the machine, build or cluster's history, or (drain) prints more under -v=6. */
const PRINTS_ITS_OWN =
  /^(version|api-|cluster-info|get no -o wide|get pods -o wide|get csr|get events|events|get -w$|describe|explain|drain for real)/;
const INTERRUPTED = /-w\b|--watch-only/;

const why = !hasRecordings
  ? "no recordings here"
  : kubectlMinor !== 32
    ? `recorded with kubectl 1.32, here is ${kubectlMinor === undefined ? "none" : `1.${kubectlMinor}`}`
    : undefined;

describe.skipIf(why !== undefined)(
  `kubectl sends and receives what was recorded${why === undefined ? "" : ` (${why})`}`,
  () => {
    let cluster: KubectlCluster;
    let proxy: LoggingProxy;
    let story: KubectlStory;
    beforeAll(async () => {
      cluster = await KubectlCluster.start(["real-1"], { likeRecorded: true });
      proxy = await LoggingProxy.listen(cluster.controlPlane.admin);
      story = new KubectlStory(cluster.controlPlane.admin, proxy);
      await story.begin();
    });
    afterAll(async () => {
      await story.close();
      await proxy.close();
      await cluster.close();
    });

    const commands = why === undefined ? recordedCommands(`${REAL}/kubectl-1.32.json`) : [];
    for (const command of commands.filter(({ name }) => !STREAMS.test(name))) {
      const difference = DIFFERS[command.name];
      test(difference === undefined ? command.name : `${command.name} (differs: ${difference})`, async () => {
        const { code, stdout, stderr, summary } = await story.run(command);
        const said = `${stdout}${stderr}`;
        if (difference === undefined) expect(comparable(summary), said).toEqual(comparable(command.summary));
        else {
          expect(comparable(summary)).not.toEqual(comparable(command.summary));
          expect(summary.filter((line) => !/-> (200|304)$/.test(line))).toEqual([]);
        }
        expect(discoveryOf(summary)).toEqual(discoveryOf(command.summary));
        if (!INTERRUPTED.test(command.name)) expect(code, said).toBe(command.exitCode);
        if (!PRINTS_ITS_OWN.test(command.name)) {
          const { here, recorded } = printed(stdout, command.stdout);
          expect(here).toBe(recorded);
        }
      });
    }
  },
);
