import { OwnedClock } from "../../../util/owned-clock.js";
import { SystemRandom } from "../../../util/random.js";
import { networkSocketIn } from "../root-folder.js";
import { startRuntime } from "../start.js";
import type { HostedRuntime, HostOptions } from "./host.js";

/**
 * Starts the embedded runtime in this process, for simulations on held time: no message between processes has to arrive before the
 * time moves, which takes a third of the time, and whose order is no chance. A container can then take this process with it.
 * @throws LabError as `startRuntime`
 */
export async function runRuntimeHere(options: HostOptions & { readonly rootDir: string }): Promise<HostedRuntime> {
  const { owner = "runtime", maxHeapMb: _heap, clock, ...rest } = options;
  const owned = new OwnedClock(clock, owner);
  const runtime = await startRuntime({ ...rest, clock: owned, random: new SystemRandom() });
  const close = () => runtime.close();
  return {
    endpoint: runtime.endpoint,
    control: runtime.control,
    nodeAddress: options.network?.address,
    networkSocket: options.network === undefined ? undefined : networkSocketIn(options.rootDir),
    pid: undefined,
    close,
    [Symbol.asyncDispose]: close,
  };
}
